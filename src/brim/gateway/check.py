"""The checks of `brim gateway --check`: the settings, the keys, the store, and each upstream.

An upstream without a list of models is not an error; an upstream that cannot be reached, or that rejects the gateway's
key, is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from brim.amounts import counted
from brim.errors import BrimError
from brim.gateway.client.paths import NO_PATH, SAFE
from brim.gateway.http.connection import Headers
from brim.gateway.http.key_mask import is_secret
from brim.gateway.http.problem import HttpProblem
from brim.gateway.settings import GatewaySettings, root
from brim.gateway.upstream.client import VERSION, UpstreamClient, address
from brim.sessions.learning.windows import PROPERTIES, stated
from brim.store import open_store

_PATH = "/v1/models"
_SECONDS = 10
_DENIED = (401, 403)


class Check(NamedTuple):
    """The result of one check."""

    name: str
    ok: bool
    text: str
    """The result, and what to do about it."""
    reason: str = "ok"
    """The result as a word."""


def checked(settings: GatewaySettings) -> list[Check]:
    """Return the checks of a gateway."""
    checks = [Check("settings", True, f"policy {settings.default.policy}, {len(settings.rules)} rules")]
    own: dict[str, str] = {}
    try:
        settings.secrets()
        own = settings.own_keys()
        plain = [name for name, key in own.items() if not is_secret(key)]
        told = f"; {' and '.join(plain)} is not masked in answers, because it is short or a word" if plain else ""
        checks.append(Check("keys", True, f"{len(settings.keys)} for clients{told}"))
    except BrimError as error:
        checks.append(Check("keys", False, str(error), "key"))
    if settings.store is not None:
        try:
            with open_store(settings.store) as store:
                checks.append(Check("store", True, store.url))
        except BrimError as error:
            checks.append(Check("store", False, str(error), "store"))
    checks.append(Check("paths", True, _reachable(settings)))
    return checks + asyncio.run(_upstreams(settings, own))


def _reachable(settings: GatewaySettings) -> str:
    """Return which other paths are allowed."""
    listed = {settings.reachable(route) for route in ("chat", "messages")}
    if listed == {("*",)}:
        keys = ", with the client's own key" if settings.paths is None else ""
        return f"all requests are passed on{keys}"
    if settings.paths is None:
        return f"{len(SAFE)} safe paths are allowed in addition to those that are fitted; gateway.paths can list others"
    return f"{', '.join(settings.paths) or 'no path'} allowed in addition to those that are fitted"


async def _upstreams(settings: GatewaySettings, own: Mapping[str, str]) -> list[Check]:
    upstream, checks = UpstreamClient(proxy_env=settings.proxy_env), []
    routes = {settings.base(route): route for route in ("messages", "chat")}
    for base in dict.fromkeys((settings.upstream, settings.base("messages"))):
        key = own.get(settings.key(routes[base]) or "")
        proxy = upstream.proxy(base)
        if proxy is not None:
            through = f"{base} is reached through the proxy {_without_user(proxy)}; to exclude a host, use NO_PROXY"
            checks.append(Check("proxy", True, through))
        ok, text, reason = await _answer(upstream, base, key)
        checks.append(Check(f"upstream {base}", ok, text, reason))
    await upstream.close()
    return checks


async def _answer(upstream: UpstreamClient, base: str, key: str | None) -> tuple[bool, str, str]:
    """Ask an upstream for its models; return whether it is usable, and the result as a sentence and a word."""
    status, said, properties = 0, None, None
    keys: list[Headers] = [[]]
    if key is not None:  # Servers read one header or the other.
        keys = [[("authorization", f"Bearer {key}")], [("x-api-key", key), VERSION]]
    for headers in keys:
        try:
            status, said = await upstream.get_json(address(base, _PATH), headers, _SECONDS)
        except HttpProblem as problem:
            return False, problem.message, problem.reason
        if status not in _DENIED:
            with suppress(HttpProblem):  # Few servers have this path.
                _, properties = await upstream.get_json(root(base) + PROPERTIES, headers, _SECONDS)
            break
    return _judged(status, said, stated(said, properties), key)


def _judged(status: int, said: Any, windows: Mapping[str, int], key: str | None) -> tuple[bool, str, str]:
    models, own = said.get("data") if isinstance(said, dict) else None, windows.get("")
    own_window = f"all with a window of {own:,} tokens" if own else ""
    if status == 200 and isinstance(models, list):
        stated_by = own_window or f"{len(windows):,} of them with their window"
        return True, f"{counted(len(models), 'model')}, {stated_by}", "ok"
    if status in _DENIED and key is None:
        return True, f"it answers {status} without a key; each client's own key is passed on", "no_key"
    if status in _DENIED:
        return False, f"it rejects the gateway's key ({status})", "key"
    if status in NO_PATH or status == 200:
        found = f"{status} at {_PATH}" if status != 200 else f"an unexpected answer at {_PATH}"
        advice = "if the URL is right, set --window; otherwise brim learns the window from the first overflow error"
        return True, f"it answers, but has no list of models ({found}); {own_window or advice}", "no_list"
    return False, f"it answers {status} at {_PATH}; see the server's log", "status"


def _without_user(url: str) -> str:
    """Return a URL without the user and the password in it."""
    scheme, mark, rest = url.rpartition("://")
    return f"{scheme}{mark}{rest.rpartition('@')[2]}"
