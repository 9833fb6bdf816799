"""Where requests go: to the host of the settings and no other, over one pool of connections."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from yarl import URL

from brim.gateway.names import Steady
from brim.gateway.problems import Problem
from brim.gateway.settings import GatewaySettings, secret

_HOPS = frozenset(
    (
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "trailers",
        "transfer-encoding",
        "upgrade",
    )
)
"""Headers that are for the next machine alone."""
_NOT_SENT = frozenset(
    (*_HOPS, "host", "content-length", "accept-encoding", "cookie", "origin", "referer", "forwarded", "via", "expect")
)
_NOT_RETURNED = frozenset((*_HOPS, "set-cookie", "location", "server", "date", "alt-svc", "strict-transport-security"))
_AUTH = ("authorization", "x-api-key")
_IDLE = 4
"""Seconds that an unused connection is kept: less than servers keep theirs, so that none is used as it closes."""
_CONNECT = 10
_MOST_TOLD = 1_048_576
"""Bytes of a refusal, or of a list of models, that are read."""

Headers = list[tuple[str, str]]


class Upstream:
    """The connections to the servers of models."""

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_IDLE, resolver=Steady()),
                auto_decompress=False,
                trust_env=False,
                cookie_jar=aiohttp.DummyCookieJar(),
                skip_auto_headers=("User-Agent", "Accept-Encoding", "Content-Type", "Accept"),
                read_bufsize=65_536,
                raise_for_status=False,
            )
        return self._session

    async def send(
        self, method: str, url: str, headers: Headers, body: bytes | None, timeout: float
    ) -> aiohttp.ClientResponse:
        """Send a request and return the answer when its headers have come.

        Raises:
            Problem: the server cannot be reached, does not answer in time, or leads elsewhere.
        """
        try:
            response = await self._opened().request(
                method, _url(url), headers=headers, data=body, allow_redirects=False, timeout=_limits(timeout)
            )
        except TimeoutError:
            raise Problem(504, f"upstream did not answer within {timeout:g} seconds") from None
        except aiohttp.ClientError as error:
            raise Problem(502, f"upstream cannot be reached ({type(error).__name__})") from None
        if 300 <= response.status < 400 and response.status != 304:
            response.close()
            raise Problem(502, f"upstream answered {response.status}, a redirect; the gateway follows none")
        return response

    async def json(self, url: str, headers: Headers, timeout: float = 3) -> Any:
        """Return the JSON at an address; nothing where there is none."""
        try:
            response = await self.send("GET", url, headers, None, timeout)
        except Problem:
            return None
        try:
            if response.status != 200:
                return None
            return json.loads(await told(response))
        except (ValueError, RecursionError, aiohttp.ClientError, TimeoutError):
            return None
        finally:
            response.close()


@lru_cache(maxsize=64)
def _url(text: str) -> URL:
    return URL(text, encoded=True)


@lru_cache(maxsize=64)
def _limits(timeout: float) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT, sock_read=timeout)


def address(base: str, target: str, query: str = "") -> str:
    """Return where a path goes: below the base of the settings, whose `/v1` stands for the path's own."""
    base = base.rstrip("/")
    if base.endswith("/v1") and (target == "/v1" or target.startswith("/v1/")):
        target = target[3:]
    return base + target + (f"?{query}" if query else "")


def root(base: str) -> str:
    """Return the host of an address."""
    parts = urlsplit(base)
    return f"{parts.scheme}://{parts.netloc}"


def sent_headers(headers: Iterable[tuple[str, str]], settings: GatewaySettings, route: str) -> Headers:
    """Return the headers of a client's that go on to upstream, with the key that belongs there.

    A key that is for the gateway stays here.
    """
    listed = list(headers)
    hops = {name.strip().lower() for known, value in listed if known == "connection" for name in value.split(",")}
    kept = [
        (name, value)
        for name, value in listed
        if name not in _NOT_SENT and name not in hops and not name.startswith(("x-brim-", "x-forwarded-", "sec-"))
    ]
    if settings.upstream_key is not None or settings.keys:
        kept = [(name, value) for name, value in kept if name not in _AUTH]
    if settings.upstream_key is not None:
        key = secret(settings.upstream_key)
        kept.append(("x-api-key", key) if route == "messages" else ("authorization", f"Bearer {key}"))
    kept.append(("accept-encoding", "identity"))
    return kept


def returned_headers(response: aiohttp.ClientResponse, *, whole: bool) -> Headers:
    """Return the headers of an answer that go back to the client; `whole` where its bytes stay as they are."""
    left = _NOT_RETURNED if whole else _NOT_RETURNED | {"content-length", "content-encoding"}
    pairs = ((name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in response.raw_headers)
    return [(name, value) for name, value in pairs if name not in left and not name.startswith("x-brim-")]


async def told(response: aiohttp.ClientResponse, most: int = _MOST_TOLD) -> bytes:
    """Return what an answer says, unpacked and up to a bound.

    Raises:
        ClientError: the connection broke.
    """
    raw = b""
    while len(raw) <= most and (piece := await response.content.readany()):
        raw += piece
    return plain(raw[:most], response.headers.get("content-encoding", ""), most)


def plain(raw: bytes, packing: str, most: int = _MOST_TOLD) -> bytes:
    """Return packed bytes unpacked, up to a bound; as they are where that cannot be."""
    if packing.strip().lower() not in ("gzip", "deflate"):
        return raw
    try:
        return zlib.decompressobj(zlib.MAX_WBITS | 32).decompress(raw, most)
    except zlib.error:
        return raw
