"""One connection to a model server, and the answer that comes over it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

import httptools

MOST_HEAD = 131_072
"""Bytes of the headers of an answer, and of the trailers after its body."""
_MOST_WAITING = 131_072
"""Bytes of a body that wait for being passed on; the server is not read from while there are more."""
_JOINED = 65_536
"""Bytes of a body that is written in one piece with its headers."""

Address = tuple[str, int, bool]
"""The host and the port of a server, and whether it speaks TLS."""


class BrokenAnswer(ConnectionError):
    """The server closed the connection before its answer was complete, or sent what is not HTTP."""


class UpstreamAnswer:
    """An answer whose headers have arrived; its body is read as it comes."""

    def __init__(self, connection: UpstreamConnection, status: int, headers: list[tuple[str, str]]) -> None:
        self.status = status
        self.pairs = headers
        """Its headers, with names in lower case."""
        self.headers = dict(reversed(headers))
        """The first header of each name."""
        self.complete = False
        """Whether all of it has arrived."""
        self._connection = connection
        self._pieces: list[bytes] = []
        self._size = 0
        self._error: Exception | None = None
        self._waiter: asyncio.Future[None] | None = None

    @property
    def at_end(self) -> bool:
        """Whether all of it was read."""
        return self.complete and not self._pieces

    async def read(self) -> bytes:
        """Return the bytes that have arrived since the last call, at least one; none at the end.

        Raises:
            BrokenAnswer: the server broke off.
            TimeoutError: it was silent for too long.
        """
        if not self._pieces and not self.complete and self._error is None:
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        if self._pieces:
            read, self._pieces, self._size = b"".join(self._pieces), [], 0
            self._connection.resume(self)
            return read
        if self._error is not None:
            raise self._error
        return b""

    def close(self) -> None:
        """Close its connection, unless all of it has arrived; then another request may use that."""
        if not self.complete:
            self._connection.close()

    def feed(self, piece: bytes) -> bool:
        """Take bytes of the body; return whether too many wait."""
        self._pieces.append(piece)
        self._size += len(piece)
        self._wake()
        return self._size > _MOST_WAITING

    def end(self, error: Exception | None = None) -> None:
        """Take the end of the body, or the error that ended it too early."""
        self.complete = error is None
        self._error = error
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None:
            if not self._waiter.done():
                self._waiter.set_result(None)
            self._waiter = None


class UpstreamConnection(asyncio.Protocol):
    """A connection over which one request after the other is sent."""

    def __init__(self, address: Address, free: Callable[[UpstreamConnection], None]) -> None:
        self.address = address
        self._free = free
        self._loop = asyncio.get_running_loop()
        self._parser = httptools.HttpResponseParser(self)
        self._transport: asyncio.Transport | None = None
        self._waiter: asyncio.Future[UpstreamAnswer] | None = None
        """Waits for the headers of an answer."""
        self._answer: UpstreamAnswer | None = None
        """The answer whose body is due."""
        self._headers: list[tuple[str, str]] = []
        self._bodiless = False
        """Whether the answer has no body, whatever its headers say: one to HEAD."""
        self._head = 0
        """Bytes since the request was sent, since the headers were complete, or since the last part of a body."""
        self._paused = False
        self._timeout = 0.0
        self._heard = 0.0
        self._unsent = 0
        self._timer: asyncio.TimerHandle | None = None

    @property
    def closed(self) -> bool:
        """Whether it can no longer be used."""
        return self._transport is None or self._transport.is_closing()

    @property
    def idle(self) -> float:
        """Seconds since the server was last heard of."""
        return self._loop.time() - self._heard

    async def ask(self, head: bytes, body: bytes, timeout: float, *, bodiless: bool = False) -> UpstreamAnswer:
        """Send a request, and return its answer once the headers have arrived.

        Raises:
            BrokenAnswer: the server broke off.
            TimeoutError: it was silent for too long.
        """
        if self._transport is None:
            raise BrokenAnswer("the connection is closed")
        self._headers, self._head, self._bodiless = [], 0, bodiless
        self._timeout, self._heard = timeout, self._loop.time()
        self._waiter = self._loop.create_future()
        if len(body) <= _JOINED:
            self._transport.write(head + body)
        else:
            self._transport.write(head)
            self._transport.write(body)
        self._unsent = self._transport.get_write_buffer_size()
        self._timer = self._loop.call_later(timeout, self._late)
        try:
            return await self._waiter
        except BaseException:
            self.close()
            raise

    def resume(self, answer: UpstreamAnswer) -> None:
        """Read on, if an answer was passed on as far as it has arrived."""
        if self._paused and answer is self._answer and self._transport is not None:
            self._paused, self._heard = False, self._loop.time()
            self._transport.resume_reading()

    def close(self) -> None:
        """Close the connection at once; an answer that is not complete breaks off."""
        if self._transport is not None:
            self._transport.abort()
            self._lost(BrokenAnswer("the connection was closed"))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the transport."""
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """End the answer: as complete, if only the end of the connection ends it."""
        ends = exc is None and self._answer is not None and self._is_endless(self._answer)
        self._lost(None if ends else BrokenAnswer("the server closed the connection"))

    def data_received(self, data: bytes) -> None:
        """Read on."""
        if self._transport is None:  # What still comes of a connection that was closed is nobody's.
            return
        self._heard = self._loop.time()
        self._head += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserUpgrade, httptools.HttpParserError):
            self._break("what the server sent is not HTTP")
        else:
            if self._head > MOST_HEAD and not self.closed:
                self._break(f"the headers of the answer are longer than {MOST_HEAD:,} bytes")

    def on_message_begin(self) -> None:
        """Begin an answer; one that nothing was asked for could be taken for the answer to the next request."""
        if self._waiter is None:
            self.close()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; the trailers after a body are none."""
        if self._answer is None:
            self._headers.append((name.decode("latin-1").lower(), value.decode("latin-1")))

    def on_headers_complete(self) -> None:
        """Begin the answer, unless these are headers that precede it."""
        status, waiter = self._parser.get_status_code(), self._waiter
        if status == 101:
            self._break("the server changes to another protocol")
        if waiter is None or status < 200:
            return
        self._head, self._waiter = 0, None
        self._answer = UpstreamAnswer(self, status, self._headers)
        if waiter.done():  # Nobody waits any more.
            self.close()
            return
        waiter.set_result(self._answer)
        if self._bodiless:
            self._end(reusable=False)

    def on_body(self, piece: bytes) -> None:
        """Take a part of the body."""
        self._head = 0
        if self._answer is not None and self._answer.feed(piece) and not self._paused:
            assert self._transport is not None
            self._paused = True
            self._transport.pause_reading()

    def on_message_complete(self) -> None:
        """End the answer, or headers that precede it."""
        if self._answer is None:
            self._headers = []
        else:
            self._end(reusable=self._parser.should_keep_alive())

    def _end(self, *, reusable: bool) -> None:
        answer, self._answer = self._answer, None
        assert answer is not None
        assert self._transport is not None
        answer.end()
        self._stop_timer()
        if self._paused:
            self._paused = False
            self._transport.resume_reading()
        if reusable and not self._transport.is_closing() and not self._transport.get_write_buffer_size():
            self._free(self)
        else:
            self.close()

    def _late(self) -> None:
        """Break off if nothing was heard for too long, and nothing was sent either."""
        self._timer = None
        left, unsent = self._heard + self._timeout - self._loop.time(), 0
        if self._transport is not None:
            unsent = self._transport.get_write_buffer_size()
        if left <= 0 and (self._paused or unsent < self._unsent):
            left = self._timeout
        self._unsent = unsent
        if left > 0:
            self._timer = self._loop.call_later(left, self._late)
        elif self._transport is not None:
            self._transport.abort()
            self._lost(TimeoutError())

    def _break(self, why: str) -> None:
        if self._transport is not None:
            self._transport.abort()
        self._lost(BrokenAnswer(why))

    def _lost(self, error: Exception | None) -> None:
        """End what waits."""
        self._transport = None
        self._stop_timer()
        answer, self._answer = self._answer, None
        waiter, self._waiter = self._waiter, None
        if answer is not None:
            answer.end(error)
        if waiter is not None and not waiter.done():
            waiter.set_exception(error or BrokenAnswer("the server closed the connection"))

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    @staticmethod
    def _is_endless(answer: UpstreamAnswer) -> bool:
        """Return whether only the end of the connection ends a body."""
        coding = answer.headers.get("transfer-encoding", "").strip().lower()
        return not coding.endswith("chunked") and (bool(coding) or "content-length" not in answer.headers)
