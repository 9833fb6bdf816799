"""The formats of recordings, one file each, told apart by what a record holds and never by the name of its file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from brim.audit.formats import bodies, claude_code, codex, langfuse, langsmith, otel
from brim.audit.trace import SessionLog, TraceItem


class Format(NamedTuple):
    """One format."""

    name: str
    claims: Callable[[Any], bool]
    """Tells whether a record is in this format."""
    items: Callable[[Any], list[TraceItem]]
    """Returns what of it belongs to conversations; nothing of a record that says nothing to a model."""


FORMATS = tuple(
    Format(each.NAME, each.claims, each.items) for each in (otel, codex, claude_code, langsmith, langfuse, bodies)
)
"""The formats, those that can be told most surely first."""
LOGS: Mapping[str, Callable[[], SessionLog]] = {
    claude_code.NAME: claude_code.ClaudeCodeSession,
    codex.NAME: codex.CodexSession,
}
"""The formats that spread one conversation over the lines of a file."""
_LISTS = ("data", "runs", "observations", "items", "spans", "traces", "records")
"""Keys under which a document keeps its records."""


def found(record: Any) -> Iterator[tuple[str, list[TraceItem]]]:
    """Yield the format of a record and its items; of a document that lists records, those of each.

    Nothing is yielded for a record in none of the formats.
    """
    for each in FORMATS:
        if each.claims(record):
            yield each.name, each.items(record)
            return
    held = _listed(record)
    for inner in held or ():
        yield from found(inner)


def _listed(record: Any) -> list[Any] | None:
    if isinstance(record, list):
        return record if record and all(isinstance(each, Mapping) for each in record) else None
    if not isinstance(record, Mapping):
        return None
    return next((record[key] for key in _LISTS if isinstance(record.get(key), list) and record[key]), None)
