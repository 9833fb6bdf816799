"""The server's HTTP protocol: limits on headers and connections, and offers of other protocols that are not taken."""

from __future__ import annotations

import asyncio
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MOST_HEAD = 131_072
"""Bytes of a request line with its headers, and of the trailers after a body; clients need a few thousand."""
HEAD_SECONDS = 30
"""Seconds in which they must arrive."""
_OFFERS = (b"upgrade", b"http2-settings")
"""Headers by which a client offers another protocol."""
_TOO_BIG = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class BoundedProtocol(HttpToolsProtocol):
    """The server's HTTP protocol with limits on the size of headers and on the time that they take.

    uvicorn limits neither, and both come before any key is checked: one connection could fill the memory with headers,
    and many could stay open for ever. Of too many connections, the oldest is closed on which no whole request is being
    answered, so that nobody keeps others out by doing nothing; if there is none, the new one is refused.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.parser = _Http1Parser(self, self.parser)  # type: ignore[assignment]  # has all that is used
        self._received = 0
        """Bytes since the headers were complete, or since the last part of a body."""
        self._in_head = True
        """Whether headers are due: on a new connection, and once a request has begun."""
        self._too_big = False
        self._timer: asyncio.TimerHandle | None = None
        self._since = 0.0
        """When the connection was made."""
        self._most, self.limit_concurrency = self.limit_concurrency, None
        """The most connections; the server refuses what exceeds its own number, which is set once that has to be."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the time limit for the first request, and make room for it."""
        super().connection_made(transport)
        self._start_timer()
        self._since = self.loop.time()
        if self._most is not None and len(self.connections) > self._most:
            waiting = (each for each in self.connections if isinstance(each, BoundedProtocol) and each.waits)
            oldest = min((each for each in waiting if each is not self), key=lambda each: each._since, default=None)
            if oldest is None:
                self.limit_concurrency = 0
            else:
                self.connections.discard(oldest)
                oldest.transport.close()

    @property
    def waits(self) -> bool:
        """Whether the connection is open, and no whole request of it is being answered."""
        idle = self.cycle is None or self.cycle.response_complete or self.cycle.more_body
        return idle and not self.transport.is_closing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the time limit."""
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on, and close the connection if the headers are too long."""
        self._received += len(data)
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._received > MOST_HEAD:
            self._too_big = True
            self.send_400_response("")
        elif self._in_head and self._timer is None:
            self._start_timer()

    def send_400_response(self, msg: str) -> None:
        """Refuse what cannot be read, or headers that are too long, and close the connection."""
        if not self._too_big:
            super().send_400_response(msg)
            return
        self.transport.write(_TOO_BIG)
        self.transport.close()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header. A trailer, which follows a body, is dropped: nobody has checked it."""
        if self._in_head:
            super().on_header(name, value)

    def on_message_begin(self) -> None:
        """Expect headers."""
        super().on_message_begin()
        self._in_head = True

    def on_headers_complete(self) -> None:
        """Stop the time limit.

        Raises:
            ValueError: the headers came in one piece, and are too long.
        """
        self._received, self._in_head = 0, False
        self._stop_timer()
        if len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers) > MOST_HEAD:
            self._too_big = True
            raise ValueError
        if not self.offers:
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a piece of a body, and start the count again: a body is limited where it is read."""
        self._received = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Start the count again."""
        self._received = 0
        if not self.offers:
            super().on_message_complete()

    @property
    def offers(self) -> bool:
        """Whether the current request offers another protocol than a WebSocket."""
        return self.parser.should_upgrade() and any(
            name == b"upgrade" and value.lower() != b"websocket" for name, value in self.headers
        )

    def _start_timer(self) -> None:
        self._timer = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class _Http1Parser:
    """The server's parser, which reads a request that offers another protocol, such as h2c, as if it offered none.

    The library takes what follows the headers of such a request for the other protocol, also its body.
    """

    def __init__(self, protocol: BoundedProtocol, parser: httptools.HttpRequestParser) -> None:
        self._protocol = protocol
        self._parser = parser

    def feed_data(self, data: bytes) -> None:
        """Parse bytes.

        Raises:
            HttpParserError: they are not HTTP.
            HttpParserUpgrade: the request is for a WebSocket, or CONNECT.
        """
        rest = memoryview(data)
        while True:
            try:
                self._parser.feed_data(rest)
            except httptools.HttpParserUpgrade as offer:
                if not self._protocol.offers:
                    raise
                rest = rest[offer.args[0] :]
                head = self._plain_head()
                self._parser = httptools.HttpRequestParser(self._protocol)
                self._parser.feed_data(head)
            else:
                return

    def _plain_head(self) -> bytes:
        """Return the head of the current request without its offer."""
        method, version = self._parser.get_method(), self._parser.get_http_version().encode()
        lines = [b"%s %s HTTP/%s" % (method, self._protocol.url, version)]
        for name, value in self._protocol.headers:
            kept = value
            if name == b"connection":
                kept = b", ".join(each for each in value.split(b",") if each.strip().lower() not in _OFFERS)
            if name not in _OFFERS and (kept or not value):
                lines.append(b"%s: %s" % (name, kept))
        return b"\r\n".join([*lines, b"", b""])

    def __getattr__(self, name: str) -> Any:
        return getattr(self._parser, name)
