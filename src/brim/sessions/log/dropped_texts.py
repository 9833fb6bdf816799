"""Texts that were dropped from a prompt, found again by handle or by their words.

The log has every message, so a dropped text is one that is no longer in the view: entries of kind `dropped` say which
messages those are. A handle is a hash that others may know, so a text is returned only to the session whose log has it.
Entries that no store has, or not yet, are found in memory in the same way.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from brim.errors import UnknownName
from brim.store.base import Body, SearchHit, Store
from brim.store.texts import (
    DROPPED,
    INDEXED,
    SHORTEST,
    SHOWN,
    entry_handle,
    handle_of,
    handles_of,
    said,
    sent_message,
    texts_of,
    turn_text,
)
from brim.store.words import RANKED, excerpt, query_words, ranked, rarest, text_words
from brim.wire import transcript

Line = tuple[str, Body]
"""An entry before it is written: its kind and its body."""


class FoundLine(NamedTuple):
    """A line that a search found."""

    number: int
    """Its number from 1 on."""
    kind: str
    handle: str
    text: str
    rank: float


class MemoryLog:
    """Lines in their order. What finding them takes is made when it is first asked for."""

    def __init__(self, lines: Sequence[Line] = ()) -> None:
        self.lines = [line for line in lines if line[0] in (*INDEXED, DROPPED)]
        self._handles: dict[str, list[int]] = {}
        self._indexed = 0
        """How many lines are found by their handles."""
        self._words: dict[str, list[int]] = {}
        """The lines that have each word."""
        self._searched = 0
        """How many lines are found by their words."""

    def add(self, lines: Iterable[Line]) -> int:
        """Add those of the lines that say something, and return the number of the last one."""
        self.lines += [line for line in lines if line[0] in (*INDEXED, DROPPED)]
        return len(self.lines)

    def text(self, handle: str) -> str | None:
        """Return the text of a handle, or of the start of one, unless it is that of a dropped turn."""
        if len(handle) < SHORTEST:
            return None
        for at in range(self._indexed, len(self.lines)):
            for name in handles_of(*self.lines[at]):
                self._handles.setdefault(name, []).append(at)
        self._indexed = len(self.lines)
        start = handle[:SHOWN]
        known = [start] if start in self._handles else [name for name in self._handles if name.startswith(start)]
        places = sorted({at for name in known for at in self._handles[name]})
        found = (text for at in places for text in texts_of(*self.lines[at]))
        return next((text for text in found if handle_of(text).startswith(handle)), None)

    def search(self, query: str, limit: int) -> list[FoundLine]:
        """Return the lines that share words with a query, the best first, as a store ranks them."""
        for at in range(self._searched, len(self.lines)):
            for word in set(text_words(said(*self.lines[at]))):
                self._words.setdefault(word, []).append(at)
        self._searched = len(self.lines)
        having = {word: self._words.get(word, []) for word in query_words(query)}
        total = sum(kind in INDEXED for kind, _ in self.lines)
        places, rarity = rarest(having, total, max(limit, RANKED))
        texts = [said(*self.lines[at]) for at in places]
        found = [
            FoundLine(at + 1, self.lines[at][0], entry_handle(*self.lines[at]), text, rank)
            for at, text, rank in zip(places, texts, ranked(texts, rarity), strict=True)
            if rank > 0
        ]
        return sorted(found, key=lambda line: (-line.rank, line.handle))


class DroppedTexts:
    """The texts that were dropped from the prompts of one session."""

    def __init__(
        self,
        store: Store | None,
        session: str,
        memory: Callable[[], MemoryLog] = MemoryLog,
        line: Callable[[int], Body | None] = lambda _: None,
    ) -> None:
        """Look in a store, and in memory.

        Args:
            store: where the log is; `None` if it is in memory.
            session: the name of the session.
            memory: returns the log in memory, or the lines that are not written yet.
            line: returns the body of an entry by its number, if it is one of those.
        """
        self._store, self._session, self._memory, self._line = store, session, memory, line
        self._read = 0
        """The last entry of the log that was read for what was dropped."""
        self._turns: dict[str, list[int]] = {}
        """The entries of the messages of each dropped turn, by the handle of the turn."""
        self._numbers: set[int] = set()
        """The entries of all messages that were dropped."""
        self._results: set[str] = set()
        """The handles of messages with a result that was shortened when it came."""

    def text(self, handle: str) -> str:
        """Return the text of a handle, or of the start of one; the messages of a turn as a transcript.

        Raises:
            UnknownName: this session has no such text.
        """
        name, found = self.find(handle)
        self._refresh()
        return transcript(json.loads(found)) if name[:SHOWN] in self._turns else found

    def find(self, handle: str) -> tuple[str, str]:
        """Return a handle by itself or its start, and its text.

        Raises:
            UnknownName: this session has no such text.
        """
        found = self._text(handle)
        if found is None:
            advice = "A handle is b2: and at least five characters; search() finds texts by their words"
            raise UnknownName("kept text", handle, self.handles(), advice)
        return handle_of(found), found

    def texts(self, handles: Iterable[str]) -> dict[str, str]:
        """Return texts by their handles, without those that the session does not have."""
        return {handle_of(text): text for name in handles if (text := self._text(name)) is not None}

    def handles(self) -> list[str]:
        """Return the handles of the turns and results that were dropped, as prompts show them."""
        self._refresh()
        return [*self._turns, *self._results]

    def search(self, query: str, limit: int) -> list[SearchHit]:
        """Return the dropped texts that share words with a query, the best first."""
        self._refresh()
        words, found = query_words(query), self._stored(query, limit)
        known = {each.handle for each in found}
        for line in self._memory().search(query, limit):
            name = line.handle
            if name not in known and self._is_dropped(line.kind, line.number, name):
                hit = SearchHit(name, self._session, line.number, line.kind, excerpt(line.text, words), line.rank)
                found.append(hit)
                known.add(name)
        return found[:limit]

    def includes(self, hit: SearchHit) -> bool:
        """Return whether what a search of the store found was dropped from the prompts of this session."""
        self._refresh()
        return self._is_dropped(hit.kind, hit.number, hit.handle)

    def _stored(self, query: str, limit: int) -> list[SearchHit]:
        """Return the dropped texts in the store that share words with a query: more are asked for until they are."""
        asked = limit
        while self._store is not None:
            hits = self._store.search(query, session=self._session, limit=asked)
            found = [hit for hit in hits if self._is_dropped(hit.kind, hit.number, hit.handle)]
            if len(found) >= limit or len(hits) < asked:
                return found[:limit]
            asked *= 4
        return []

    def _is_dropped(self, kind: str, number: int, handle: str) -> bool:
        return kind != "message" or number in self._numbers or handle[:SHOWN] in self._results

    def _refresh(self) -> None:
        """Read what was dropped since this was last asked."""
        for number, body in self._dropped_since(self._read):
            self._read = max(self._read, number)
            turns = body.get("turns", {})
            self._turns |= turns
            self._numbers.update(entry for numbers in turns.values() for entry in numbers)
            self._results.update(body.get("results", ()))

    def _dropped_since(self, number: int) -> Iterable[tuple[int, Body]]:
        if self._store is not None:
            found = self._store.entries(self._session, kinds=[DROPPED], after=number)
            yield from ((entry.number, entry.body) for entry in found)
        lines = self._memory().lines
        first = number if self._store is None else 0
        for at, (kind, body) in enumerate(lines[first:], start=first + 1):
            if kind == DROPPED:
                yield at if self._store is None else 0, body

    def _text(self, handle: str) -> str | None:
        found = self._store.text(handle, session=self._session) if self._store is not None else None
        if found is None:
            found = self._memory().text(handle)
        return self._turn_text(handle) if found is None else found

    def _turn_text(self, handle: str) -> str | None:
        """Return a dropped turn whose note is still in memory."""
        if not self._memory().lines:
            return None
        self._refresh()
        for name, numbers in self._turns.items():
            if numbers and name.startswith(handle[:SHOWN]):
                text = turn_text([sent_message(body) for body in self._messages(numbers)])
                if handle_of(text).startswith(handle):
                    return text
        return None

    def _messages(self, numbers: Sequence[int]) -> Iterable[Body]:
        for number in numbers:
            body = self._line(number)
            if body is not None:
                yield body
            elif self._store is not None:
                yield from (entry.body for entry in self._store.entries(self._session, after=number - 1, limit=1))
