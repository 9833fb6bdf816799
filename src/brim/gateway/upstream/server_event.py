"""The events of a stream: where each ends, and its data."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from brim.gateway.client.body import json_value

_LINE = rb"(?>\r\n|\n|\r)"
_END = re.compile(_LINE + _LINE)
"""The blank line after an event; lines end in one of three ways."""
_NEAR = 3
"""Bytes before a piece in which the blank line may begin."""
_LINES = re.compile(rb"\r\n|\n|\r")


class ServerEvent(NamedTuple):
    """One event."""

    raw: bytes
    """All of its bytes, with the blank line after it."""

    @property
    def data_lines(self) -> list[bytes]:
        """The lines of its data."""
        return [line[5:] for line in _LINES.split(self.raw) if line.startswith(b"data:")]

    @property
    def data(self) -> bytes | None:
        """Its data; `None` if it has none, as a comment."""
        lines = self.data_lines
        return b"\n".join(lines) if lines else None

    @property
    def value(self) -> Any:
        """The JSON value of its data; `None` if it has none."""
        data = self.data
        return None if data is None else json_value(data)


class EventReader:
    """Splits the bytes of a stream into events, wherever they were split on the way.

    The pieces of an event are joined once it is complete, so a long one costs no more than its length.
    """

    def __init__(self, most: int | None = None) -> None:
        """Begin; of an event that is longer than `most` bytes, the first are forgotten."""
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
    """Yield the JSON values of the events of a stream, the last one also if no blank line follows it."""
    reader = EventReader()
    for event in (*reader.feed(stream), ServerEvent(reader.rest)):
        if (value := event.value) is not None:
            yield value
