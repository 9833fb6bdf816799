"""The server's HTTP protocol, with a time limit for request heads and a limit on open connections.

It extends uvicorn's protocol on h11, which limits the size of a head, drops trailers, and ignores an offer of another
protocol, such as that of Java's client. httptools does none of this, and is only 0.26 ms faster.
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

MOST_HEAD = 131_072
"""Maximum bytes of a request line with its headers, of trailers, and of the headers of an answer; a few thousand are
usual.
"""
HEAD_SECONDS = 30
"""Seconds in which a head must arrive."""
_REFUSED = b"HTTP/1.1 %s\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class BoundedProtocol(H11Protocol):
    """The server's HTTP protocol with limits that apply before any key is checked.

    Above the limit of connections, the oldest one without a request in progress is closed, so that idle connections do
    not lock clients out. If there is none, the new connection is refused.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._timer: asyncio.TimerHandle | None = None
        """Closes the connection if an expected head does not arrive."""
        self._since = 0.0
        """When the connection was made."""
        self._most, self.limit_concurrency = self.limit_concurrency, None
        """The most connections. uvicorn's own limit is only set to refuse a connection: to 0."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the time limit for the first request, and make room for it."""
        super().connection_made(transport)
        self._await_head(due=True)
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
        """Whether the connection is open and has no complete request in progress."""
        idle = self.cycle is None or self.cycle.response_complete or self.cycle.more_body
        return idle and not self.transport.is_closing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the time limit."""
        self._await_head(due=False)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read data; the time limit runs while a head is incomplete."""
        super().data_received(data)
        begun = self.cycle is None or bool(self.conn.trailing_data[0])
        self._await_head(due=begun and self.conn.their_state is h11.IDLE and not self.transport.is_closing())

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - uvicorn's signature
        """Refuse invalid HTTP or a head that is too long, and close the connection."""
        if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
            long = len(self.conn.trailing_data[0]) > MOST_HEAD
            self.transport.write(_REFUSED % (b"431 Request Header Fields Too Large" if long else b"400 Bad Request"))
        self.transport.close()

    def _await_head(self, *, due: bool) -> None:
        if due and self._timer is None:
            self._timer = self.loop.call_later(HEAD_SECONDS, self.transport.close)
        elif not due and self._timer is not None:
            self._timer.cancel()
            self._timer = None
