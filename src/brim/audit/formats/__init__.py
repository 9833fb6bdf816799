"""The registry of recording formats, one file each, recognized by the content of a record and not by a file name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from brim.audit.fields import first, mapping
from brim.audit.formats import bodies, claude_code, codex, langfuse, langsmith, otel, pi
from brim.audit.trace import RecordingFormat, TraceItem

FORMATS: tuple[RecordingFormat, ...] = (
    otel.FORMAT,
    codex.FORMAT,
    pi.FORMAT,
    claude_code.FORMAT,
    langsmith.FORMAT,
    langfuse.FORMAT,
    bodies.FORMAT,
)
"""The formats, the most distinctive first: a record is read by the first that recognizes it."""
_LISTS = ("data", "runs", "observations", "items", "spans", "traces", "records")
"""Keys under which a document lists its records."""


def found(record: Any) -> Iterator[tuple[str, list[TraceItem]]]:
    """Yield the format of a record and its items; for a document that lists records, those of each.

    Nothing is yielded for a record in none of the formats.
    """
    for each in FORMATS:
        items = each.items(record)
        if items is not None:
            yield each.name, items
            return
    for inner in _listed(record):
        yield from found(inner)


def _listed(record: Any) -> list[Any]:
    if isinstance(record, list):
        return record if all(isinstance(each, Mapping) for each in record) else []
    lists = {key: held for key, held in mapping(record).items() if isinstance(held, list) and held}
    return first(lists, _LISTS) or []
