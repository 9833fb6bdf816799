"""The HTTP client of the gateway: one request out; its status, its headers, and its body as it comes.

It is aiohttp with everything off that a gateway must not do: no redirects, cookies, credentials from a file, or headers
of its own. Bodies are decoded here, so that whatever reads an answer reads its text.
"""

from __future__ import annotations

import asyncio
import io
import ssl
from collections.abc import Iterable
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
from aiohttp.abc import ResolveResult
from aiohttp.connector import Connection
from aiohttp.http_exceptions import HttpProcessingError
from multidict import CIMultiDict
from yarl import URL

from brim.gateway.client.body import json_value
from brim.gateway.http.admitted import KEY_HEADERS
from brim.gateway.http.connection import Headers
from brim.gateway.http.problem import HttpProblem
from brim.gateway.settings import GatewaySettings, secret
from brim.hosts import is_loopback

MOST_HEAD = 131_072
"""Bytes of the headers of an answer."""
CONNECT_SECONDS = 10.0
"""Seconds in which a connection must be open, with the addresses of the host and TLS."""
_MOST_FIELD = 32_768
"""Bytes of one header, and of one trailer after a body."""
_IDLE = 4.0
"""Seconds that an unused connection is kept: less than servers keep theirs, so that none is used as it closes."""
_ADDRESSES = 10
"""Seconds for which the addresses of a host are known."""
_MOST_STALE = 100
"""Free connections that are given up for one request, since something has arrived on them."""
MOST_READ = 16 * 1024 * 1024
"""Bytes of an answer that are read before it is passed on; of a longer one, the rest is passed on as it comes."""
_LARGE = 1_000_000
"""Bytes of a body that is sent in steps, so that others get their turn."""
_OUR_OWN = ("accept", "accept-encoding", "content-type", "user-agent")
"""Headers that the library would add."""
_CODINGS = ("gzip", "deflate", "br", "zstd")
"""Content codings that the library decodes, the last two with another package."""
_UNREADABLE = "upstream compressed its answer, which was not requested, in a way that cannot be read"


class BrokenAnswer(ConnectionError):
    """An answer that ended too early; the message says how."""

    @property
    def problem(self) -> HttpProblem:
        """What a client is answered, if its own answer has not begun."""
        return HttpProblem(502, f"upstream broke off its answer: {self}")


class UpstreamAnswer:
    """An answer whose headers have arrived; its body is read as it comes, decoded."""

    def __init__(self, response: aiohttp.ClientResponse, timeout: float) -> None:
        self._response = response
        self._timeout = timeout
        self.status = response.status
        pairs = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in response.raw_headers]
        self.coding = next((value.strip().lower() for name, value in pairs if name == "content-encoding"), "identity")
        """How the body was compressed on its way here."""
        if self.coding != "identity" and response.method != "HEAD":
            pairs = [pair for pair in pairs if pair[0] not in ("content-encoding", "content-length")]
        self.pairs = pairs
        """Its headers, with names in lower case; they describe the decoded body."""
        self.headers = dict(reversed(pairs))
        """The first header of each name."""

    @property
    def at_end(self) -> bool:
        """Whether all of it was read."""
        return self._response.content.at_eof()

    async def read(self) -> bytes:
        """Return the bytes that have arrived since the last call, at least one; none at the end.

        Raises:
            BrokenAnswer: the server broke off, or was silent for too long.
        """
        try:
            return await self._response.content.readany()
        except aiohttp.ServerTimeoutError:
            raise BrokenAnswer(f"nothing came for {self._timeout:g} seconds") from None
        except (aiohttp.ClientError, HttpProcessingError, OSError) as error:
            raise BrokenAnswer(_why_broken(error, self.coding)) from None

    async def read_all(self, most: int | None = None) -> bytes:
        """Return its bytes until there are more than `most` (16 MiB), or it ends.

        Raises:
            BrokenAnswer: the server broke off, or was silent for too long.
        """
        pieces, size, most = [], 0, MOST_READ if most is None else most
        while size <= most and (piece := await self.read()):
            pieces.append(piece)
            size += len(piece)
        return b"".join(pieces)

    def close(self) -> None:
        """Close its connection, unless all of it has arrived; then another request may use that."""
        self._response.close()


class UpstreamClient:
    """The connections to model servers."""

    def __init__(self, *, proxy_env: bool = True) -> None:
        self._proxy_env = proxy_env
        self._proxies: dict[str, str | None] = {}
        """The proxy of each server."""
        self._open: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        """Close all connections."""
        if self._open is not None:
            await self._open.close()
            self._open = None

    async def send(self, method: str, url: str, headers: Headers, body: bytes | None, timeout: float) -> UpstreamAnswer:
        """Send a request, and return the answer once its headers have arrived.

        Raises:
            HttpProblem: the server cannot be reached, does not answer in time, or answers what cannot be passed back.
        """
        session, connecting = self._session(), min(CONNECT_SECONDS, timeout)
        try:
            async with asyncio.timeout(timeout):
                response = await session.request(
                    method,
                    URL(url, encoded=True),
                    headers=CIMultiDict([(name, _sendable(value)) for name, value in headers]),
                    data=io.BytesIO(body) if body is not None and len(body) > _LARGE else body,
                    allow_redirects=False,
                    proxy=self.proxy(url),
                    timeout=aiohttp.ClientTimeout(connect=connecting, sock_connect=connecting, sock_read=timeout),
                )
        except aiohttp.ConnectionTimeoutError:
            raise HttpProblem(504, f"upstream could not be connected to within {connecting:g} seconds") from None
        except TimeoutError:
            raise HttpProblem(504, f"upstream did not answer within {timeout:g} seconds") from None
        except (aiohttp.ClientError, OSError) as error:
            raise HttpProblem(502, _why_unreachable(error)) from getattr(error, "os_error", error)
        except ValueError:  # The library refuses what could begin another header or request.
            raise HttpProblem(400, "a header or the path holds a line break or a zero byte") from None
        answer = UpstreamAnswer(response, timeout)
        if refusal := _unfit(answer):
            answer.close()
            raise HttpProblem(502, refusal)
        return answer

    async def get_json(self, url: str, headers: Headers, timeout: float = 3) -> tuple[int, Any]:
        """Get an address; return the status, and the JSON of the answer, or `None` if it is none.

        Raises:
            HttpProblem: the server cannot be reached, or does not answer in time.
        """
        answer = await self.send("GET", url, headers, None, timeout)
        try:
            return answer.status, json_value(await answer.read_all())
        except BrokenAnswer:
            return answer.status, None
        finally:
            answer.close()

    def proxy(self, url: str) -> str | None:
        """Return the proxy by way of which a URL is called; `None` if it is called directly."""
        server = "/".join(url.split("/", 3)[:3])
        if server not in self._proxies:
            self._proxies[server] = proxy_for(server) if self._proxy_env else None
        return self._proxies[server]

    def _session(self) -> aiohttp.ClientSession:
        if self._open is None:
            self._open = aiohttp.ClientSession(
                connector=_Connector(
                    limit=0,
                    keepalive_timeout=_IDLE,
                    ttl_dns_cache=_ADDRESSES,
                    resolver=_Resolver(),
                    ssl=ssl.create_default_context(),
                ),
                cookie_jar=aiohttp.DummyCookieJar(),
                skip_auto_headers=_OUR_OWN,
                max_line_size=_MOST_FIELD,
                max_field_size=_MOST_FIELD,
            )
        return self._open


class _Connector(aiohttp.TCPConnector):
    """Connections of which none is used again once the server has sent on it what nobody asked for."""

    async def connect(
        self, req: aiohttp.ClientRequest, traces: list[Any], timeout: aiohttp.ClientTimeout
    ) -> Connection:
        """Return a connection on which nothing has arrived.

        Raises:
            ClientError: there is none.
        """
        for _ in range(_MOST_STALE):
            made = await super().connect(req, traces, timeout)
            if made.protocol is None or not made.protocol.should_close:
                return made
            made.close()
        raise aiohttp.ServerDisconnectedError


class _Resolver(aiohttp.ThreadedResolver):
    """The names of the system, without addresses at which no model server is: a cloud's metadata, or everybody."""

    async def resolve(self, host: str, port: int = 0, family: Any = 0) -> list[ResolveResult]:
        found = [each for each in await super().resolve(host, port, family) if _is_server(each["host"])]
        if not found:
            raise OSError(f"{host} resolves to no address that requests may be sent to")
        return found


def _is_server(text: str) -> bool:
    address = ip_address(text.partition("%")[0])
    address = getattr(address, "ipv4_mapped", None) or address
    return not (address.is_link_local or address.is_multicast or address.is_unspecified)


def proxy_for(url: str) -> str | None:
    """Return the proxy that the environment names for a URL by HTTPS_PROXY or HTTP_PROXY; none for this machine."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    proxy = None if is_loopback(host) else getproxies().get(parts.scheme)
    return None if not proxy or proxy_bypass(host if parts.port is None else f"{host}:{parts.port}") else proxy


def _sendable(value: str) -> str:
    """Return the value of a header, each of its characters a byte, so that the library sends these bytes.

    It sends UTF-8, so bytes that are UTF-8 are read so. Any others are characters of Latin-1, and sent as UTF-8.
    """
    if value.isascii():
        return value
    try:
        return value.encode("latin-1").decode()
    except UnicodeError:
        return value


def _unfit(answer: UpstreamAnswer) -> str | None:
    """Return why an answer cannot be passed back; `None` if it can."""
    status, coding = answer.status, answer.coding
    if 300 <= status < 400 and status != 304:
        return f"upstream answered {status}, a redirect, which the gateway does not follow"
    if not 200 <= status < 600:
        return f"upstream answered with status {status}, which no answer has"
    if sum(len(name) + len(value) + 4 for name, value in answer.pairs) > MOST_HEAD:
        return f"the headers of upstream's answer are longer than {MOST_HEAD:,} bytes"
    if coding not in ("identity", *_CODINGS) and not answer.at_end:
        return _UNREADABLE
    return None


def _why_unreachable(error: Exception) -> str:
    """Return why there is no answer."""
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return f"the proxy of the environment refused to connect to upstream (status {error.status})"
    if isinstance(error, aiohttp.ClientProxyConnectionError):
        return f"the proxy of the environment cannot be reached ({type(error.os_error).__name__})"
    if isinstance(error, aiohttp.ClientConnectorError):
        return f"upstream cannot be reached ({type(error.os_error).__name__})"
    if isinstance(error, aiohttp.ClientResponseError) and "content-encoding" in error.message:
        return _UNREADABLE
    if isinstance(error, aiohttp.ClientResponseError):
        return "upstream answered something that is not HTTP, or headers that are too long"
    if isinstance(error, aiohttp.ClientConnectionError):
        return "upstream closed the connection before it answered"
    return f"upstream cannot be reached ({type(error).__name__})"


def _why_broken(error: Exception, coding: str) -> str:
    if coding != "identity" and "decode" in str(error).lower():
        return f"its {coding} content cannot be decoded"
    return "it closed the connection, or what it sent is not HTTP"


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
