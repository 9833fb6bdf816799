"""The connection of a client: reads the body, sends the answer, and notices when the client disconnects."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeVar

from brim.gateway.http.problem import HttpProblem

T = TypeVar("T")
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Headers = list[tuple[str, str]]


class ClientGone(Exception):
    """The client has disconnected."""


class ClientConnection:
    """The client of one request."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        self.began = False
        """Whether its answer has begun; from then on, an error closes the connection."""
        self._ended = False

    async def body(self, length: str | None, most: int, seconds: float) -> bytes:
        """Return the body of the request.

        Args:
            length: the `Content-Length`, if there is one.
            most: the most bytes that are accepted.
            seconds: the time in which the body must arrive.

        Raises:
            ClientGone: the client has disconnected.
            HttpProblem: the body is too long, or does not arrive in time.
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
        """Send a piece of the body."""
        await self._send({"type": "http.response.body", "body": piece, "more_body": True})

    async def end(self, piece: bytes = b"") -> None:
        """Send the last piece of the body."""
        self._ended = True
        await self._send({"type": "http.response.body", "body": piece, "more_body": False})

    async def answer(self, status: int, headers: Headers, body: bytes) -> None:
        """Send a complete answer."""
        await self.head(status, [*headers, ("content-length", str(len(body)))])
        await self.end(body)

    async def watched(self, work: Awaitable[T]) -> T:
        """Return the result of work; cancel it as soon as the client disconnects.

        Raises:
            ClientGone: the client has disconnected.
        """
        task, gone = asyncio.current_task(), False
        assert task is not None

        async def watch() -> None:
            nonlocal gone
            while (await self._receive())["type"] != "http.disconnect":
                pass
            if not self._ended:  # The server reports this after every answer too.
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
