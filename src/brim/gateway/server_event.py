"""The events of a stream: where each ends, its data, and its bytes with other data in their place."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from brim.gateway.body import json_value

_LINE = rb"(?>\r\n|\n|\r)"
_END = re.compile(_LINE + _LINE)
"""The blank line after an event; lines end in one of three ways."""
_LINES = re.compile(rb"\r\n|\n|\r")


class ServerEvent(NamedTuple):
    """One event."""

    raw: bytes
    """All of its bytes, with the blank line after it."""

    @property
    def data(self) -> bytes | None:
        """Its data; `None` if it has none, as a comment."""
        lines = [line[5:] for line in _LINES.split(self.raw) if line.startswith(b"data:")]
        return b"\n".join(lines) if lines else None

    @property
    def value(self) -> Any:
        """The JSON value of its data; `None` if it has none."""
        data = self.data
        return None if data is None else json_value(data)

    def with_value(self, value: Any) -> bytes:
        """Return the bytes of the event with another value."""
        kept = [line for line in _LINES.split(self.raw) if line and not line.startswith(b"data:")]
        return b"".join(line + b"\n" for line in kept) + _data(value)


def event_bytes(value: Mapping[str, Any]) -> bytes:
    """Return the bytes of an event of a value; its name is the type of the value, if it has one."""
    name = value.get("type")
    return (f"event: {name}\n".encode() if isinstance(name, str) else b"") + _data(value)


def _data(value: Any) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


class EventReader:
    """Splits the bytes of a stream into events, wherever they were split on the way."""

    def __init__(self) -> None:
        self.rest = b""
        """The bytes after the last complete event."""

    def feed(self, piece: bytes) -> list[ServerEvent]:
        """Return the events that these bytes complete."""
        text, events, start = self.rest + piece, [], 0
        for end in _END.finditer(text, max(0, len(self.rest) - 3)):
            events.append(ServerEvent(text[start : end.end()]))
            start = end.end()
        self.rest = text[start:]
        return events


def events_of(stream: bytes) -> Iterator[Any]:
    """Yield the JSON values of the events of a stream, the last one also if no blank line follows it."""
    reader = EventReader()
    for event in (*reader.feed(stream), ServerEvent(reader.rest)):
        if (value := event.value) is not None:
            yield value
