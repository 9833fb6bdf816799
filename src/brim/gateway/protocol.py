"""The reading of requests, with a bound on what is neither a body nor said at once.

The server bounds neither the headers of a request nor the time that they take, and both come before anybody has shown a
key: one connection could fill the memory with them, and many could wait for ever.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from brim.gateway.gathered import Gathered
from brim.gateway.line import KEY, ClientConnection

MOST_HEAD = 131_072
"""Bytes of a request line with its headers, and of what follows a body; clients need a few thousand."""
HEAD_SECONDS = 30
"""Seconds that they may take to come."""
_TOO_BIG = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class BoundedProtocol(HttpToolsProtocol):
    """One connection of a client."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._fed = 0
        """Bytes that came since headers were complete, or since the last part of a body."""
        self._begun = True
        """Whether a head is waited for: on a new connection, and as soon as some of one has come."""
        self._waits: asyncio.TimerHandle | None = None
        self._line = ClientConnection()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self.transport = Gathered(transport, self.loop)  # type: ignore[assignment]  # all that is asked of one
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more, and end what is done for the client."""
        self._rest()
        self._line.lose()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on, unless it has become too much."""
        self._fed += len(data)
        super().data_received(data)
        if self._fed > MOST_HEAD and not self.transport.is_closing():
            self.transport.write(_TOO_BIG)
            self.transport.close()
        elif self._begun and self._waits is None:
            self._wait()

    def on_message_begin(self) -> None:
        """Take note that a request begins."""
        super().on_message_begin()
        self._begun = True

    def on_headers_complete(self) -> None:
        """Take note that the headers are there."""
        self._fed, self._begun = 0, False
        self._rest()
        self.scope[KEY] = self._line  # type: ignore[literal-required]
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take note of a part of a body, which is bounded where it is read."""
        self._fed = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Take note that a request is whole."""
        self._fed = 0
        super().on_message_complete()

    def _wait(self) -> None:
        self._waits = self.loop.call_later(HEAD_SECONDS, self._late)

    def _rest(self) -> None:
        if self._waits is not None:
            self._waits.cancel()
            self._waits = None

    def _late(self) -> None:
        if not self.transport.is_closing():
            self.transport.close()
