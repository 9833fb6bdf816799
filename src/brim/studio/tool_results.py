"""The results of tools in a log, each with the call that it answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from brim.errors import BrimError
from brim.meter import DEFAULT, BaseMeter, catalogue, meter
from brim.store.base import LogEntry
from brim.wire import format_of, wire


class ToolResult(NamedTuple):
    """One result of a tool."""

    tool: str
    arguments: str
    text: str


def meter_of(model: str | None) -> BaseMeter:
    """Return the meter of a model, or the default one if the catalogue does not know it."""
    return meter(model) if model and catalogue.lookup(model) is not None else meter(DEFAULT)


def results_in(entry: LogEntry, calls: dict[str, tuple[str, str]]) -> Iterator[ToolResult]:
    """Yield the results of a message; its calls are added to `calls`: by their ids, the tool and the arguments."""
    raw = entry.body.get("sent", entry.body.get("message"))
    if not isinstance(raw, dict):
        return
    try:
        message = wire(format_of([raw]) or "openai").read(raw, 0)
    except BrimError:
        return
    last = message.results[0] if message.results else ""
    for piece in message.pieces:
        if piece.kind == "call":
            calls[piece.id] = piece.name, piece.text
        elif piece.kind == "result":
            last = piece.id
        elif piece.kind == "output" and message.answers(piece):
            yield ToolResult(*calls.get(piece.id or last, ("", "")), piece.text)
