"""The conversations of one key, request by request, read again from the positions in the index.

Requests with the same key may belong to several conversations: a trace may have several agents, and two conversations
may begin alike. A request continues the thread whose messages it begins with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from brim.audit.fields import mapping, seconds_in
from brim.audit.formats import found
from brim.audit.index import RecordSpan, key_of
from brim.audit.records import Recording, records
from brim.audit.trace import Place, RecordedRequest, SessionLog, TraceItem, TraceStep, replies

_THREADS = 16
"""Conversations of one key that are open at the same time."""
_COMPARED = 16
"""Messages of a request that are compared with the open conversations."""
_CACHED = 4
"""Parsed records that are cached, because several conversations may be in one."""


class ConversationReader(Protocol):
    """Takes the requests of one conversation."""

    def step(self, step: TraceStep, place: Place) -> None:
        """Take the next request; `place` is its record."""

    def finish(self) -> None:
        """Finish after the last request."""


class RecordReader:
    """Reads records again, and caches the last ones."""

    def __init__(self, recordings: Sequence[Recording]) -> None:
        """Read from these files; spans refer to them by index."""
        self._recordings = recordings
        self._cached: dict[tuple[int, int], list[tuple[str, TraceItem]]] = {}
        """The items of records, by the file and the offset of the record."""

    def items(self, spans: Sequence[RecordSpan]) -> Iterator[tuple[Place, TraceItem]]:
        """Yield the items of a conversation, each with the position of its record."""
        for span in spans:
            for place, items in self._records(span):
                yield from ((place, item) for key, item in items if key == span.key)

    def _records(self, span: RecordSpan) -> Iterator[tuple[Place, list[tuple[str, TraceItem]]]]:
        """Yield the records of a span: the position, and the items with their keys."""
        known = self._cached.get((span.file, span.offset))
        if known is not None:
            yield Place(span.file, span.line), known
            return
        for record in records(self._recordings[span.file], span.offset, span.length, span.line):
            items = [
                (key_of(item, span.file, record.offset, at), item)
                for _, listed in found(record.value)
                for at, item in enumerate(listed)
            ]
            items.sort(key=lambda each: each[1].at or 0)
            if len({key for key, _ in items}) > 1:
                while len(self._cached) >= _CACHED:
                    del self._cached[next(iter(self._cached))]
                self._cached[span.file, record.offset] = items
            yield Place(span.file, record.line), items


class ConversationThreads:
    """The conversations of one key."""

    def __init__(self, begin: Callable[[], ConversationReader], *, problem: Callable[[Place, str], Any]) -> None:
        """Prepare to read.

        Args:
            begin: returns the reader of a new conversation.
            problem: called with each record that cannot be read.
        """
        self._begin, self._problem = begin, problem
        self._threads: list[tuple[list[Any], ConversationReader]] = []
        self._session: tuple[SessionLog, ConversationReader] | None = None
        self._at: float | None = None
        """The time of the last line of the session."""

    def run(self, items: Iterator[tuple[Place, TraceItem]]) -> None:
        """Read the items of the key."""
        for place, item in items:
            try:
                if item.session is not None:
                    self._line(item, place)
                elif item.request is not None:
                    self._request(item, item.request, place)
            except Exception as error:  # A record from a stranger must not end the audit.
                self._problem(place, f"it cannot be read: {type(error).__name__}")
        if self._session is not None:
            log, reader = self._session
            for step in log.rest():
                reader.step(step._replace(at=self._at), place)
            reader.finish()
        for _, reader in self._threads:
            reader.finish()

    def _line(self, item: TraceItem, place: Place) -> None:
        """Read the requests that a line of a session completes."""
        if self._session is None and item.session is not None:
            self._session = item.session(), self._begin()
        assert self._session is not None
        log, reader = self._session
        at = self._at = seconds_in(item.line) or self._at
        for step in log.feed(item.line):
            reader.step(step._replace(at=at), place)

    def _request(self, item: TraceItem, request: RecordedRequest, place: Place) -> None:
        messages = list(request.messages)
        if request.whole:
            reader, kept = self._begin(), 0
            for length in replies(messages):
                reader.step(TraceStep(messages, length, kept, request, item.at), place)
                kept = length
            reader.finish()
            return
        at, kept = self._thread(messages)
        if at is None and item.named:
            at = self._same_run(messages)
        reader = self._threads.pop(at)[1] if at is not None else self._begin()
        if len(self._threads) >= _THREADS:
            self._threads.pop(0)[1].finish()
        reader.step(TraceStep(messages, len(messages), kept, request, item.at), place)
        self._threads.append((messages, reader))

    def _thread(self, messages: list[Any]) -> tuple[int | None, int]:
        """Return the thread that these messages continue, and how many messages they share with it.

        Prefers a thread that is a prefix of the messages, then the one that shares the most, then the newest.
        """
        best: tuple[int | None, int] = (None, 0)
        rank = (False, 0)
        for at, (before, _) in enumerate(self._threads):
            kept = _shared(before, messages)
            whole = kept == len(before)
            if (whole or 2 * kept > len(before)) and (whole, kept) >= rank and kept:
                best, rank = (at, kept), (whole, kept)
        return best

    def _same_run(self, messages: list[Any]) -> int | None:
        """Return the thread that a request continues although it was trimmed or has another system prompt.

        Only used for named conversations; the calls of sub-agents share no messages.
        """
        spoken = [raw for raw in messages if mapping(raw).get("role") not in ("system", "developer")][:_COMPARED]
        counts = [sum(raw in before for raw in spoken) for before, _ in self._threads]
        best = max(range(len(counts)), key=lambda at: (counts[at], at), default=None)
        return best if best is not None and counts[best] else None


def _shared(before: Sequence[Any], now: Sequence[Any]) -> int:
    """Return how many messages two conversations share at their start."""
    differs = (i for i, (one, other) in enumerate(zip(before, now, strict=False)) if one != other)
    return next(differs, min(len(before), len(now)))
