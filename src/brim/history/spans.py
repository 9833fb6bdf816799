"""Ranges of turns."""

from __future__ import annotations

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
    return joined((turn, turn + 1) for turn in turns)
