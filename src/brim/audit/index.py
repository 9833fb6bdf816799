"""The index of conversations: where the records of each are, found range by range and stored on disk in parts.

The records of a conversation may be spread over a file, or over several. So the files are read twice: once to find
which records belong together, and once, part by part, to replay them. A part fits in memory.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from brim.audit.formats import found
from brim.audit.records import LINES, Record, Recording, lines_in, records
from brim.audit.totals import NAMED
from brim.audit.trace import Place, TraceItem, fingerprint

_LEAST_PART, _MOST_PART, _PARTS = 1024 * 1024, 16 * 1024 * 1024, 128
"""The bytes of records in a part, at least and at most, and the number of parts to aim at within these bounds."""
_MOST_PARTS = 4096
_GAP = 2 * 1024
"""Bytes that may lie between two lines of a session that are read as one span."""
_BUFFER = 4 * 1024 * 1024
"""Bytes of the index that are buffered before they are written."""


class Span(NamedTuple):
    """Consecutive records of one conversation."""

    key: str
    when: str
    file: int
    range: int
    offset: int
    length: int
    line: int
    """The first line, counted from the start of the range."""

    def written(self) -> str:
        """Return it as a line of the index."""
        return "\t".join(map(str, self)) + "\n"

    @classmethod
    def read(cls, line: str) -> Span:
        """Return the span of a line of the index."""
        key, when, *numbers = line.rstrip("\n").split("\t")
        return cls(key, when, *map(int, numbers))

    @property
    def place(self) -> Place:
        """The position of its first record."""
        return Place(self.file, self.range, self.line)


@dataclass(frozen=True, kw_only=True, slots=True)
class Scan:
    """A range of a file to scan."""

    recording: Recording
    file: int
    range: int
    start: int
    stop: int


@dataclass(kw_only=True, slots=True)
class Scanned:
    """The conversations and the problems that were found in a range, or in all files."""

    scan: Scan | None = None
    spans: list[Span] = field(default_factory=list)
    formats: dict[str, int] = field(default_factory=dict)
    """Records by their format."""
    silent: int = 0
    """Records of a known format that are not sent to a model."""
    bad: int = 0
    """Records that cannot be read."""
    named: list[tuple[Place, str]] = field(default_factory=list)
    """The first of these, each with its problem."""
    lines: int = 0
    """Line ends in the range."""
    silent_files: int = 0
    """Files of a directory that hold no recording."""

    def merge(self, other: Scanned) -> None:
        """Add the counts of another range."""
        for name, count in other.formats.items():
            self.formats[name] = self.formats.get(name, 0) + count
        self.silent += other.silent
        self.bad += other.bad
        self.named = sorted([*self.named, *other.named])[:NAMED]


def scanned(scan: Scan) -> Scanned:
    """Return what a range of a file holds."""
    result = Scanned(scan=scan)
    last: dict[str, int] = {}
    for record in records(scan.recording, scan.start, scan.stop):
        try:
            problem = record.problem or _add(result, scan, record, last)
        except Exception as error:  # A record written by a stranger must not end the audit, whatever it holds.
            problem = f"it cannot be understood: {type(error).__name__}: {error}"
        if problem:
            result.bad += 1
            if len(result.named) < NAMED:
                result.named.append((Place(scan.file, scan.range, record.line), problem))
    if scan.recording.form == LINES:
        result.lines = lines_in(scan.recording, scan.start, scan.stop)
    return result


def _add(result: Scanned, scan: Scan, record: Record, last: dict[str, int]) -> str:
    """Add the spans of a record, and return its problem; `last` has the index of the last span of each key."""
    keys: dict[str, TraceItem] = {}
    known = False
    for name, items in found(record.value):
        known = True
        result.formats[name] = result.formats.get(name, 0) + 1
        result.silent += not items
        for at, item in enumerate(items):
            key = key_of(item, scan.file, record.offset, at)
            if key not in keys or item.when < keys[key].when:
                keys[key] = item
    for key, item in keys.items():
        if item.session and scan.recording.form == LINES and key in last:
            before = result.spans[last[key]]
            if record.offset - before.offset - before.length <= _GAP:
                result.spans[last[key]] = before._replace(length=record.offset + record.length - before.offset)
                continue
        last[key] = len(result.spans)
        result.spans.append(Span(key, item.when, scan.file, scan.range, record.offset, record.length, record.line))
    return "" if known else "it is in none of the recording formats that brim knows"


def key_of(item: TraceItem, file: int, offset: int, at: int) -> str:
    """Return the key of an item among all files: a session belongs to its file, an item without a key is alone."""
    if not item.key:
        return fingerprint("alone", file, offset, at)
    return fingerprint("session", file, item.key) if item.session else fingerprint("key", item.key)


class ConversationIndex:
    """The index of all files, in parts on disk."""

    def __init__(self, spool: str, size: int) -> None:
        wanted = min(max(size // _PARTS, _LEAST_PART), _MOST_PART)
        self._count = min(max(1, -(-size // wanted)), _MOST_PARTS)
        self._spool = spool
        self._weights = [0] * self._count
        self._waiting: dict[int, list[str]] = {}
        self._buffered = 0

    @property
    def weight(self) -> int:
        """Bytes of all records."""
        return sum(self._weights)

    def add(self, spans: Sequence[Span]) -> None:
        """Add spans."""
        for span in spans:
            part, line = int(span.key[:8], 16) % self._count, span.written()
            self._weights[part] += span.length
            self._waiting.setdefault(part, []).append(line)
            self._buffered += len(line)
        if self._buffered > _BUFFER:
            self.flush()

    def flush(self) -> None:
        """Write the buffer to disk."""
        for part, lines in self._waiting.items():
            with open(self._path(part), "a", encoding="utf-8") as file:
                file.writelines(lines)
        self._waiting, self._buffered = {}, 0

    def parts(self) -> Iterator[tuple[int, str]]:
        """Yield each part that is not empty, the largest first: its bytes of records, and its lines."""
        for part in sorted(range(self._count), key=lambda each: (-self._weights[each], each)):
            if self._weights[part]:
                with open(self._path(part), encoding="utf-8") as file:
                    yield self._weights[part], file.read()

    def _path(self, part: int) -> str:
        return os.path.join(self._spool, f"part.{part:04d}")


def conversations(lines: str, last_key: str = "") -> Iterator[list[Span]]:
    """Yield the spans of each conversation of a part in the order of time, conversations in the order of the files.

    `last_key` is the greatest key that is included; empty if all are.
    """
    by_key: dict[str, list[Span]] = {}
    for line in lines.splitlines():
        span = Span.read(line)
        if not last_key or span.key <= last_key:
            by_key.setdefault(span.key, []).append(span)
    for spans in by_key.values():
        spans.sort(key=lambda span: (span.when, span.file, span.range, span.offset))
    yield from sorted(by_key.values(), key=lambda spans: (spans[0].file, spans[0].offset, spans[0].key))
