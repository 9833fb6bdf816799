"""Entries in memory, found by handles and words as in a store: those of a session without one, or not written yet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from brim.store.base import Body
from brim.store.texts import DROPPED, INDEXED, SHORTEST, SHOWN, entry_handle, handle_of, handles_of, said, texts_of
from brim.store.words import RANKED, query_words, ranked, rarest, text_words

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
