"""The HTTP client of the gateway.

It uses aiohttp without redirects, cookies, `.netrc` and default headers. Bodies are decompressed here, so that other
modules read plain bytes.
"""

from __future__ import annotations

import asyncio
import io
import ssl
from collections.abc import Iterable
from functools import lru_cache
from typing import Any
from urllib.parse import unquote_plus, urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
from aiohttp.connector import Connection
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.payload import TOO_LARGE_BYTES_BODY
from multidict import CIMultiDict
from yarl import URL

from brim.gateway.client.body import json_value
from brim.gateway.http.admitted import KEY_FIELDS, KEY_HEADERS
from brim.gateway.http.connection import Headers
from brim.gateway.http.problem import HttpProblem
from brim.gateway.http.protocol import MOST_HEAD
from brim.gateway.settings import GatewaySettings, secret
from brim.hosts import is_loopback

CONNECT_SECONDS = 10.0
"""Seconds for opening a connection, including name resolution and TLS."""
_JSON_SECONDS = 3.0
"""Seconds in which a server must answer a question of the gateway's own."""
_IDLE = 4.0
"""Seconds that an idle connection is kept: shorter than on servers, so that none is used while the server closes it."""
_MOST_STALE = 100
"""Idle connections that one request may discard because unexpected bytes arrived on them."""
MOST_READ = 16 * 1024 * 1024
"""Bytes of an answer that are read before it is passed on; the rest of a longer answer is passed on as it arrives."""
_OUR_OWN = ("accept", "accept-encoding", "content-type", "user-agent")
"""Headers that aiohttp would add."""
_CODINGS = ("gzip", "deflate", "br", "zstd")
"""Content codings that aiohttp decodes; the last two need another package."""
_UNREADABLE = "upstream compressed its answer, which was not requested, in an unknown way"


class UpstreamAnswer:
    """An answer whose headers have arrived; its body is decoded as it is read."""

    def __init__(self, response: aiohttp.ClientResponse, timeout: float) -> None:
        self._response = response
        self._timeout = timeout
        self.status = response.status
        pairs = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in response.raw_headers]
        self.coding = next((value.strip().lower() for name, value in pairs if name == "content-encoding"), "identity")
        """How upstream compressed the body."""
        if self.coding != "identity" and response.method != "HEAD":
            pairs = [pair for pair in pairs if pair[0] not in ("content-encoding", "content-length")]
        self.pairs = pairs
        """Its headers, with names in lower case; they describe the decoded body."""
        self.headers = dict(reversed(pairs))
        """The first header of each name."""

    @property
    def at_end(self) -> bool:
        """Whether the whole body was read."""
        return self._response.content.at_eof()

    async def read(self) -> bytes:
        """Return the next bytes of the body; none at the end.

        Raises:
            HttpProblem: upstream broke off, or was silent for too long.
        """
        try:
            return await self._response.content.readany()
        except aiohttp.ServerTimeoutError:
            raise HttpProblem(502, f"upstream broke off its answer: no data for {self._timeout:g} seconds") from None
        except (aiohttp.ClientError, HttpProcessingError, OSError) as error:
            raise HttpProblem(502, f"upstream broke off its answer: {_why_broken(error, self.coding)}") from None

    async def read_all(self) -> bytes:
        """Return the body, or its start as soon as that is longer than `MOST_READ`.

        Raises:
            HttpProblem: upstream broke off, or was silent for too long.
        """
        pieces, size = [], 0
        while size <= MOST_READ and (piece := await self.read()):
            pieces.append(piece)
            size += len(piece)
        return b"".join(pieces)

    def close(self) -> None:
        """Close the connection, unless the whole answer has arrived and another request may reuse it."""
        self._response.close()


class UpstreamClient:
    """The connections to model servers."""

    def __init__(self) -> None:
        self._proxy = lru_cache(proxy_for)
        """Returns the proxy of a server; reading the environment takes most of a millisecond."""
        self._open: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        """Close all connections."""
        if self._open is not None:
            await self._open.close()
            self._open = None

    async def send(self, method: str, url: str, headers: Headers, body: bytes | None, timeout: float) -> UpstreamAnswer:
        """Send a request, and return the answer once its headers have arrived.

        Raises:
            HttpProblem: upstream cannot be reached, does not answer in time, or its answer cannot be passed back.
        """
        session, connecting = self._session(), min(CONNECT_SECONDS, timeout)
        try:
            async with asyncio.timeout(timeout):
                response = await session.request(
                    method,
                    URL(url, encoded=True),
                    headers=CIMultiDict([(name, _sendable(value)) for name, value in headers]),
                    data=io.BytesIO(body) if body is not None and len(body) > TOO_LARGE_BYTES_BODY else body,
                    allow_redirects=False,
                    proxy=self._proxy("/".join(url.split("/", 3)[:3])),
                    timeout=aiohttp.ClientTimeout(connect=connecting, sock_connect=connecting, sock_read=timeout),
                )
        except aiohttp.ConnectionTimeoutError:
            raise HttpProblem(504, f"no connection to upstream within {connecting:g} seconds") from None
        except TimeoutError:
            raise HttpProblem(504, f"upstream did not answer within {timeout:g} seconds") from None
        except (aiohttp.ClientError, OSError) as error:
            raise HttpProblem(502, _why_unreachable(error)) from getattr(error, "os_error", error)
        answer = UpstreamAnswer(response, timeout)
        if refusal := _unfit(answer):
            answer.close()
            raise HttpProblem(502, refusal)
        return answer

    async def get_json(self, url: str, headers: Headers) -> tuple[int, Any]:
        """Return the status of an answer and its JSON; `None` if it is not JSON.

        Raises:
            HttpProblem: upstream cannot be reached, breaks off, or does not answer in time.
        """
        answer = await self.send("GET", url, headers, None, _JSON_SECONDS)
        try:
            return answer.status, json_value(await answer.read_all())
        finally:
            answer.close()

    def _session(self) -> aiohttp.ClientSession:
        if self._open is None:
            self._open = aiohttp.ClientSession(
                connector=_Connector(
                    limit=0,
                    keepalive_timeout=_IDLE,
                    ssl=ssl.create_default_context(),
                ),
                cookie_jar=aiohttp.DummyCookieJar(),
                skip_auto_headers=_OUR_OWN,
                max_line_size=MOST_HEAD,
                max_field_size=MOST_HEAD,
            )
        return self._open


class _Connector(aiohttp.TCPConnector):
    """Opens connections, and does not reuse one on which bytes arrived between two requests."""

    async def connect(
        self, req: aiohttp.ClientRequest, traces: list[Any], timeout: aiohttp.ClientTimeout
    ) -> Connection:
        """Return a connection on which nothing has arrived.

        Raises:
            ClientError: no connection can be opened.
        """
        for _ in range(_MOST_STALE):
            made = await super().connect(req, traces, timeout)
            if made.protocol is None or not made.protocol.should_close:
                return made
            made.close()
        raise aiohttp.ServerDisconnectedError


def proxy_for(url: str) -> str | None:
    """Return the proxy for a URL from HTTPS_PROXY or HTTP_PROXY; `None` for this machine."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    proxy = None if is_loopback(host) else getproxies().get(parts.scheme)
    return None if not proxy or proxy_bypass(host if parts.port is None else f"{host}:{parts.port}") else proxy


def _sendable(value: str) -> str:
    """Return a header value, read as Latin-1, as a string for which aiohttp sends the same bytes.

    aiohttp sends UTF-8, so bytes that are UTF-8 stay the same; others are sent as UTF-8 of their Latin-1 characters.
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
        return f"upstream answered with the invalid status {status}"
    if sum(len(name) + len(value) + 4 for name, value in answer.pairs) > MOST_HEAD:
        return f"the headers of upstream's answer are longer than {MOST_HEAD:,} bytes"
    if coding not in ("identity", *_CODINGS) and not answer.at_end:
        return _UNREADABLE
    return None


def _why_unreachable(error: Exception) -> str:
    """Return why there is no answer, and what to check."""
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return f"the proxy from the environment did not connect to upstream (status {error.status})"
    if isinstance(error, aiohttp.ClientProxyConnectionError):
        return "the proxy from the environment cannot be reached; NO_PROXY lists the hosts that are called directly"
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return f"the host name of upstream cannot be resolved ({error.os_error.strerror or error.os_error})"
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return "the certificate of upstream is not valid for this host name"
    if isinstance(error, aiohttp.ClientSSLError):
        return "upstream does not speak TLS at this port; check whether its URL begins with http:"
    if isinstance(error, aiohttp.ClientConnectorError):
        refused = isinstance(error.os_error, ConnectionRefusedError)
        return f"upstream {'refused the connection' if refused else 'cannot be reached'}; check its address and port"
    if isinstance(error, aiohttp.ClientResponseError) and "content-encoding" in error.message:
        return _UNREADABLE
    if isinstance(error, aiohttp.ClientResponseError):
        return "upstream did not answer with HTTP, or its headers are too long; check the http: or https: of its URL"
    if isinstance(error, aiohttp.ClientConnectionError):
        return "upstream closed the connection before it answered; if it expects TLS, its URL must begin with https:"
    return f"upstream cannot be reached ({type(error).__name__})"


def _why_broken(error: Exception, coding: str) -> str:
    if "decode" in str(error).lower():
        return f"its {coding} content cannot be decoded"
    return "it closed the connection, or sent invalid HTTP"


_HOPS = ("connection", "keep-alive", "te", "trailer", "trailers", "transfer-encoding", "upgrade")
"""Headers of one connection, which are not passed on, like those that begin with `proxy-`."""
_NOT_SENT = frozenset(
    (*_HOPS, "host", "content-length", "accept-encoding", "cookie", "origin", "referer", "forwarded", "via", "expect")
)
_NOT_SENT_PREFIXES = ("proxy-", "x-brim-", "x-forwarded-", "sec-")
_NOT_RETURNED = frozenset((*_HOPS, "set-cookie", "location", "server", "date", "alt-svc", "strict-transport-security"))
VERSION = ("anthropic-version", "2023-06-01")
"""The header that Anthropic's API requires; others ignore it."""
_OTHER_APIS = ("/v1beta", "/v1alpha", "/model/")


def address(base: str, target: str, query: str = "") -> str:
    """Return the URL of a path below a base URL; what ends the one and begins the other, such as `/v1`, occurs once."""
    base = base.rstrip("/")
    if target.startswith(_OTHER_APIS):  # The base may name the version of another API of the host.
        base = base.removesuffix("/v1").removesuffix("/v1beta")
    parts = target.split("/")
    starts = ("/".join(parts[:end]) for end in range(len(parts), 1, -1))
    shared = next((start for start in starts if urlsplit(base).path.endswith(start)), "")
    return base.removesuffix(shared) + target + (f"?{query}" if query else "")


def sent_query(query: str, settings: GatewaySettings, route: str) -> str:
    """Return the query for the upstream of a route; if the gateway has a key for it, the client's is left out."""
    if settings.key(route) is None:
        return query
    fields = (each for each in query.split("&") if unquote_plus(each.partition("=")[0]).lower() not in KEY_FIELDS)
    return "&".join(fields)


def sent_headers(headers: Iterable[tuple[str, str]], settings: GatewaySettings, route: str) -> Headers:
    """Return the headers for the upstream of a route; if the gateway has a key for it, no other key is sent."""
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


def returned_headers(response: UpstreamAnswer) -> Headers:
    """Return the headers that are passed back."""
    ours = ("x-brim-", "proxy-")
    return [pair for pair in response.pairs if pair[0] not in _NOT_RETURNED and not pair[0].startswith(ours)]
