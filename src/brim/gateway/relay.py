"""The answer on its way back: the bytes of upstream in their order, with signs of life in the gaps."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any

import aiohttp

from brim.gateway.guard import Send
from brim.gateway.problems import Problem
from brim.gateway.upstream import Headers
from brim.sessions.usage import usage_in
from brim.wire.overflow import Overflow, is_overflow

KEEPALIVE = b": keepalive\n\n"
_ENDS = (b"\n\n", b"\r\n\r\n", b"\r\r")
_LONGEST_LINE = 4 * 1024 * 1024
_BROKEN = (aiohttp.ClientError, ConnectionError, TimeoutError)
_PEEK = 0.3
"""Seconds that the first events of a stream are held back, in which a refusal may follow them."""
_QUIET = (b"response.created", b"response.in_progress", b"response.queued")
"""Events after which a refusal may still come as the next one."""


class Stream:
    """What is known of a stream of events as it passes: whether an event is complete, and what usage it reports."""

    def __init__(self) -> None:
        self.usage: Any = None
        """The last usage that an event reported."""
        self.stopped: Overflow | None = None
        """That the answer ended because the model holds no more, where an event said so."""
        self._tail = b""
        self._line = b""

    @property
    def between(self) -> bool:
        """Whether nothing is half said, so that something may be put in."""
        return not self._tail or self._tail.endswith(_ENDS)

    def feed(self, piece: bytes) -> None:
        """Take note of bytes that pass."""
        self._tail = (self._tail + piece)[-4:]
        whole = self._line + piece
        if b'"usage"' not in whole:
            self._line = whole[whole.rfind(b"\n") + 1 :][-_LONGEST_LINE:]
            return
        *lines, rest = whole.split(b"\n")
        self._line = rest[-_LONGEST_LINE:]
        for line in lines:
            if line.startswith(b"data:") and b'"usage"' in line:
                self._take(line[5:])

    def _take(self, said: bytes) -> None:
        try:
            values = json.loads(said)
        except (ValueError, RecursionError):
            return
        if isinstance(values, dict) and isinstance(values.get("delta"), dict):
            self.stopped = self.stopped or is_overflow({"stop_reason": values["delta"].get("stop_reason")})
        found = usage_in(values)
        if found is not None:
            self.usage = {**(self.usage or {}), **found}


async def peek(response: aiohttp.ClientResponse) -> bytes:
    """Return the start of a stream: its first event, and the one after those that say only that it begins.

    Raises:
        ClientError: the connection broke.
    """
    held = await response.content.readany()
    loop = asyncio.get_running_loop()
    until = loop.time() + _PEEK
    while held and _undecided(held):
        try:
            async with asyncio.timeout_at(until):
                piece = await response.content.readany()
        except TimeoutError:
            break
        if not piece:
            break
        held += piece
    return held


def _undecided(held: bytes) -> bool:
    events = [event for event in held.replace(b"\r\n", b"\n").split(b"\n\n") if event.strip()]
    return len(events) < 8 and all(any(quiet in event[:200] for quiet in _QUIET) for event in events)


def events_of(held: bytes) -> Iterator[Any]:
    """Yield what the events of a stream say, those that are JSON."""
    for line in held.split(b"\n"):
        if line.startswith(b"data:"):
            try:
                yield json.loads(line[5:])
            except (ValueError, RecursionError):
                continue


async def start(send: Send, status: int, headers: Headers) -> None:
    """Send the status and the headers of an answer."""
    pairs = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
    await send({"type": "http.response.start", "status": status, "headers": pairs})


async def whole(send: Send, status: int, headers: Headers, body: bytes) -> None:
    """Send an answer that is all there."""
    kept = [(name, value) for name, value in headers if name != "content-length"]
    await start(send, status, [*kept, ("content-length", str(len(body)))])
    await send({"type": "http.response.body", "body": body})


async def bytes_through(response: aiohttp.ClientResponse, send: Send, first: bytes = b"") -> None:
    """Pass on the bytes of an answer whose headers were sent.

    Raises:
        ClientError: the connection to upstream broke; the client's is broken with it.
    """
    if first:
        await send({"type": "http.response.body", "body": first, "more_body": True})
    while piece := await response.content.readany():
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def stream_through(
    response: aiohttp.ClientResponse,
    send: Send,
    *,
    first: bytes,
    keepalive: float,
    broken: Callable[[], bytes],
) -> Stream:
    """Pass on a stream of events whose headers were sent, and return what is known of it.

    In a gap a comment is put between two events. Where upstream breaks off, `broken` gives the event that says so.
    """
    stream = Stream()
    if first:
        stream.feed(first)
        await send({"type": "http.response.body", "body": first, "more_body": True})
    read = response.content.readany
    try:
        while True:
            try:
                async with asyncio.timeout(keepalive) as limit:
                    piece = await read()
            except TimeoutError:
                if not limit.expired():
                    raise
                if stream.between:
                    await send({"type": "http.response.body", "body": KEEPALIVE, "more_body": True})
                continue
            if not piece:
                break
            stream.feed(piece)
            await send({"type": "http.response.body", "body": piece, "more_body": True})
    except _BROKEN:
        said = broken() if stream.between else b"\n\n" + broken()
        await send({"type": "http.response.body", "body": said, "more_body": True})
    await send({"type": "http.response.body", "body": b""})
    return stream


def lost(error: Exception) -> Problem:
    """Return what a client is told of an upstream that broke off."""
    return Problem(502, f"upstream broke off its answer ({type(error).__name__})")
