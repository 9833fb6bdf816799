"""Where requests are sent, and with which headers: only to the host in the settings, over one connection pool."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from brim.gateway.body import decompressed_answer, json_value, read_answer
from brim.gateway.guard import KEY_HEADERS
from brim.gateway.problem import HttpProblem
from brim.gateway.resolver import SafeResolver
from brim.gateway.settings import GatewaySettings, secret

_HOPS = ("connection", "keep-alive", "te", "trailer", "trailers", "transfer-encoding", "upgrade")
"""Headers of one connection, which are not passed on; nor are those that begin with `proxy-`."""
_NOT_SENT = frozenset(
    (*_HOPS, "host", "content-length", "accept-encoding", "cookie", "origin", "referer", "forwarded", "via", "expect")
)
_NOT_SENT_PREFIXES = ("proxy-", "x-brim-", "x-forwarded-", "sec-")
_NOT_RETURNED = frozenset((*_HOPS, "set-cookie", "location", "server", "date", "alt-svc", "strict-transport-security"))
_IDLE = 4
"""Seconds that an unused connection is kept: less than servers keep theirs, so that none is used as it closes."""
_CONNECT = 10

_OTHER_APIS = ("/v1beta", "/v1alpha", "/model/")

Headers = list[tuple[str, str]]


class Upstream:
    """The connections to model servers."""

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_IDLE, resolver=SafeResolver()),
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
        """Send a request, and return the answer once its headers have arrived.

        Raises:
            HttpProblem: the server cannot be reached, does not answer in time, or redirects.
        """
        target, limits = _target(url, timeout)
        try:
            response = await self._open().request(
                method,
                target,
                headers=CIMultiDict(headers),
                data=None if body is None else aiohttp.BytesPayload(body),
                allow_redirects=False,
                timeout=limits,
            )
        except TimeoutError:
            raise HttpProblem(504, f"upstream did not answer within {timeout:g} seconds") from None
        except aiohttp.ClientError as error:
            raise HttpProblem(502, f"upstream cannot be reached ({type(error).__name__})") from None
        if 300 <= response.status < 400 and response.status != 304:
            response.close()
            raise HttpProblem(
                502, f"upstream answered {response.status}, a redirect, which the gateway does not follow"
            )
        return response

    async def json(self, url: str, headers: Headers, timeout: float = 3) -> Any:
        """Return the JSON at an address; `None` if there is none."""
        try:
            response = await self.send("GET", url, headers, None, timeout)
        except HttpProblem:
            return None
        try:
            return await read_json(response) if response.status == 200 else None
        except (aiohttp.ClientError, TimeoutError):
            return None
        finally:
            response.close()


async def read_json(response: aiohttp.ClientResponse) -> Any:
    """Return the JSON of an answer; `None` if it is none.

    Raises:
        ClientError: the connection broke.
    """
    return json_value(decompressed_answer(response, await read_answer(response)))


@lru_cache(maxsize=64)
def _target(url: str, timeout: float) -> tuple[URL, aiohttp.ClientTimeout]:
    """Return what aiohttp takes; made once for each address, since that costs as much as a short request."""
    return URL(url, encoded=True), aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT, sock_read=timeout)


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


def returned_headers(response: aiohttp.ClientResponse, *, whole: bool) -> Headers:
    """Return the headers of an answer that are passed back; `whole` if its bytes are passed back unchanged."""
    dropped = _NOT_RETURNED if whole else _NOT_RETURNED | {"content-length", "content-encoding"}
    pairs = ((name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in response.raw_headers)
    return [
        (name, value) for name, value in pairs if name not in dropped and not name.startswith(("x-brim-", "proxy-"))
    ]
