"""How an answer is passed back: the bytes of upstream in their order, with keepalive comments while it is silent."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from typing import Any, TypeVar

import aiohttp

from brim.gateway.body import json_value
from brim.gateway.guard import Send
from brim.gateway.problem import HttpProblem
from brim.gateway.upstream import Headers
from brim.sessions.usage import usage_in
from brim.wire.overflow import Overflow, is_overflow

T = TypeVar("T")

KEEPALIVE = b": keepalive\n\n"
_EVENT_ENDS = (b"\n\n", b"\r\n\r\n", b"\r\r")
_LONGEST_LINE = 4 * 1024 * 1024
_BROKEN = (aiohttp.ClientError, ConnectionError, TimeoutError)
_PEEK_SECONDS = 0.3
"""Seconds for which the first events of a stream are kept back, since a refusal may follow them."""
_PRELUDE = (b"response.created", b"response.in_progress", b"response.queued")
"""Events after which a refusal may still be the next one."""


class EventStream:
    """What is known of a stream of events while it passes: whether an event is complete, and the reported usage."""

    def __init__(self) -> None:
        self.usage: Any = None
        """The usage that the events reported so far."""
        self.stopped: Overflow | None = None
        """The overflow, if an event says that the answer ended because the window was full."""
        self._tail = b""
        self._line = b""

    @property
    def between(self) -> bool:
        """Whether the last event is complete, so that another one may be inserted."""
        return not self._tail or self._tail.endswith(_EVENT_ENDS)

    def feed(self, piece: bytes) -> None:
        """Read bytes that pass."""
        self._tail = (self._tail + piece)[-4:]
        text = self._line + piece
        if b'"usage"' not in text:
            self._line = text[text.rfind(b"\n") + 1 :][-_LONGEST_LINE:]
            return
        *lines, rest = text.split(b"\n")
        self._line = rest[-_LONGEST_LINE:]
        for line in lines:
            if line.startswith(b"data:") and b'"usage"' in line:
                self._read(json_value(line[5:]))

    def _read(self, event: Any) -> None:
        if isinstance(event, dict) and isinstance(event.get("delta"), dict):
            self.stopped = self.stopped or is_overflow({"stop_reason": event["delta"].get("stop_reason")})
        usage = usage_in(event)
        if usage is not None:
            self.usage = {**(self.usage or {}), **usage}


class BufferedStream:
    """A stream that is kept back until it is known whether it is for the client, who gets keepalive comments."""

    def __init__(self, send: Send, keepalive: float, begin: Callable[[], Awaitable[None]]) -> None:
        self.began = False
        """Whether the answer has begun; from then on, an error can only be sent as an event."""
        self._send = send
        self._keepalive = keepalive
        self._begin = begin

    async def during(self, job: Coroutine[Any, Any, T]) -> T:
        """Return the result of a job; while it runs, send the headers once and then comments.

        Raises:
            Exception: whatever the job raises.
        """
        task = asyncio.ensure_future(job)
        try:
            while not (await asyncio.wait({task}, timeout=self._keepalive))[0]:
                if not self.began:
                    self.began = True
                    await self._begin()
                await send_piece(self._send, KEEPALIVE)
            return task.result()
        finally:
            if not task.done():  # The client has disconnected.
                task.cancel()
                await asyncio.wait({task})


async def peek(response: aiohttp.ClientResponse) -> bytes:
    """Return the start of a stream: its first event, and the one after those that only say that it begins.

    Raises:
        ClientError: the connection broke.
    """
    start = await response.content.readany()
    deadline = asyncio.get_running_loop().time() + _PEEK_SECONDS
    while start and _is_prelude(start):
        try:
            async with asyncio.timeout_at(deadline):
                piece = await response.content.readany()
        except TimeoutError:
            break
        if not piece:
            break
        start += piece
    return start


def _is_prelude(start: bytes) -> bool:
    """Return whether a refusal may still follow the first events of a stream."""
    events = [event for event in start.replace(b"\r\n", b"\n").split(b"\n\n") if event.strip()]
    return len(events) < 8 and all(any(name in event[:200] for name in _PRELUDE) for event in events)


def events_of(stream: bytes) -> Iterator[Any]:
    """Yield the JSON values of the events of a stream."""
    for line in stream.split(b"\n"):
        if line.startswith(b"data:") and (value := json_value(line[5:])) is not None:
            yield value


async def send_head(send: Send, status: int, headers: Headers) -> None:
    """Send the status and the headers of an answer."""
    pairs = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
    await send({"type": "http.response.start", "status": status, "headers": pairs})


async def send_piece(send: Send, piece: bytes, *, more: bool = True) -> None:
    """Send a part of the body of an answer."""
    await send({"type": "http.response.body", "body": piece, "more_body": more})


async def send_answer(send: Send, status: int, headers: Headers, body: bytes) -> None:
    """Send a complete answer."""
    kept = [(name, value) for name, value in headers if name != "content-length"]
    await send_head(send, status, [*kept, ("content-length", str(len(body)))])
    await send_piece(send, body, more=False)


async def pass_bytes(response: aiohttp.ClientResponse, send: Send, first: bytes = b"") -> None:
    """Pass on the bytes of an answer whose headers were sent.

    Raises:
        ClientError: the connection to upstream broke; the server then breaks the client's too.
    """
    if first:
        await send_piece(send, first)
    while piece := await response.content.readany():
        await send_piece(send, piece)
    await send_piece(send, b"", more=False)


async def pass_stream(
    response: aiohttp.ClientResponse, send: Send, *, first: bytes, keepalive: float, broken: bytes
) -> EventStream:
    """Pass on a stream of events whose headers were sent, and return what is known of it.

    Args:
        response: the answer.
        send: sends to the client.
        first: the bytes that were already read.
        keepalive: seconds of silence after which a comment is sent between two events.
        broken: the event that is sent if upstream breaks off.
    """
    stream, piece = EventStream(), first
    try:
        while True:
            if piece:
                stream.feed(piece)
                await send_piece(send, piece)
            try:
                async with asyncio.timeout(keepalive) as limit:
                    piece = await response.content.readany()
            except TimeoutError:
                if not limit.expired():
                    raise
                piece = b""
                if stream.between:
                    await send_piece(send, KEEPALIVE)
                continue
            if not piece:
                break
    except _BROKEN:
        await send_piece(send, broken if stream.between else b"\n\n" + broken)
    await send_piece(send, b"", more=False)
    return stream


def broken_answer(error: Exception) -> HttpProblem:
    """Return the problem of an upstream that broke off its answer."""
    return HttpProblem(502, f"upstream broke off its answer ({type(error).__name__})")
