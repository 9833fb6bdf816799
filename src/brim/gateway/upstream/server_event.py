"""The events of a stream, and the rejection that its first events may report."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from brim.gateway.client.body import json_value
from brim.gateway.upstream.client import UpstreamAnswer
from brim.wire.overflow import Overflow, is_overflow

_LINE = rb"(?>\r\n|\n|\r)"
_END = re.compile(_LINE + _LINE)
"""The blank line after an event; there are three kinds of line endings."""
_NEAR = 3
"""Bytes at the end of the previous piece in which a blank line may begin."""
_LINES = re.compile(rb"\r\n|\n|\r")


class ServerEvent(NamedTuple):
    """One event."""

    raw: bytes
    """Its bytes, with the blank line after it."""

    @property
    def data_lines(self) -> list[bytes]:
        """The lines of its data."""
        return [line[5:] for line in _LINES.split(self.raw) if line.startswith(b"data:")]

    @property
    def data(self) -> bytes | None:
        """Its data; `None` for a comment."""
        lines = self.data_lines
        return b"\n".join(lines) if lines else None

    @property
    def value(self) -> Any:
        """The JSON value of its data; `None` if it has none."""
        data = self.data
        return None if data is None else json_value(data)


class EventReader:
    """Splits the bytes of a stream into events.

    The pieces of an event are joined once it is complete, so the time is linear.
    """

    def __init__(self, most: int | None = None) -> None:
        """Create a reader; of an event longer than `most` bytes, the first bytes are dropped."""
        self._most = most
        self._pieces: list[bytes] = []
        self._size = 0

    @property
    def rest(self) -> bytes:
        """The bytes after the last complete event."""
        self._pieces = [b"".join(self._pieces)]
        return self._pieces[0]

    def feed(self, piece: bytes) -> list[ServerEvent]:
        """Return the events that these bytes complete."""
        near = b"".join(each[-_NEAR:] for each in self._pieces[-_NEAR:])[-_NEAR:]
        if _END.search(near + piece) is None:
            self._pieces.append(piece)
            self._size += len(piece)
            if self._most is not None and self._size > self._most:
                self._pieces, self._size = [near + piece], len(near + piece)
            return []
        text, events, start = b"".join((*self._pieces, piece)), [], 0
        for end in _END.finditer(text, max(0, len(text) - len(piece) - _NEAR)):
            events.append(ServerEvent(text[start : end.end()]))
            start = end.end()
        self._pieces, self._size = [text[start:]], len(text) - start
        return events


def events_of(stream: bytes) -> Iterator[Any]:
    """Yield the JSON values of the events of a stream; the last event may lack its blank line."""
    reader = EventReader()
    for event in (*reader.feed(stream), ServerEvent(reader.rest)):
        if (value := event.value) is not None:
            yield value


_PRELIMINARY = ("response.created", "response.in_progress", "response.queued", "message_start", "ping", "keepalive")
"""Types of events after which a rejection may still follow."""
_MOST = 4 * 1024 * 1024
"""Bytes that are buffered; the first events of Responses repeat the instructions and the tools twice."""


class StreamStart:
    """The first events of a stream."""

    def __init__(self) -> None:
        self.decided = False
        """Whether an event showed that the prompt was accepted or rejected."""
        self.refusal: Overflow | None = None
        """The rejection of the prompt as too long."""
        self._reader = EventReader()
        self._pieces: list[bytes] = []
        self._size = 0

    @property
    def raw(self) -> bytes:
        """The bytes that were read."""
        return b"".join(self._pieces)

    async def read(self, response: UpstreamAnswer) -> None:
        """Read events until one decides, or the stream ends.

        Raises:
            BrokenAnswer: the connection broke.
        """
        while not self.decided and (piece := await response.read()):
            self.feed(piece)

    def feed(self, piece: bytes) -> None:
        """Read bytes."""
        self._pieces.append(piece)
        self._size += len(piece)
        for event in self._reader.feed(piece):
            if (data := event.data) is not None and not _is_preliminary(value := json_value(data)):
                self.decided, self.refusal = True, refusal_in(value)
                return
        self.decided = self._size > _MOST


def refusal_in(event: Any) -> Overflow | None:
    """Return the overflow that an event reports as an error, or `None`."""
    told = isinstance(event, dict) and (event.get("error") or event.get("type") in ("error", "response.failed"))
    return is_overflow(event) if told else None


def _is_preliminary(event: Any) -> bool:
    """Return whether an event has neither content nor an error."""
    if not isinstance(event, dict) or event.get("error"):
        return False
    if "type" in event:
        return event["type"] in _PRELIMINARY
    choices = event.get("choices")
    return isinstance(choices, list) and all(_is_empty(choice) for choice in choices)


def _is_empty(choice: Any) -> bool:
    """Return whether a choice of Chat Completions holds at most a role."""
    if not isinstance(choice, dict) or choice.get("finish_reason"):
        return False
    delta = choice.get("delta")
    return isinstance(delta, dict) and not any(value for key, value in delta.items() if key != "role")
