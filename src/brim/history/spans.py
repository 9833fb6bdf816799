"""Ranges of turns, and the search for the first of the newest turns that fit."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

TRACE = 12
"""Turns that may stay with their results cleared, before those that stay whole."""
_SHARE = 4
"""The most that is left free for them: one part of the room in so many."""

Span = tuple[int, int]
"""A range of turns."""


@dataclass(slots=True)
class PrefixSums:
    """The tokens of turns, summed from the start, so that any range of them is added up at the same cost."""

    before: Sequence[int]
    """Tokens of all turns before each."""
    total: int
    lit: Sequence[int]
    """About the tokens of all turns before each with their results cleared."""
    aside: Mapping[int, int]
    """Tokens that do not count here, by their turn."""
    _turns: list[int] = field(init=False)
    _sums: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self._turns = sorted(self.aside)
        self._sums = list(accumulate([self.aside[turn] for turn in self._turns], initial=0))

    def taken(self, first: int) -> int:
        """Return the tokens of the turns from one on."""
        if first >= len(self.before):
            return 0
        aside = self._sums[-1] - self._sums[bisect_left(self._turns, first)]
        return self.total - self.before[first] - aside

    def first(self, room: int) -> int:
        """Return the first of the newest turns that fit whole and leave room for cleared turns before them.

        More room never makes it a later one: the room for cleared turns grows by a part of it only.
        """
        spare, share, lit = self.total - self._sums[-1] - room, room // _SHARE, self.lit

        def fits(first: int) -> bool:
            over = spare - self.before[first] + self._sums[bisect_left(self._turns, first)]
            return over <= 0 and over + min(share, lit[first] - lit[max(0, first - TRACE)]) <= 0

        return bisect_left(range(len(self.before)), True, key=fits)


def joined(spans: Iterable[Span]) -> list[Span]:
    """Return ranges in order, those that touch or overlap as one, without empty ones; they come sorted."""
    found: list[Span] = []
    for start, stop in spans:
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(stop, found[-1][1]))
        elif start < stop:
            found.append((start, stop))
    return found


def ranges(turns: Sequence[int]) -> list[Span]:
    """Return sorted turns as ranges."""
    return joined((turn, turn + 1) for turn in turns)


def without_turns(span: Span, gone: Collection[int]) -> list[Span]:
    """Return a range without some turns."""
    edges = [turn for turn in sorted(gone) if span[0] <= turn < span[1]]
    starts = [span[0], *(turn + 1 for turn in edges)]
    return joined(zip(starts, [*edges, span[1]], strict=True))
