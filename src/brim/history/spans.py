"""Ranges of turns, and the search for the first of the newest turns that fit, by sums alone."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

TRACE = 12
"""Turns that may stay with their results cleared, before the ones that stay whole."""
_SHARE = 4
"""The part of the room, one in so many, that they may take from whole ones."""

Span = tuple[int, int]
"""A range of turns."""


@dataclass(slots=True)
class PrefixSums:
    """The units of turns, added up from the start, so that any number of them costs the same to weigh."""

    before: Sequence[int]
    """Units of all turns before each."""
    total: int
    lit: Sequence[int]
    """About the units of all turns before each with their results cleared."""
    aside: Mapping[int, int]
    """Units that are not weighed here, by the turn that they are part of."""
    _turns: list[int] = field(init=False)
    _sums: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self._turns = sorted(self.aside)
        self._sums = list(accumulate([self.aside[turn] for turn in self._turns], initial=0))

    def taken(self, first: int) -> int:
        """Return the units of the turns from one on."""
        if first >= len(self.before):
            return 0
        aside = self._sums[-1] - self._sums[bisect_left(self._turns, first)]
        return self.total - self.before[first] - aside

    def first(self, room: int) -> int:
        """Return the first of the newest turns that fit whole and leave room for a trace of those before.

        More room never makes it a later one: what is kept for the trace grows by a part of the room only.
        """
        before, turns, sums, share = self.before, self._turns, self._sums, room // _SHARE
        beside, low, high = self.total - sums[-1] - room, 0, len(before)
        while low < high:
            middle = (low + high) // 2
            over = beside - before[middle] + sums[bisect_left(turns, middle)]
            if over <= 0 and (over + share <= 0 or over + self._trace(middle) <= 0):
                high = middle
            else:
                low = middle + 1
        return low

    def _trace(self, first: int) -> int:
        """Return about the units of the turns before one, with their results cleared."""
        if not first:
            return 0
        until = self.lit[first] if first < len(self.lit) else self.lit[-1]
        return until - self.lit[max(0, first - TRACE)]


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
    """Return what a range is without some turns."""
    edges = [turn for turn in sorted(gone) if span[0] <= turn < span[1]]
    starts = [span[0], *(turn + 1 for turn in edges)]
    return joined(zip(starts, [*edges, span[1]], strict=True))
