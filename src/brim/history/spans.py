"""Ranges of turns."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence

Span = tuple[int, int]
"""A range of turns."""


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
    found: list[Span] = []
    start = stop = -1
    for turn in turns:
        if turn != stop:
            found.append((start, stop))
            start = turn
        stop = turn + 1
    return [*found[1:], (start, stop)] if turns else []


def turns_at(positions: Iterable[int], starts: Sequence[int], length: int) -> dict[int, int]:
    """Return the turns that messages belong to, by their first position and their end.

    Args:
        positions: those of the messages, in order.
        starts: the first position of each turn.
        length: how many messages there are.
    """
    found: dict[int, int] = {}
    stop, turn, last = starts[0] if starts else length, -1, len(starts) - 1  # A system prompt is no turn.
    for position in positions:
        if position >= stop:
            turn += 1  # Often it is the next.
            if turn < last and starts[turn + 1] <= position:
                turn = bisect_right(starts, position) - 1
            stop = starts[turn + 1] if turn < last else length
            found[starts[turn]] = stop
    return found
