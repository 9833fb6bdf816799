"""Replays the conversations of a part: puts the records of each in order, and hands its requests to the judge.

Requests with the same key need not be one conversation: a trace may have several agents, and two conversations may
begin alike. Each request goes on from the thread whose messages it begins with.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from brim.audit.formats import LOGS, found
from brim.audit.index import Span, key_of, talks
from brim.audit.judge import RECORDED, Bench, Judge, ReplayPlan
from brim.audit.reading import Record, Recording, again
from brim.audit.tally import AuditTotals
from brim.audit.trace import Place, RecordedRequest, SessionLog, TraceItem, TraceStep, replies

_THREADS = 16
"""Conversations of one key that are open at a time."""
_MOST = 64 * 1024 * 1024
"""Bytes of a session's log after which it is begun anew, so that no conversation fills the memory."""
_CACHED = 4
"""Records that are kept as they were read, since several conversations may be in one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Replay:
    """A part that is to be replayed."""

    recordings: tuple[Recording, ...]
    lines: str = field(repr=False)
    """The lines of the index."""
    plan: ReplayPlan
    most: str = ""
    """The greatest key that is taken; empty where all are."""
    weight: int = 0
    """Bytes of its records."""


def replayed(replay: Replay) -> tuple[int, AuditTotals]:
    """Return the bytes of a part, and what was found in its conversations."""
    bench = Bench(replay.plan)
    reader = _Reader(replay.recordings)
    for spans in talks(replay.lines, replay.most):
        _Talk(bench, spans[0]).run(reader.items(spans))
    return replay.weight, bench.tally


class _Reader:
    """Reads records again, and keeps the last ones."""

    def __init__(self, recordings: Sequence[Recording]) -> None:
        self._recordings = recordings
        self._kept: dict[tuple[int, int], list[tuple[str, TraceItem]]] = {}

    def items(self, spans: Sequence[Span]) -> Iterator[tuple[Place, int, TraceItem]]:
        """Yield what belongs to a conversation, with its place and its bytes."""
        for span in spans:
            held = self._kept.get((span.file, span.offset))
            if held is not None:
                yield from ((span.place, span.length, item) for key, item in held if key == span.key)
                continue
            for record in again(self._recordings[span.file], span.offset, span.length):
                place = Place(span.file, span.range, span.line + record.line)
                named = self._named(span, record)
                yield from ((place, record.length, item) for key, item in named if key == span.key)

    def _named(self, span: Span, record: Record) -> list[tuple[str, TraceItem]]:
        at, items = 0, []
        for _, listed in found(record.value):
            for at, item in enumerate(listed):
                items.append((key_of(item, span.file, record.offset, at), item))
        items.sort(key=lambda each: each[1].when)
        if len({key for key, _ in items}) > 1:
            while len(self._kept) >= _CACHED:
                del self._kept[next(iter(self._kept))]
            self._kept[span.file, record.offset] = items
        return items


class _Talk:
    """The conversations of one key."""

    def __init__(self, bench: Bench, first: Span) -> None:
        self._bench = bench
        self._first = first
        self._threads: list[tuple[list[Any], Judge]] = []
        self._log: SessionLog | None = None
        self._judge: Judge | None = None
        self._size = 0

    def run(self, items: Iterator[tuple[Place, int, TraceItem]]) -> None:
        """Replay what belongs to the key."""
        place = self._first.place
        for place, size, item in items:
            try:
                self._take(item, place, size)
            except Exception as error:  # Whatever a stranger's record holds, it does not end the audit.
                self._bench.tally.add(RECORDED, "unreadable")
                self._bench.tally.name(place, f"it cannot be understood: {type(error).__name__}: {error}")
        if self._log is not None and self._judge is not None:
            for step in self._log.rest():
                self._judge.step(step, place)
            self._judge.finish()
        for _, judge in self._threads:
            judge.finish()

    def _take(self, item: TraceItem, place: Place, size: int) -> None:
        if item.log:
            self._line(item, place, size)
        elif item.make is not None:
            self._ask(item.make(), place)

    def _line(self, item: TraceItem, place: Place, size: int) -> None:
        """Take in a line of a session."""
        if self._log is None or self._judge is None:
            self._log, self._judge = LOGS[item.log](), Judge(self._bench, place)
        self._size += size
        if self._size > _MOST:
            self._log.restart()
            self._judge.finish()
            self._judge, self._size = Judge(self._bench, place), size
            self._bench.tally.add(RECORDED, "parted")
        for step in self._log.feed(item.body):
            self._judge.step(step, place)

    def _ask(self, ask: RecordedRequest, place: Place) -> None:
        messages = list(ask.messages)
        if ask.whole:
            judge, kept = Judge(self._bench, place), 0
            for length in replies(messages):
                judge.step(TraceStep(messages, length, kept, ask), place)
                kept = length
            judge.finish()
            return
        at, kept = self._thread(messages)
        judge = self._threads.pop(at)[1] if at is not None else Judge(self._bench, place)
        if len(self._threads) >= _THREADS:
            self._threads.pop(0)[1].finish()
        judge.step(TraceStep(messages, len(messages), kept, ask), place)
        self._threads.append((messages, judge))

    def _thread(self, messages: list[Any]) -> tuple[int | None, int]:
        """Return the thread that messages go on from, the newest of the likeliest, and what they share with it."""
        best: tuple[int | None, int] = (None, 0)
        rank = (False, 0)
        for at, (said, _) in enumerate(self._threads):
            kept = _shared(said, messages)
            whole = kept == len(said)
            if (whole or 2 * kept > len(said)) and (whole, kept) >= rank and kept:
                best, rank = (at, kept), (whole, kept)
        return best


def _shared(before: Sequence[Any], now: Sequence[Any]) -> int:
    """Return how many messages two conversations have in common at their start."""
    count = 0
    for one, other in zip(before, now, strict=False):
        if one != other:
            break
        count += 1
    return count
