"""Where requests are sent, and with which headers: only to the host in the settings."""

from __future__ import annotations

from collections.abc import Iterable

from brim.gateway.http.admitted import KEY_HEADERS
from brim.gateway.http.connection import Headers
from brim.gateway.settings import GatewaySettings, secret
from brim.gateway.upstream.client import UpstreamAnswer

_HOPS = ("connection", "keep-alive", "te", "trailer", "trailers", "transfer-encoding", "upgrade")
"""Headers of one connection, which are not passed on; nor are those that begin with `proxy-`."""
_NOT_SENT = frozenset(
    (*_HOPS, "host", "content-length", "accept-encoding", "cookie", "origin", "referer", "forwarded", "via", "expect")
)
_NOT_SENT_PREFIXES = ("proxy-", "x-brim-", "x-forwarded-", "sec-")
_NOT_RETURNED = frozenset((*_HOPS, "set-cookie", "location", "server", "date", "alt-svc", "strict-transport-security"))
VERSION = ("anthropic-version", "2023-06-01")
"""The header that Anthropic's API asks for; others ignore it."""
_OTHER_APIS = ("/v1beta", "/v1alpha", "/model/")


def address(base: str, target: str, query: str = "") -> str:
    """Return the URL of a path below a base URL; a `/v1` at the end of the base is the one of the path."""
    base = base.rstrip("/")
    if base.endswith("/v1") and (target == "/v1" or target.startswith("/v1/")):
        target = target[3:]
    elif target.startswith(_OTHER_APIS):  # The base may be written with the version of another API of the same host.
        base = base.removesuffix("/v1").removesuffix("/v1beta")
    return base + target + (f"?{query}" if query else "")


def sent_headers(headers: Iterable[tuple[str, str]], settings: GatewaySettings, route: str) -> Headers:
    """Return the headers of a client that are sent to the upstream of a route; with a key for it, no other key is."""
    listed = list(headers)
    hops = {name.strip().lower() for known, value in listed if known == "connection" for name in value.split(",")}
    kept = [
        (name, value)
        for name, value in listed
        if name not in _NOT_SENT and name not in hops and not name.startswith(_NOT_SENT_PREFIXES)
    ]
    if (variable := settings.key(route)) is not None:
        key = secret(variable)
        kept = [(name, value) for name, value in kept if name not in KEY_HEADERS]
        named = {"messages": "x-api-key", "gemini": "x-goog-api-key"}.get(route)
        kept.append((named, key) if named else ("authorization", f"Bearer {key}"))
    kept.append(("accept-encoding", "identity"))
    return kept


def returned_headers(response: UpstreamAnswer, *, whole: bool) -> Headers:
    """Return the headers of an answer that are passed back; `whole` if its body is passed back unchanged."""
    dropped = _NOT_RETURNED if whole else _NOT_RETURNED | {"content-length"}
    return [pair for pair in response.pairs if pair[0] not in dropped and not pair[0].startswith(("x-brim-", "proxy-"))]
