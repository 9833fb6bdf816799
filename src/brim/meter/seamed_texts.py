"""Texts of which some are chosen and joined, in counts that are made once.

A search asks for the counts of almost the same choices. So each text and each join of two texts is counted once, up to
the seams where counts add up, and the count of a choice is a sum of whole numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
        self._sizes: dict[int, int] = {}
        self._ends: list[Ends | None] = [None] * len(texts)
        self._inner: dict[int, int] = {}
        """The count between the seams of a text."""
        self._seamless: set[int] = set()
        """Texts without seams, such as short ones: they are counted as a part of the join that they stand in."""
        self._joins: dict[tuple[int, ...], int] = {}
        """The count from the last seam of the first of some texts to the last seam of the last."""

    def holds(self, texts: Sequence[str], separator: str) -> bool:
        """Return whether these are its texts and its separator."""
        return self._separator == separator and self.texts == texts

    def size(self, index: int) -> int:
        """Return the count of one text."""
        known = self._sizes.get(index)
        if known is None:
            known = self._sizes[index] = self._meter.count(self.texts[index])
        return known

    def sizes(self, indexes: Sequence[int]) -> list[int]:
        """Return the counts of some texts; new ones are counted together."""
        try:
            return list(map(self._sizes.__getitem__, indexes))
        except KeyError:
            counts = self._meter.count_many([self.texts[index] for index in indexes])
            self._sizes.update(zip(indexes, counts, strict=True))
            return counts

    def count(self, chosen: Sequence[int], before: str = "", after: str = "") -> int:
        """Return the count of some texts, joined, with more text before and after; at least one is chosen."""
        ends = self.ends(chosen, before, after)
        if not ends:
            return self._meter.count_joined(self._pieces(chosen, before, after))
        return self._meter.count(ends[0]) + ends[2] + self._meter.count(ends[1])

    def ends(self, chosen: Sequence[int], before: str = "", after: str = "") -> Ends:
        """Return the ends of that text; nothing if none of the texts has seams."""
        joins: Iterable[tuple[int, ...]] = pairwise(chosen)
        first, last, lead, trail = chosen[0], chosen[-1], before, after
        if self._seamless and not self._seamless.isdisjoint(chosen):
            places = [at for at, index in enumerate(chosen) if index not in self._seamless]
            if not places:
                return ()
            first, last, joins = chosen[places[0]], chosen[places[-1]], _joins(chosen, places)
            lead += "".join([self.texts[index] + self._separator for index in chosen[: places[0]]])
            trail = "".join([self._separator + self.texts[index] for index in chosen[places[-1] + 1 :]]) + trail
        try:
            inner = self._inner[first] + sum(map(self._joins.__getitem__, joins))
        except KeyError:
            self._learn(chosen)
            return self.ends(chosen, before, after)
        start, end = self._ends[first], self._ends[last]
        return lead + start[0], end[1] + trail, inner  # type: ignore[index,misc]  # both have a count

    def _pieces(self, chosen: Sequence[int], before: str, after: str) -> list[str]:
        pieces = [self._separator] * (2 * len(chosen) - 1)
        pieces[::2] = [self.texts[index] for index in chosen]
        return [before, *pieces, after]

    def _learn(self, chosen: Sequence[int]) -> None:
        """Count what is new of a choice."""
        if new := [index for index in chosen if self._ends[index] is None]:
            for index, ends in zip(new, self._meter.ends([self.texts[index] for index in new]), strict=True):
                self._ends[index] = ends
                if ends:
                    self._inner[index] = ends[2]
                else:
                    self._seamless.add(index)
        if len(self._joins) > _PAIRS * len(self.texts):
            self._joins = {}
        joins: Iterable[tuple[int, ...]] = pairwise(chosen)
        if not self._seamless.isdisjoint(chosen):
            joins = _joins(chosen, [at for at, index in enumerate(chosen) if index not in self._seamless])
        unknown = [join for join in joins if join not in self._joins]
        for join, count in zip(unknown, self._meter.count_many(list(map(self._join, unknown))), strict=True):
            self._joins[join] = count + self._inner[join[-1]]

    def _join(self, texts: tuple[int, ...]) -> str:
        """Return the text from the last seam of the first of some texts to the first seam of the last."""
        first, *between, last = texts
        pieces = [self._ends[first][1], *[self.texts[index] for index in between], self._ends[last][0]]  # type: ignore[index,misc]  # both were learned
        return self._separator.join(pieces)


def _joins(chosen: Sequence[int], places: Sequence[int]) -> list[tuple[int, ...]]:
    """Return each two texts of a choice that have seams and follow each other, with the texts between them."""
    return [tuple(chosen[first : last + 1]) for first, last in pairwise(places)]
