"""The registry of recording formats, one file each, recognized by the content of a record and not by a file name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from brim.audit.fields import first, mapping
from brim.audit.formats import bodies, claude_code, codex, langfuse, langsmith, otel
from brim.audit.trace import TraceItem

FORMATS = (otel, codex, claude_code, langsmith, langfuse, bodies)
"""The formats, the most specific first: the first format that recognizes a record reads it."""
_LISTS = ("data", "runs", "observations", "items", "spans", "traces", "records")
"""Keys under which a document lists its records."""


def found(record: Any) -> Iterator[tuple[str, list[TraceItem]]]:
    """Yield the format and the items of a record, or of each record in a list; nothing if no format recognizes it."""
    for each in FORMATS:
        items = each.items(record)
        if items is not None:
            yield each.NAME, items
            return
    for inner in _listed(record):
        yield from found(inner)


def _listed(record: Any) -> list[Any]:
    if isinstance(record, list):
        return record if all(isinstance(each, Mapping) for each in record) else []
    lists = {key: held for key, held in mapping(record).items() if isinstance(held, list) and held}
    return first(lists, _LISTS) or []
