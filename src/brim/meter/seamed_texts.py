"""Texts of which some are chosen and joined, in counts that are made once.

A search asks for the counts of almost the same choices. So each text and each join of two texts is counted once, up to
the seams where counts add up, and the count of a choice is a sum of whole numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Protocol

from brim.meter.joined_texts import Ends, JoinedTexts

_PAIRS = 4
"""Joins that are cached for each text: those of a few choices."""


class _Additive(Protocol):
    """A meter whose counts add up at seams."""

    def count(self, text: str) -> int: ...
    def count_many(self, texts: Sequence[str]) -> list[int]: ...
    def count_joined(self, pieces: Sequence[str]) -> int: ...
    def ends(self, texts: Sequence[str]) -> list[Ends]: ...


class SeamedTexts(JoinedTexts):
    """Joined texts whose counts, ends and joins are cached."""

    _meter: _Additive

    def __init__(self, meter: _Additive, texts: Sequence[str], separator: str) -> None:
        super().__init__(meter, texts, separator)
        self._sizes: list[int | None] = [None] * len(texts)
        self._ends: list[Ends | None] = [None] * len(texts)
        self._inner: dict[int, int] = {}
        """The count between the seams of a text; a short text has none."""
        self._joins: dict[tuple[int, int], int] = {}

    def holds(self, texts: Sequence[str], separator: str) -> bool:
        """Return whether these are its texts and its separator."""
        return self._separator == separator and self.texts == texts

    def size(self, index: int) -> int:
        """Return the count of one text."""
        known = self._sizes[index]
        if known is None:
            known = self._sizes[index] = self._meter.count(self.texts[index])
        return known

    def sizes(self, indexes: Sequence[int]) -> list[int]:
        """Return the counts of some texts; new ones are counted together."""
        own = self._sizes
        found = [own[index] for index in indexes]
        if None in found:
            counts = self._meter.count_many([self.texts[index] for index in indexes])
            for index, count in zip(indexes, counts, strict=True):
                own[index] = count
            return counts
        return found  # type: ignore[return-value]  # that is what was asked

    def count(self, chosen: Sequence[int], before: str = "", after: str = "") -> int:
        """Return the count of some texts, joined, with more text before and after; at least one is chosen."""
        ends = self.ends(chosen, before, after)
        if not ends:
            return self._meter.count_joined(self._pieces(chosen, before, after))
        return self._meter.count(ends[0]) + ends[2] + self._meter.count(ends[1])

    def ends(self, chosen: Sequence[int], before: str = "", after: str = "") -> Ends:
        """Return the ends of that text; nothing if one of the texts has no seams."""
        try:
            inner = sum(map(self._inner.__getitem__, chosen)) + sum(map(self._joins.__getitem__, pairwise(chosen)))
        except KeyError:
            return self.ends(chosen, before, after) if self._learn(chosen) else ()
        first, last = self._ends[chosen[0]], self._ends[chosen[-1]]
        return before + first[0], last[1] + after, inner  # type: ignore[index,misc]  # both have a count

    def _pieces(self, chosen: Sequence[int], before: str, after: str) -> list[str]:
        pieces = [self._separator] * (2 * len(chosen) - 1)
        pieces[::2] = [self.texts[index] for index in chosen]
        return [before, *pieces, after]

    def _learn(self, chosen: Sequence[int]) -> bool:
        """Count what is new of a choice, and return whether it can be added up: a text without seams cannot."""
        new = [index for index in chosen if self._ends[index] is None]
        for index, ends in zip(new, self._meter.ends([self.texts[index] for index in new]), strict=True):
            self._ends[index] = ends
            if ends:
                self._inner[index] = ends[2]
        if any(index not in self._inner for index in chosen):
            return False
        if len(self._joins) > _PAIRS * len(self.texts):
            self._joins = {}
        pairs = [pair for pair in pairwise(chosen) if pair not in self._joins]
        self._joins.update(zip(pairs, self._meter.count_many([self._join(*pair) for pair in pairs]), strict=True))
        return True

    def _join(self, left: int, right: int) -> str:
        before, after = self._ends[left], self._ends[right]
        return f"{before[1]}{self._separator}{after[0]}"  # type: ignore[index,misc]  # both were learned
