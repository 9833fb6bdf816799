"""How an answer is passed back: the bytes of upstream in their order, with keepalive comments while it is silent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from brim.gateway.body import json_value
from brim.gateway.connection import Send
from brim.gateway.problem import HttpProblem
from brim.gateway.recall_stream import RecallStream
from brim.gateway.server_event import EventReader, ServerEvent
from brim.gateway.stream_start import refusal_in
from brim.gateway.upstream import returned_headers
from brim.gateway.upstream_client import BrokenAnswer, Headers, UpstreamAnswer
from brim.sessions.learning.usage import usage_in
from brim.wire.overflow import Overflow, is_overflow

T = TypeVar("T")

KEEPALIVE = b": keepalive\n\n"
_LONGEST_EVENT = 4 * 1024 * 1024
"""Bytes of an event in which the usage is looked for."""
_FIRST_SECONDS = 0.25
"""Seconds after which the head of a stream that is kept back is sent with a comment: so they leave within 0.3 s."""
_LAST = 16_384
"""Bytes at the end of a stream without events in which its usage is."""
_USAGE = (b'"usage"', b'"usageMetadata"')
"""The keys of it: Bedrock's and Gemini's."""
_SIGNS = (b'"usage', b'"error"')
"""One of these is in every event that is read while it passes."""


class EventStream:
    """What is known of a stream of events while it passes: whether an event is complete, and the reported usage."""

    def __init__(self) -> None:
        self.usage: Any = None
        """The usage that the events reported so far."""
        self.stopped: Overflow | None = None
        """The overflow, if an event reports one: as an error, or as the reason to stop."""
        self.broken = False
        """Whether upstream broke off."""
        self._reader = EventReader(_LONGEST_EVENT)

    @property
    def between(self) -> bool:
        """Whether the last event is complete, so that another one may be inserted."""
        return not self._reader.rest.strip(b"\r\n")

    def feed(self, piece: bytes) -> None:
        """Read bytes that pass."""
        for event in self._reader.feed(piece):
            self._look(event)

    def end(self) -> None:
        """Read the last event, also if no blank line follows it."""
        self._look(ServerEvent(self._reader.rest))

    def _look(self, event: ServerEvent) -> None:
        if any(sign in event.raw for sign in _SIGNS):
            for line in event.data_lines:  # After an event that was broken off, a line is the next one.
                self._read(json_value(line))

    def _read(self, event: Any) -> None:
        if isinstance(event, dict) and isinstance(event.get("delta"), dict):
            self.stopped = self.stopped or is_overflow({"stop_reason": event["delta"].get("stop_reason")})
        self.stopped = self.stopped or refusal_in(event)
        usage = usage_in(event)
        if usage is not None:
            self.usage = {**(self.usage or {}), **usage}


class BufferedStream:
    """A stream that is kept back until it is known whether it is for the client.

    Meanwhile the client gets the head and a comment within 0.3 seconds, and then keepalive comments.
    """

    def __init__(self, send: Send, keepalive: float) -> None:
        self.began = False
        """Whether the answer has begun; from then on, an error can only be sent as an event."""
        self._send = send
        self._keepalive = keepalive
        self._due: float | None = None
        """When the next comment is due."""
        self._waits = False

    async def during(self, job: Coroutine[Any, Any, T], begin: Callable[[], Awaitable[None]]) -> T:
        """Return the result of a job; while it runs, send the head once with `begin`, and then comments.

        Raises:
            Exception: whatever the job raises.
        """
        if self._waits:  # This is part of another job.
            return await job
        self._waits = True
        task, now = asyncio.ensure_future(job), asyncio.get_running_loop().time
        if self._due is None:
            self._due = now() + min(_FIRST_SECONDS, self._keepalive)
        try:
            while not (await asyncio.wait({task}, timeout=max(0.0, self._due - now())))[0]:
                if not self.began:
                    self.began = True
                    await begin()
                await send_piece(self._send, KEEPALIVE)
                self._due = now() + self._keepalive
            return task.result()
        finally:
            self._waits = False
            if not task.done():  # The client has disconnected.
                task.cancel()
                await asyncio.wait({task})


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


async def send_read(send: Send, response: UpstreamAnswer, raw: bytes, more: Headers) -> None:
    """Pass back an answer of which bytes were read, the rest as it comes.

    Raises:
        BrokenAnswer: the connection to upstream broke.
    """
    if response.at_end:
        await send_answer(send, response.status, [*returned_headers(response, whole=True), *more], raw)
        return
    await send_head(send, response.status, [*returned_headers(response, whole=True), *more])
    await pass_bytes(response, send, raw)


async def pass_bytes(response: UpstreamAnswer, send: Send, first: bytes = b"") -> bytes:
    """Pass on the bytes of an answer whose headers were sent, and return the last of them.

    Raises:
        BrokenAnswer: the connection to upstream broke; the server then breaks the client's too.
    """
    last = first
    if first:
        await send_piece(send, first)
    while piece := await response.read():
        await send_piece(send, piece)
        last = (last + piece)[-_LAST:]
    await send_piece(send, b"", more=False)
    return last


def usage_at_end(last: bytes) -> Any:
    """Return the usage in the last bytes of a stream of frames or of a JSON array; `None` if it is not there."""
    found = max(((last.rfind(key), key) for key in _USAGE), default=(-1, b""))
    if found[0] < 0:
        return None
    rest = last[found[0] + len(found[1]) :].decode("utf-8", "replace").lstrip(" \t\r\n:")
    try:
        return json.JSONDecoder().raw_decode(rest)[0]
    except ValueError:
        return None


async def pass_stream(
    response: UpstreamAnswer,
    send: Send,
    *,
    first: bytes,
    keepalive: float,
    broken: bytes,
    strip: RecallStream | None = None,
) -> EventStream:
    """Pass on a stream of events whose headers were sent, and return what is known of it.

    Args:
        response: the answer.
        send: sends to the client.
        first: the bytes that were already read.
        keepalive: seconds of silence after which a comment is sent between two events.
        broken: the event that is sent if upstream breaks off.
        strip: takes calls out of the stream that are not for the client.
    """
    stream, piece = EventStream(), first
    try:
        while True:
            if piece:
                stream.feed(piece)
                await send_piece(send, piece if strip is None else strip.passed(piece))
            try:
                async with asyncio.timeout(keepalive) as limit:
                    piece = await response.read()
            except TimeoutError:
                if not limit.expired():
                    raise
                piece = b""
                if stream.between:
                    await send_piece(send, KEEPALIVE)
                continue
            if not piece:
                break
        stream.end()
        if strip is not None:
            await send_piece(send, strip.passed(b"", last=True))
    except BrokenAnswer:
        stream.broken = True
        await send_piece(send, broken if stream.between else b"\n\n" + broken)
    await send_piece(send, b"", more=False)
    return stream


def broken_answer(error: BrokenAnswer) -> HttpProblem:
    """Return the problem of an upstream that broke off its answer."""
    return HttpProblem(502, f"upstream broke off its answer: {error}")
