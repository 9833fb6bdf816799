"""The connection of a client: its body, what it is sent, and notice when it disconnects."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, MutableMapping
from typing import Any, TypeVar

from brim.gateway.http.problem import HttpProblem

T = TypeVar("T")
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Headers = list[tuple[str, str]]

KEEPALIVE = b": keepalive\n\n"
"""A comment between two events of a stream."""
_FIRST_SECONDS = 0.25
"""Seconds after which the head of a stream that is kept back is sent with a comment: so they leave within 0.3 s."""


class ClientGone(Exception):
    """The client has disconnected."""


class ClientConnection:
    """The client of one request."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        self.began = False
        """Whether its answer has begun; from then on, an error can only be the last event of a stream."""
        self._ended = False
        self._held: tuple[int, Headers] | None = None
        self._due: float | None = None
        """When the next comment is due."""
        self._waits = False

    async def body(self, length: str | None, most: int, seconds: float) -> bytes:
        """Return the body of its request, of which `length` is the stated length.

        Raises:
            ClientGone: it has disconnected.
            HttpProblem: the body is longer than `most` bytes, or does not arrive in time.
        """
        too_big = HttpProblem(413, f"the body is larger than {most:,} bytes, the limit that gateway.most_bytes sets")
        if length is not None and (not length.isdigit() or int(length[:20]) > most):
            raise too_big
        pieces, size, more = [], 0, True
        try:
            async with asyncio.timeout(seconds):
                while more:
                    event = await self._receive()
                    if event["type"] == "http.disconnect":
                        raise ClientGone
                    pieces.append(event.get("body", b""))
                    size += len(pieces[-1])
                    if size > most:
                        raise too_big
                    more = event.get("more_body", False)
        except TimeoutError:
            raise HttpProblem(408, f"the body did not arrive within {seconds:g} seconds") from None
        return b"".join(pieces)

    async def head(self, status: int, headers: Headers) -> None:
        """Send the status and the headers of an answer."""
        self.began = True
        pairs = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
        await self._send({"type": "http.response.start", "status": status, "headers": pairs})

    async def piece(self, piece: bytes) -> None:
        """Send a part of the body of an answer."""
        await self._send({"type": "http.response.body", "body": piece, "more_body": True})

    async def end(self, piece: bytes = b"") -> None:
        """Send the last part of an answer."""
        self._ended = True
        await self._send({"type": "http.response.body", "body": piece, "more_body": False})

    async def answer(self, status: int, headers: Headers, body: bytes) -> None:
        """Send a complete answer."""
        kept = [(name, value) for name, value in headers if name != "content-length"]
        await self.head(status, [*kept, ("content-length", str(len(body)))])
        await self.end(body)

    def hold(self, status: int, headers: Headers) -> None:
        """Note how a stream begins that is kept back until it is known whether it is for the client."""
        self._held = (status, headers)

    async def begin(self) -> None:
        """Send the head of the stream that was kept back, unless it was sent."""
        if not self.began:
            assert self._held is not None
            await self.head(*self._held)

    async def during(self, job: Coroutine[Any, Any, T], keepalive: float) -> T:
        """Return the result of a job; a client that waits for a stream meanwhile gets its head, and comments.

        Raises:
            Exception: whatever the job raises.
        """
        if self._held is None or self._waits:  # It waits for no stream, or the job is part of another one.
            return await job
        self._waits = True
        task, now = asyncio.ensure_future(job), asyncio.get_running_loop().time
        if self._due is None:
            self._due = now() + min(_FIRST_SECONDS, keepalive)
        try:
            while not (await asyncio.wait({task}, timeout=max(0.0, self._due - now())))[0]:
                await self.begin()
                await self.piece(KEEPALIVE)
                self._due = now() + keepalive
            return task.result()
        finally:
            self._waits = False
            if not task.done():  # The client has disconnected.
                task.cancel()
                await asyncio.wait({task})

    async def watched(self, work: Awaitable[T]) -> T:
        """Return the result of work after the body was received; cancel it as soon as the client disconnects.

        Raises:
            ClientGone: the client has disconnected.
        """
        task, gone = asyncio.current_task(), False
        assert task is not None

        async def watch() -> None:
            nonlocal gone
            while (await self._receive())["type"] != "http.disconnect":
                pass
            if not self._ended:  # The server says so after the end of an answer too.
                gone = True
                task.cancel()

        watcher = asyncio.get_running_loop().create_task(watch())
        try:
            return await work
        except asyncio.CancelledError:
            if not gone:
                raise
            task.uncancel()
            raise ClientGone from None
        finally:
            watcher.cancel()
