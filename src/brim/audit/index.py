"""Where each conversation stands in the files: found range by range, kept on disk in parts that each fit into memory.

A conversation may be spread over a file, or over several. So the files are read twice: once to see what belongs to
what, and once, part by part, to replay it. What lies between is an index of some bytes a record.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from brim.audit.formats import found
from brim.audit.reading import LINES, Record, Recording, lines_in, records
from brim.audit.trace import Place, TraceItem, mark

_LEAST_PART, _MOST_PART, _PARTS = 1024 * 1024, 16 * 1024 * 1024, 128
"""Bytes of records that a part should have, and how many parts there should be as long as these bounds allow it."""
_MOST_PARTS = 4096
_GAP = 2 * 1024
"""Bytes of other things that may lie between two lines of a session that are read as one span."""
NAMED = 20
"""Records that are named of those that cannot be read."""
_HELD = 4 * 1024 * 1024
"""Bytes of the index that wait in memory to be written."""


class Span(NamedTuple):
    """Records of one conversation that stand together."""

    key: str
    when: str
    file: int
    range: int
    offset: int
    length: int
    line: int
    """The first line, counted from that of the range."""

    def written(self) -> str:
        """Return it as a line of the index."""
        return f"{self.key}\t{self.when}\t{self.file}\t{self.range}\t{self.offset}\t{self.length}\t{self.line}\n"

    @classmethod
    def read(cls, line: str) -> Span:
        """Return what a line of the index says."""
        key, when, *numbers = line.rstrip("\n").split("\t")
        return cls(key, when, *map(int, numbers))

    @property
    def place(self) -> Place:
        """Where its first record stands."""
        return Place(self.file, self.range, self.line)


@dataclass(frozen=True, kw_only=True, slots=True)
class Scan:
    """A range of a file that is to be looked through."""

    recording: Recording
    file: int
    range: int
    start: int
    stop: int


@dataclass(kw_only=True, slots=True)
class Scanned:
    """What was found in a range."""

    scan: Scan
    spans: list[Span] = field(default_factory=list)
    formats: dict[str, int] = field(default_factory=dict)
    """Records by their format."""
    silent: int = 0
    """Records of a known format that say nothing to a model."""
    bad: int = 0
    """Records that cannot be read."""
    named: list[tuple[Place, str]] = field(default_factory=list)
    """The first of those, with what is wrong."""
    lines: int = 0
    """Line ends in the range."""


def scanned(scan: Scan) -> Scanned:
    """Return what a range of a file holds."""
    made = Scanned(scan=scan)
    open_spans: dict[str, int] = {}
    for record in records(scan.recording, scan.start, scan.stop):
        try:
            problem = record.problem or _noted(made, record, open_spans)
        except Exception as error:  # Whatever a stranger's line holds, it does not end the audit.
            problem = f"it cannot be understood: {type(error).__name__}: {error}"
        if problem:
            made.bad += 1
            if len(made.named) < NAMED:
                made.named.append((Place(scan.file, scan.range, record.line), problem))
    if scan.recording.form == LINES:
        made.lines = lines_in(scan.recording, scan.start, scan.stop)
    return made


def _noted(made: Scanned, record: Record, open_spans: dict[str, int]) -> str:
    """Take note of a record, and return what is wrong with it."""
    keys: dict[str, TraceItem] = {}
    known = False
    for name, items in found(record.value):
        known = True
        made.formats[name] = made.formats.get(name, 0) + 1
        made.silent += not items
        for at, item in enumerate(items):
            key = key_of(item, made.scan.file, record.offset, at)
            if key not in keys or item.when < keys[key].when:
                keys[key] = item
    for key, item in keys.items():
        span = Span(key, item.when, made.scan.file, made.scan.range, record.offset, record.length, record.line)
        last = open_spans.get(key) if item.log and made.scan.recording.form == LINES else None
        if last is not None and span.offset - made.spans[last].offset - made.spans[last].length <= _GAP:
            before = made.spans[last]
            made.spans[last] = before._replace(length=span.offset + span.length - before.offset)
        else:
            open_spans[key] = len(made.spans)
            made.spans.append(span)
    return "" if known else "no recording that brim knows is in it"


def key_of(item: TraceItem, file: int, offset: int, at: int) -> str:
    """Return the key of an item among those of all files: a session belongs to its file, some stand alone."""
    if not item.key:
        return mark("alone", file, offset, at)
    return mark("log", file, item.key) if item.log else mark("key", item.key)


class ConversationIndex:
    """The index of all files, in parts on disk."""

    def __init__(self, spool: str, size: int) -> None:
        wanted = min(max(size // _PARTS, _LEAST_PART), _MOST_PART)
        self._count = min(max(1, -(-size // wanted)), _MOST_PARTS)
        self._spool = spool
        self._weights = [0] * self._count
        self._waiting: dict[int, list[str]] = {}
        self._held = 0

    def add(self, spans: Sequence[Span]) -> None:
        """Take spans in."""
        for span in spans:
            part, line = int(span.key[:8], 16) % self._count, span.written()
            self._weights[part] += span.length
            self._waiting.setdefault(part, []).append(line)
            self._held += len(line)
        if self._held > _HELD:
            self.flush()

    def flush(self) -> None:
        """Write what waits."""
        for part, lines in self._waiting.items():
            with open(self._path(part), "a", encoding="utf-8") as file:
                file.writelines(lines)
        self._waiting, self._held = {}, 0

    def parts(self) -> Iterator[tuple[int, str]]:
        """Yield each part that has something, the heaviest first: its bytes of records, and its lines."""
        for part in sorted(range(self._count), key=lambda each: (-self._weights[each], each)):
            if self._weights[part]:
                with open(self._path(part), encoding="utf-8") as file:
                    yield self._weights[part], file.read()

    def _path(self, part: int) -> str:
        return os.path.join(self._spool, f"part.{part:04d}")


def talks(lines: str, most: str = "") -> Iterator[list[Span]]:
    """Yield the spans of each conversation of a part, in the order of time; conversations as they begin.

    `most` is the greatest key that is taken, empty where all are.
    """
    by_key: dict[str, list[Span]] = {}
    for line in lines.splitlines():
        span = Span.read(line)
        if not most or span.key <= most:
            by_key.setdefault(span.key, []).append(span)
    for spans in by_key.values():
        spans.sort(key=lambda span: (span.when, span.file, span.range, span.offset))
    yield from sorted(by_key.values(), key=lambda spans: (spans[0].file, spans[0].offset, spans[0].key))
