"""The index of conversations: where the records of each are. The files are scanned range by range.

The records of a conversation may be spread over a file, or over several. So the files are read twice: once to find
which records belong together, and once to replay them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from brim.audit.formats import found
from brim.audit.records import LINES, Record, Recording, records
from brim.audit.totals import NAMED
from brim.audit.trace import Place, TraceItem, fingerprint

_PART = 2 * 1024 * 1024
"""Bytes of records that one job replays."""
_GAP = 2 * 1024
"""The largest gap in bytes between two lines of a session that are read as one span."""


class RecordSpan(NamedTuple):
    """Consecutive records of one conversation."""

    key: str
    at: float
    """Its time; 0 if it has none, so that it stays in the order of the file."""
    file: int
    offset: int
    length: int


class Scan(NamedTuple):
    """A range of a file to scan."""

    recording: Recording
    file: int
    start: int
    stop: int


@dataclass(kw_only=True, slots=True)
class Scanned:
    """The conversations and the problems that were found in a range, or in all files."""

    file: int = 0
    size: int = 0
    """Bytes of the range."""
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
        """Add the counts of another range."""
        for name, count in other.formats.items():
            self.formats[name] = self.formats.get(name, 0) + count
        self.silent += other.silent
        self.bad += other.bad
        self.named = sorted([*self.named, *other.named])[:NAMED]


def scanned(scan: Scan) -> Scanned:
    """Return the conversations in a range of a file."""
    result = Scanned(file=scan.file, size=scan.stop - scan.start)
    last: dict[str, int] = {}
    for record in records(scan.recording, scan.start, scan.stop):
        try:
            problem = record.problem or _add(result, scan, record, last)
        except Exception as error:  # A record from a stranger must not end the audit.
            problem = f"it cannot be read: {type(error).__name__}: {error}"
        if problem:
            result.bad += 1
            if len(result.named) < NAMED:
                result.named.append((Place(scan.file, record.offset), problem))
    return result


def _add(result: Scanned, scan: Scan, record: Record, last: dict[str, int]) -> str:
    """Add the spans of a record, and return its problem; `last` has the index of the last span of each key."""
    keys: dict[str, TraceItem] = {}
    known = False
    for name, items in found(record.value) if record.value else ():  # Empty objects are skipped at once.
        known = True
        result.formats[name] = result.formats.get(name, 0) + 1
        result.silent += not items
        for at, item in enumerate(items):
            key = key_of(item, scan.file, record.offset, at)
            if key not in keys or (item.at or 0) < (keys[key].at or 0):
                keys[key] = item
    for key, item in keys.items():
        if item.session and scan.recording.form == LINES and key in last:
            before = result.spans[last[key]]
            if record.offset - before.offset - before.length <= _GAP:
                result.spans[last[key]] = before._replace(length=record.offset + record.length - before.offset)
                continue
        last[key] = len(result.spans)
        result.spans.append(RecordSpan(key, item.at or 0, scan.file, record.offset, record.length))
    return "" if known else "it is in none of the recording formats that brim knows"


def key_of(item: TraceItem, file: int, offset: int, at: int) -> str:
    """Return a key that is unique across files: sessions are separate per file, items without a key stand alone."""
    if not item.key:
        return fingerprint("alone", file, offset, at)
    return fingerprint("session", file, item.key) if item.session else fingerprint("key", item.key)


def parts(conversations: Iterable[list[RecordSpan]]) -> Iterator[list[list[RecordSpan]]]:
    """Yield the conversations that one job replays, the spans of each in order of time."""
    part: list[list[RecordSpan]] = []
    length = 0
    for spans in conversations:
        part.append(sorted(spans))
        length += sum(span.length for span in spans)
        if length >= _PART:
            yield part
            part, length = [], 0
    if part:
        yield part
