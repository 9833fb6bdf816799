"""The checks of `brim gateway --check`: the settings, the keys, the store, and each upstream.

An upstream without a list of models is not an error; an upstream that cannot be reached, or that rejects the gateway's
key, is.
"""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from brim.errors import BrimError
from brim.gateway.http.key_mask import is_secret
from brim.gateway.http.problem import HttpProblem
from brim.gateway.settings import GatewaySettings
from brim.gateway.upstream.client import VERSION, UpstreamClient, address, sent_headers
from brim.store import open_store

_SECONDS = 10
_DENIED = (401, 403)


class Check(NamedTuple):
    """The result of one check."""

    name: str
    ok: bool
    text: str
    """The result, and what to do about it."""


def checked(settings: GatewaySettings) -> list[Check]:
    """Return the checks of a gateway."""
    checks = [Check("settings", True, f"policy {settings.default.policy}, {len(settings.rules)} rules")]
    try:
        settings.secrets()
        plain = [name for name, key in settings.own_keys().items() if not is_secret(key)]
        told = f"; {' and '.join(plain)} is not masked in answers, because it is short or a word" if plain else ""
        checks.append(Check("keys", True, f"{len(settings.keys)} for clients{told}"))
    except BrimError as error:
        checks.append(Check("keys", False, str(error)))
    if settings.store is not None:
        try:
            with open_store(settings.store) as store:
                checks.append(Check("store", True, store.url))
        except BrimError as error:
            checks.append(Check("store", False, str(error)))
    return checks + asyncio.run(_upstreams(settings))


async def _upstreams(settings: GatewaySettings) -> list[Check]:
    upstream, checks = UpstreamClient(proxy_env=settings.proxy_env), []
    for base, route in {settings.base(route): route for route in ("messages", "chat")}.items():
        try:
            headers = sent_headers([VERSION], settings, route)
            status, _ = await upstream.get_json(address(base, "/v1/models"), headers, _SECONDS)
            has_key = settings.key(route) is not None
            checks.append(Check(f"upstream {base}", *_judged(status, has_key=has_key)))
        except (HttpProblem, BrimError) as problem:
            checks.append(Check(f"upstream {base}", False, str(problem)))
    await upstream.close()
    return checks


def _judged(status: int, *, has_key: bool) -> tuple[bool, str]:
    """Return whether an upstream that gives this status for its models is usable, and why."""
    if status in _DENIED and has_key:
        return False, f"it rejects the gateway's key ({status})"
    if status in _DENIED:
        return True, f"it answers {status} without a key; each client's own key is passed on"
    if status >= 500:
        return False, f"it answers {status} at /v1/models; see the server's log"
    if status != 200:
        return True, f"it has no list of models ({status} at /v1/models); if the URL is right, set --window"
    return True, "it lists its models"
