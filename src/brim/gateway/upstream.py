"""Where requests are sent, and with which headers: only to the host in the settings, over one connection pool."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from brim.gateway.body import decompressed_answer, json_value, read_answer
from brim.gateway.dialer import Dialer
from brim.gateway.guard import KEY_HEADERS
from brim.gateway.problem import HttpProblem
from brim.gateway.settings import GatewaySettings, secret
from brim.gateway.upstream_connection import Address, BrokenAnswer, UpstreamAnswer, UpstreamConnection

_HOPS = ("connection", "keep-alive", "te", "trailer", "trailers", "transfer-encoding", "upgrade")
"""Headers of one connection, which are not passed on; nor are those that begin with `proxy-`."""
_NOT_SENT = frozenset(
    (*_HOPS, "host", "content-length", "accept-encoding", "cookie", "origin", "referer", "forwarded", "via", "expect")
)
_NOT_SENT_PREFIXES = ("proxy-", "x-brim-", "x-forwarded-", "sec-")
_NOT_RETURNED = frozenset((*_HOPS, "set-cookie", "location", "server", "date", "alt-svc", "strict-transport-security"))
_IDLE = 4
"""Seconds that an unused connection is kept: less than servers keep theirs, so that none is used as it closes."""
_READS = ("GET", "HEAD")
_WRITES = ("POST", "PUT", "PATCH")
"""Methods whose requests have a body, if an empty one."""
_OTHER_APIS = ("/v1beta", "/v1alpha", "/model/")

Headers = list[tuple[str, str]]


class Upstream:
    """The connections to model servers."""

    def __init__(self) -> None:
        self._free: dict[Address, list[UpstreamConnection]] = {}
        """Connections that wait for a request, the one that was used last at the end."""
        self._dialer = Dialer(self._release)
        self._sweeper: asyncio.TimerHandle | None = None

    async def close(self) -> None:
        """Close all connections that wait for a request."""
        if self._sweeper is not None:
            self._sweeper.cancel()
            self._sweeper = None
        for connection in [each for free in self._free.values() for each in free]:
            connection.close()
        self._free.clear()

    async def send(self, method: str, url: str, headers: Headers, body: bytes | None, timeout: float) -> UpstreamAnswer:
        """Send a request, and return the answer once its headers have arrived.

        Raises:
            HttpProblem: the server cannot be reached, does not answer in time, or redirects.
        """
        server, host, target = _target(url)
        head = _head(method, target, host, headers, body)
        try:
            answer = await self._asked(server, method, head, body or b"", timeout)
        except TimeoutError:
            raise HttpProblem(504, f"upstream did not answer within {timeout:g} seconds") from None
        except OSError as error:
            raise HttpProblem(502, f"upstream cannot be reached ({type(error).__name__})") from None
        if 300 <= answer.status < 400 and answer.status != 304:
            answer.close()
            raise HttpProblem(502, f"upstream answered {answer.status}, a redirect, which the gateway does not follow")
        return answer

    async def json(self, url: str, headers: Headers, timeout: float = 3) -> Any:
        """Return the JSON at an address; `None` if there is none."""
        try:
            answer = await self.send("GET", url, headers, None, timeout)
        except HttpProblem:
            return None
        try:
            return await read_json(answer) if answer.status == 200 else None
        except (BrokenAnswer, TimeoutError):
            return None
        finally:
            answer.close()

    async def _asked(self, server: Address, method: str, head: bytes, body: bytes, timeout: float) -> UpstreamAnswer:
        """Send a request over a free connection, or over a new one.

        A server may close a free connection just as it is used; a request that only reads is then sent again.

        Raises:
            OSError: the server cannot be reached, breaks off, or does not answer in time.
        """
        bodiless = method == "HEAD"
        connection = self._waiting(server)
        if connection is not None:
            try:
                return await connection.ask(head, body, timeout, bodiless=bodiless)
            except BrokenAnswer:
                if method not in _READS:
                    raise
        connection = await self._dialer.connection(server)
        return await connection.ask(head, body, timeout, bodiless=bodiless)

    def _waiting(self, server: Address) -> UpstreamConnection | None:
        """Return the free connection to a server that was used last."""
        free = self._free.get(server)
        while free:
            connection = free.pop()
            if not connection.closed and connection.idle < _IDLE:
                return connection
            connection.close()
        return None

    def _release(self, connection: UpstreamConnection) -> None:
        """Take a connection that waits for a request."""
        self._free.setdefault(connection.address, []).append(connection)
        if self._sweeper is None:
            self._sweeper = asyncio.get_running_loop().call_later(_IDLE, self._sweep)

    def _sweep(self) -> None:
        """Close the connections that have waited for too long."""
        for connection in [each for free in self._free.values() for each in free if each.idle >= _IDLE]:
            connection.close()
        left = {server: [each for each in free if not each.closed] for server, free in self._free.items()}
        self._free = {server: free for server, free in left.items() if free}
        self._sweeper = asyncio.get_running_loop().call_later(_IDLE, self._sweep) if self._free else None


async def read_json(response: UpstreamAnswer) -> Any:
    """Return the JSON of an answer; `None` if it is none.

    Raises:
        BrokenAnswer: the server broke off.
        TimeoutError: it was silent for too long.
    """
    return json_value(decompressed_answer(response, await read_answer(response)))


@lru_cache(maxsize=64)
def _target(url: str) -> tuple[Address, str, str]:
    """Return the server of a URL, the value of the header Host, and the target of the request."""
    scheme, _, rest = url.partition("://")
    place, slash, path = rest.partition("/")
    parts = urlsplit(f"{scheme}://{place}")
    secure = parts.scheme == "https"
    port = 443 if secure else 80
    host = place if parts.port != port else place.rpartition(":")[0]
    return (parts.hostname or "", parts.port or port, secure), host, slash + path or "/"


def _head(method: str, target: str, host: str, headers: Headers, body: bytes | None) -> bytes:
    """Return the start of a request.

    Raises:
        HttpProblem: a header holds a line break.
    """
    lines = [f"{method} {target} HTTP/1.1", f"host: {host}", *[f"{name}: {value}" for name, value in headers]]
    if body is not None or method in _WRITES:
        lines.append(f"content-length: {len(body or b'')}")
    text = "\n".join(lines)
    if text.count("\n") >= len(lines) or "\r" in text or "\0" in text:
        raise HttpProblem(400, "a header or the path holds a line break or a zero byte")
    return text.replace("\n", "\r\n").encode("latin-1") + b"\r\n\r\n"


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
    """Return the headers of an answer that are passed back; `whole` if its bytes are passed back unchanged."""
    dropped = _NOT_RETURNED if whole else _NOT_RETURNED | {"content-length", "content-encoding"}
    return [pair for pair in response.pairs if pair[0] not in dropped and not pair[0].startswith(("x-brim-", "proxy-"))]
