"""The connection of a client: limits on its headers, writes in few packets, and notice when the client disconnects."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

SCOPE_KEY = "brim.connection"
"""The key of the `ClientConnection` in the scope of a request."""
MOST_HEAD = 131_072
"""Bytes of a request line with its headers, and of the trailers after a body; clients need a few thousand."""
HEAD_SECONDS = 30
"""Seconds in which they must arrive."""
_GATHERED = 4 * 1024 * 1024
"""Bytes of a body that are passed on in one piece, if so many come: each piece costs a turn of the event loop."""
_OFFERS = (b"upgrade", b"http2-settings")
"""Headers by which a client offers another protocol."""
_TOO_BIG = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class ClientGone(Exception):
    """The client has disconnected."""


class ClientConnection:
    """The connection to one client."""

    def __init__(self) -> None:
        self.complete = False
        """Whether all of the newest request has arrived."""
        self._closed = False
        self._tasks: set[asyncio.Task[object]] = set()

    def lose(self) -> None:
        """Cancel the work for the client, who has disconnected."""
        self._closed = True
        for task in self._tasks:
            task.cancel()

    async def watched(self, work: Callable[..., Awaitable[None]], *arguments: Any) -> None:
        """Do some work, and cancel it as soon as the client disconnects.

        Raises:
            ClientGone: the client has disconnected.
        """
        if self._closed:
            raise ClientGone
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await work(*arguments)
        except asyncio.CancelledError:
            if not self._closed:
                raise
            task.uncancel()
            raise ClientGone from None
        finally:
            self._tasks.discard(task)


class GatheringTransport:
    """A transport that sends in one packet what was written in one turn of the event loop.

    The server writes the head of an answer and its body separately. For a short answer, the second packet costs more
    than everything else, on both ends.
    """

    def __init__(self, inner: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._inner = inner
        self._loop = loop
        self._pending: list[bytes] = []

    def write(self, data: bytes) -> None:
        """Send bytes at the end of this turn."""
        if not self._pending:
            self._loop.call_soon(self._send)
        self._pending.append(data)

    def close(self) -> None:
        """Send the rest, and close."""
        self._send()
        self._inner.close()

    def _send(self) -> None:
        if self._pending:
            pending, self._pending = self._pending, []
            self._inner.write(b"".join(pending))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class BoundedProtocol(HttpToolsProtocol):
    """The server's HTTP protocol with limits on the size of headers and on the time that they take.

    uvicorn limits neither, and both come before any key is checked: one connection could fill the memory with headers,
    and many could stay open for ever.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._received = 0
        """Bytes since the headers were complete, or since the last part of a body."""
        self._in_head = True
        """Whether headers are due: on a new connection, and once a request has begun."""
        self._offers = False
        """Whether the current request offers another protocol than a WebSocket."""
        self._pieces: list[bytes] = []
        """What has come of a body and was not passed on."""
        self._gathered = 0
        """The bytes of them."""
        self._timer: asyncio.TimerHandle | None = None
        self._client = ClientConnection()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the time limit for the first request."""
        super().connection_made(transport)
        self.transport = GatheringTransport(transport, self.loop)  # type: ignore[assignment]  # has all that is used
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the work for the client."""
        self._stop_timer()
        self._client.lose()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on, and close the connection if the headers are too long."""
        self._received += len(data)
        self._unset_keepalive_if_required()
        try:
            self._feed(data)
        except httptools.HttpParserUpgrade:
            pass  # A WebSocket, or CONNECT; the application refuses it.
        except httptools.HttpParserError:
            self.send_400_response("Invalid HTTP request received.")
            return
        if self._received > MOST_HEAD and not self.transport.is_closing():
            self.transport.write(_TOO_BIG)
            self.transport.close()
        elif self._in_head and self._timer is None:
            self._start_timer()

    def _feed(self, data: bytes) -> None:
        """Parse bytes. A request that offers another protocol, such as h2c, is read as if it offered none.

        The parser takes what follows the headers of such a request for the other protocol, also its body.

        Raises:
            HttpParserError: they are not HTTP.
            HttpParserUpgrade: the request is for a WebSocket, or CONNECT.
        """
        rest = memoryview(data)
        while True:
            try:
                self.parser.feed_data(rest)
            except httptools.HttpParserUpgrade as offer:
                if not self._offers:
                    raise
                rest = rest[offer.args[0] :]
                head, self._offers = self._plain_head(), False
                self.parser = httptools.HttpRequestParser(self)
                self.parser.feed_data(head)
            else:
                return

    def _plain_head(self) -> bytes:
        """Return the head of the current request without its offer."""
        method, version = self.parser.get_method(), self.parser.get_http_version().encode()
        lines = [b"%s %s HTTP/%s" % (method, self.url, version)]
        for name, value in self.headers:
            kept = value
            if name == b"connection":
                kept = b", ".join(each for each in value.split(b",") if each.strip().lower() not in _OFFERS)
            if name not in _OFFERS and (kept or not value):
                lines.append(b"%s: %s" % (name, kept))
        return b"\r\n".join([*lines, b"", b""])

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header. A trailer, which follows a body, is dropped: nobody has checked it."""
        if self._in_head:
            super().on_header(name, value)

    def on_message_begin(self) -> None:
        """Expect headers."""
        super().on_message_begin()
        self._in_head, self._client.complete = True, False

    def on_headers_complete(self) -> None:
        """Stop the time limit."""
        self._received, self._in_head = 0, False
        self._stop_timer()
        self._offers = self.parser.should_upgrade() and self._get_upgrade() not in (None, b"websocket")
        if self._offers:
            return
        self.scope[SCOPE_KEY] = self._client  # type: ignore[literal-required]
        super().on_headers_complete()
        if self.cycle is not None:
            self.cycle.body = b""  # type: ignore[assignment]  # Added to bytes, a body in one piece is not copied.

    def on_body(self, body: bytes) -> None:
        """Gather a piece of a body, and start the count again: a body is limited where it is read."""
        self._received = 0
        self._pieces.append(body)
        self._gathered += len(body)
        if self._gathered >= _GATHERED:
            self._pass_on()

    def on_message_complete(self) -> None:
        """Pass the rest of the body on, and start the count again."""
        self._received, self._client.complete = 0, True
        self._pass_on()
        if not self._offers:
            super().on_message_complete()

    def _pass_on(self) -> None:
        """Pass on what has come of a body."""
        pieces, self._pieces, self._gathered = self._pieces, [], 0
        if pieces:
            super().on_body(b"".join(pieces))

    def _start_timer(self) -> None:
        self._timer = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
