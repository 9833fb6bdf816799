"""The connection of a client: limits on its headers, writes in few packets, and notice when the client disconnects."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

SCOPE_KEY = "brim.connection"
"""The key of the `ClientConnection` in the scope of a request."""
MOST_HEAD = 131_072
"""Bytes of a request line with its headers, and of the trailers after a body; clients need a few thousand."""
HEAD_SECONDS = 30
"""Seconds in which they must arrive."""
_TOO_BIG = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class ClientGone(Exception):
    """The client has disconnected."""


class ClientConnection:
    """The connection to one client."""

    def __init__(self) -> None:
        self._closed = False
        self._tasks: set[asyncio.Task[object]] = set()

    def lose(self) -> None:
        """Cancel the work for the client, who has disconnected."""
        self._closed = True
        for task in self._tasks:
            task.cancel()

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Cancel the work inside as soon as the client disconnects.

        Raises:
            ClientGone: the client has disconnected.
        """
        if self._closed:
            raise ClientGone
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            yield
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
        super().data_received(data)
        if self._received > MOST_HEAD and not self.transport.is_closing():
            self.transport.write(_TOO_BIG)
            self.transport.close()
        elif self._in_head and self._timer is None:
            self._start_timer()

    def on_message_begin(self) -> None:
        """Expect headers."""
        super().on_message_begin()
        self._in_head = True

    def on_headers_complete(self) -> None:
        """Stop the time limit."""
        self._received, self._in_head = 0, False
        self._stop_timer()
        self.scope[SCOPE_KEY] = self._client  # type: ignore[literal-required]
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Start the count again: a body is limited where it is read."""
        self._received = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Start the count again."""
        self._received = 0
        super().on_message_complete()

    def _start_timer(self) -> None:
        self._timer = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
