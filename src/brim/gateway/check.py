"""The checks of a gateway before it serves: its settings, its keys, its store, and each upstream.

What is wrong with an upstream is told apart, since each needs something else: a closed port, an unknown host, a
certificate, a key, or only a missing list of models, which is no fault.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Mapping
from typing import Any, NamedTuple

from brim.errors import BrimError
from brim.gateway.client.paths import SAFE
from brim.gateway.http.connection import Headers
from brim.gateway.http.key_mask import is_secret
from brim.gateway.http.problem import HttpProblem
from brim.gateway.settings import GatewaySettings
from brim.gateway.upstream.client import VERSION, UpstreamClient, address
from brim.sessions.learning.windows import listed
from brim.store import open_store

_PATH = "/v1/models"
_SECONDS = 10
_NO_LIST = (404, 405, 501)
"""Statuses of a server that has no list of models."""
_DENIED = (401, 403)


class Check(NamedTuple):
    """What one check found."""

    name: str
    ok: bool
    text: str
    """A sentence: what is so, and what to do."""
    reason: str = "ok"
    """What is so, in a word."""


def checked(settings: GatewaySettings) -> list[Check]:
    """Return the checks of a gateway."""
    checks = [Check("settings", True, f"policy {settings.default.policy}, {len(settings.rules)} rules")]
    own: dict[str, str] = {}
    try:
        settings.secrets()
        own = settings.own_keys()
        plain = [name for name, key in own.items() if not is_secret(key)]
        told = (
            f"; an answer that repeats {' or '.join(plain)} is not masked, since it is short or a word" if plain else ""
        )
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
    """Return a sentence on the paths that may be reached."""
    listed = {settings.reachable(route) for route in ("chat", "messages")}
    if listed == {("*",)}:
        return "all are passed on, with the key of each client" if settings.paths is None else "all are passed on"
    told = f"{', '.join(settings.paths) or 'none'}" if settings.paths is not None else f"{len(SAFE)} that are safe"
    more = "; gateway.paths lists others" if settings.paths is None else ""
    return f"beside those that are fitted, {told} may be reached{more}"


async def _upstreams(settings: GatewaySettings, own: Mapping[str, str]) -> list[Check]:
    upstream, checks = UpstreamClient(proxy_env=settings.proxy_env), []
    routes = {settings.base(route): route for route in ("messages", "chat")}
    for base in dict.fromkeys((settings.upstream, settings.base("messages"))):
        key = own.get(settings.key(routes[base]) or "")
        proxy = upstream.proxy(base)
        if proxy is not None:
            text = (
                f"{base} is called by way of {_without_user(proxy)}, which the environment names; NO_PROXY excepts it"
            )
            checks.append(Check("proxy", True, text))
        ok, text, reason = await _answer(upstream, base, key, proxy)
        checks.append(Check(f"upstream {base}", ok, text, reason))
    await upstream.close()
    return checks


async def _answer(upstream: UpstreamClient, base: str, key: str | None, proxy: str | None) -> tuple[bool, str, str]:
    """Ask an upstream for its models; return whether it can be used, a sentence, and a word."""
    status, said = 0, None
    keys: list[Headers] = [[]]
    if key is not None:  # A server reads one of the two, and which one is not known.
        keys = [[("authorization", f"Bearer {key}")], [("x-api-key", key), VERSION]]
    for headers in keys:
        try:
            status, said = await upstream.get_json(address(base, _PATH), headers, _SECONDS)
        except HttpProblem as problem:
            return False, *_unreachable(problem, base, by_proxy=proxy is not None)
        if status not in _DENIED:
            break
    return _judged(status, said, key)


def _judged(status: int, said: Any, key: str | None) -> tuple[bool, str, str]:
    models = said.get("data") if isinstance(said, dict) else None
    if status == 200 and isinstance(models, list):
        return True, f"{len(models):,} models, {len(listed(said)):,} of them with their window", "ok"
    if status in _DENIED and key is None:
        return True, f"it answers {status} without a key: the key of each client is passed on", "no_key"
    if status in _DENIED:
        return False, f"it refuses the gateway's key for it ({status})", "key"
    if status in _NO_LIST or status == 200:
        found = f"{status} at {_PATH}" if status != 200 else f"something else at {_PATH}"
        advice = "if the URL is right, that is fine: set --window, or the first refusal teaches the window"
        return True, f"it is there, but has no list of models ({found}); {advice}", "no_list"
    return False, f"it answers {status} at {_PATH}: look at the log of that server", "status"


def _without_user(url: str) -> str:
    """Return a URL without the user and the password in it."""
    scheme, mark, rest = url.rpartition("://")
    return f"{scheme}{mark}{rest.rpartition('@')[2]}"


def _unreachable(problem: HttpProblem, base: str, *, by_proxy: bool) -> tuple[str, str]:
    """Return why an upstream cannot be reached, as a sentence and a word."""
    cause, secure = problem.__cause__, base.startswith("https:")
    if problem.status == 504:
        return f"it did not answer within {_SECONDS} seconds: is the address right, and no firewall between?", "timeout"
    if by_proxy:
        return f"{problem.message}: is the proxy right? gateway.proxy_env: false ignores it", "proxy"
    if isinstance(cause, socket.gaierror):
        return "its host name is unknown: is it spelled correctly, and is there a network?", "host"
    if isinstance(cause, ssl.SSLCertVerificationError):
        return "its certificate is not valid for this machine: does the URL name the right host?", "certificate"
    if isinstance(cause, ssl.SSLError):
        return "it does not speak TLS at this port: should the URL begin with http: instead of https:?", "tls"
    if isinstance(cause, ConnectionRefusedError):
        return "the port is closed: no server listens there; start it, or correct the port", "closed"
    if cause is not None:
        other = "" if secure else "; if that port speaks TLS, the URL must begin with https:"
        return f"{problem.message}{other}", "broken"
    return f"{problem.message}", "unreachable"
