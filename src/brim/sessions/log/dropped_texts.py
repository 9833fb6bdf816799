"""Texts that were dropped from a prompt, found by their handle or by their words.

The log has every message; entries of kind `dropped` name the messages that are no longer in the prompt. A handle is a
hash, which others may know, so a text is returned only to a session whose log contains it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from brim.errors import UnknownName
from brim.store.base import Body, LogEntry, SearchHit, Store
from brim.store.texts import (
    DROPPED,
    INDEXED,
    SHORTEST,
    SHOWN,
    best_hits,
    handle_of,
    handles_of,
    said,
    sent_message,
    texts_of,
    turn_text,
)
from brim.store.words import RANKED, query_words, rarest, text_words
from brim.wire import transcript

Line = tuple[str, Body]
"""An entry before it is written: its kind and its body."""


class MemoryLog:
    """The log of a session without a store: it can be read and searched like a log in a store.

    The indexes are built when they are first needed.
    """

    def __init__(self) -> None:
        self._lines: list[Line] = []
        self._handles: dict[str, list[int]] = {}
        self._indexed = 0
        """Number of lines in the index of handles."""
        self._words: dict[str, list[int]] = {}
        self._searched = 0
        """Number of lines in the index of words."""

    def append(self, lines: Iterable[Line]) -> int:
        """Add the lines that can be searched, and return the number of the last one."""
        self._lines += [line for line in lines if line[0] in (*INDEXED, DROPPED)]
        return len(self._lines)

    def entries(self, session: str, *, kinds: Sequence[str], after: int = 0) -> list[LogEntry]:
        """Return the entries of these kinds with numbers above `after`."""
        rows = enumerate(self._lines[after:], start=after + 1)
        return [LogEntry(session, number, kind, 0.0, body) for number, (kind, body) in rows if kind in kinds]

    def text(self, handle: str, *, session: str | None = None) -> str | None:  # noqa: ARG002 - the log has one session
        """Return the text of a handle, or of the start of a handle; `None` if there is none."""
        if len(handle) < SHORTEST:
            return None
        for at in range(self._indexed, len(self._lines)):
            for name in handles_of(*self._lines[at]):
                self._handles.setdefault(name, []).append(at)
        self._indexed = len(self._lines)
        start = handle[:SHOWN]
        known = [start] if start in self._handles else [name for name in self._handles if name.startswith(start)]
        places = sorted({at for name in known for at in self._handles[name]})
        found = (text for at in places for text in self._texts(*self._lines[at]))
        return next((text for text in found if handle_of(text).startswith(handle)), None)

    def _texts(self, kind: str, body: Body) -> Iterator[str]:
        """Yield the texts of a line; those of dropped turns are built from the lines of their messages."""
        yield from texts_of(kind, body)
        for numbers in body.get("turns", {}).values() if kind == DROPPED else ():
            yield turn_text([sent_message(self._lines[number - 1][1]) for number in numbers])

    def search(self, query: str, *, session: str, limit: int) -> list[SearchHit]:
        """Return the entries that share words with a query, the best first."""
        for at in range(self._searched, len(self._lines)):
            for word in set(text_words(said(*self._lines[at]))):
                self._words.setdefault(word, []).append(at)
        self._searched = len(self._lines)
        having = {word: self._words.get(word, []) for word in query_words(query)}
        total = sum(kind in INDEXED for kind, _ in self._lines)
        places, rarity = rarest(having, total, max(limit, RANKED))
        return best_hits(
            [LogEntry(session, at + 1, self._lines[at][0], 0.0, self._lines[at][1]) for at in places], rarity, limit
        )


class DroppedTexts:
    """The texts that were dropped from the prompts of one session."""

    def __init__(self, log: Store | MemoryLog, session: str) -> None:
        """Search a log for the texts of a session."""
        self._log, self._session = log, session
        self._read = 0
        """The last log entry up to which dropped texts are known."""
        self._turns: dict[str, list[int]] = {}
        """The entries of each dropped turn, by its handle."""
        self._numbers: set[int] = set()
        """The entries of all messages that were dropped."""
        self._results: dict[str, None] = {}
        """The handles of messages with a result that was shortened when it was added."""

    def text(self, handle: str) -> str:
        """Return the text of a handle, or of the start of a handle; the messages of a turn as a transcript.

        Raises:
            UnknownName: no such text was dropped from this session.
        """
        name, found = self.find(handle)
        self._refresh()
        return transcript(json.loads(found)) if name[:SHOWN] in self._turns else found

    def find(self, handle: str) -> tuple[str, str]:
        """Look up a handle, or the start of one; return the full handle and its text.

        Raises:
            UnknownName: no such text was dropped from this session.
        """
        found = self._log.text(handle, session=self._session)
        if found is None:
            advice = "A handle is b2: and at least five characters; search() finds texts by their words"
            raise UnknownName("kept text", handle, self.handles(), advice)
        return handle_of(found), found

    def texts(self, handles: Iterable[str]) -> dict[str, str]:
        """Return texts by handle, skipping handles that the session does not have."""
        found = (self._log.text(name, session=self._session) for name in handles)
        return {handle_of(text): text for text in found if text is not None}

    def handles(self) -> list[str]:
        """Return the handles of the turns and results that were dropped, as prompts show them."""
        self._refresh()
        return [*self._turns, *self._results]

    def search(self, query: str, limit: int) -> list[SearchHit]:
        """Return the dropped texts that share words with a query, the best first."""
        self._refresh()
        asked = limit
        while True:  # Ask for more until enough of them were dropped.
            hits = self._log.search(query, session=self._session, limit=asked)
            found = [hit for hit in hits if self._is_dropped(hit)]
            if len(found) >= limit or len(hits) < asked:
                return found[:limit]
            asked *= 4

    def includes(self, hit: SearchHit) -> bool:
        """Return whether a search hit in the store was dropped from the prompts of this session."""
        self._refresh()
        return self._is_dropped(hit)

    def _is_dropped(self, hit: SearchHit) -> bool:
        return hit.kind != "message" or hit.number in self._numbers or hit.handle[:SHOWN] in self._results

    def _refresh(self) -> None:
        """Read what was dropped since the last call."""
        for entry in self._log.entries(self._session, kinds=[DROPPED], after=self._read):
            self._read = entry.number
            turns = entry.body.get("turns", {})
            self._turns |= turns
            self._numbers.update(number for numbers in turns.values() for number in numbers)
            self._results |= dict.fromkeys(entry.body.get("results", ()))
