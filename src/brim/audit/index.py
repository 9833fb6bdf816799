"""The index of conversations: where the records of each are.

The records of a conversation may be spread over a file, or over several. So the files are read twice: once to find
which records belong together, and once to replay them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from brim.audit.formats import found
from brim.audit.records import Record, Recording, records
from brim.audit.totals import NAMED
from brim.audit.trace import Place, TraceItem, fingerprint

_GAP = 2 * 1024
"""The largest gap in bytes between two lines of a session that are read as one span."""
_EVERY = 200
"""Records after which progress is reported."""


class RecordSpan(NamedTuple):
    """Consecutive records of one conversation."""

    key: str
    at: float
    """Its time; 0 if it has none, so that it stays in the order of the file."""
    file: int
    offset: int
    length: int
    line: int
    """The line on which it begins."""


@dataclass(kw_only=True, slots=True)
class Scanned:
    """The conversations and the problems that were found in a file, or in all files."""

    spans: list[RecordSpan] = field(default_factory=list)
    formats: dict[str, int] = field(default_factory=dict)
    """Records by their format."""
    silent: int = 0
    """Records in a known format that contain no request."""
    bad: int = 0
    """Records that cannot be read."""
    named: list[tuple[Place, str]] = field(default_factory=list)
    """The first unreadable records, each with its problem."""
    silent_files: int = 0
    """Files of a directory without a recording."""

    def merge(self, other: Scanned) -> None:
        """Add what was found in another file."""
        self.spans += other.spans
        for name, count in other.formats.items():
            self.formats[name] = self.formats.get(name, 0) + count
        self.silent += other.silent
        self.bad += other.bad
        self.named = [*self.named, *other.named][:NAMED]

    def conversations(self) -> dict[str, list[RecordSpan]]:
        """Return the spans of each conversation by its key, in order of time."""
        found: dict[str, list[RecordSpan]] = {}
        for span in sorted(self.spans, key=lambda span: (span.at, span.file, span.offset)):
            found.setdefault(span.key, []).append(span)
        return found


def scanned(recording: Recording, file: int, progress: Callable[[int], None]) -> Scanned:
    """Return the conversations in a file, the one with the number `file`; report the bytes that are read."""
    result = Scanned()
    last: dict[str, int] = {}
    for at, record in enumerate(records(recording)):
        try:
            problem = record.problem or _add(result, file, record, last)
        except Exception as error:  # A record from a stranger must not end the audit.
            problem = f"it cannot be read: {type(error).__name__}"
        if problem:
            result.bad += 1
            if len(result.named) < NAMED:
                result.named.append((Place(file, record.line), problem))
        if at % _EVERY == 0:
            progress(record.offset)
    progress(recording.size)
    return result


def _add(result: Scanned, file: int, record: Record, last: dict[str, int]) -> str:
    """Add the spans of a record, and return its problem; `last` has the index of the last span of each key."""
    keys: dict[str, TraceItem] = {}
    known = False
    for name, items in found(record.value) if record.value else ():  # Empty objects are skipped at once.
        known = True
        result.formats[name] = result.formats.get(name, 0) + 1
        result.silent += not items
        for at, item in enumerate(items):
            key = key_of(item, file, record.offset, at)
            if key not in keys or (item.at or 0) < (keys[key].at or 0):
                keys[key] = item
    for key, item in keys.items():
        if item.session and key in last:
            before = result.spans[last[key]]
            if record.offset - before.offset - before.length <= _GAP:
                result.spans[last[key]] = before._replace(length=record.offset + record.length - before.offset)
                continue
        last[key] = len(result.spans)
        result.spans.append(RecordSpan(key, item.at or 0, file, record.offset, record.length, record.line))
    return "" if known else "unknown recording format"


def key_of(item: TraceItem, file: int, offset: int, at: int) -> str:
    """Return a key that is unique across files: sessions are separate per file, items without a key stand alone."""
    if not item.key:
        return fingerprint("alone", file, offset, at)
    return fingerprint("session", file, item.key) if item.session else fingerprint("key", item.key)
