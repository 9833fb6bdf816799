"""The search for how many parts of a text can be kept.

A truncator that ranks its parts by importance has one question left: how many of them fit, markers and joins
included? Sizes only guide the search. Every candidate is built and counted as a whole, and the result is one that was
counted.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from brim.meter.base import Meter
from brim.truncate.base import Cut

_TRUSTED = 4
"""Rounds that follow the sizes. After them every other round halves the interval, so that any input ends soon."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Parts:
    """Parts of a text, ranked by importance, of which the first n can be put together."""

    sizes: Sequence[int]
    """Size of each part, most important first, in any one unit."""
    build: Callable[[int], str]
    """Returns the text that keeps the first n parts, its markers included."""
    total: int
    """Size of the whole text in the unit of `sizes`."""
    least: int = 1
    """The smallest n worth returning."""


def most(text: str, limit: int, meter: Meter, parts: Parts) -> tuple[int, Cut | None]:
    """Return the largest n found whose build counts at most `limit`, with that build; `None` if there is none."""
    before, best = meter.count(text), ""

    def count(n: int) -> int:
        nonlocal best
        made = parts.build(n)
        after = meter.count(made)
        best = made if after <= limit else best
        return after

    n, after = largest(parts.sizes, limit, count, whole=(parts.total, before), least=parts.least)
    return n, None if after is None else Cut(text=best, before=before, after=after)


def largest(
    sizes: Sequence[int], limit: int, count: Callable[[int], int], *, whole: tuple[int, int], least: int = 1
) -> tuple[int, int | None]:
    """Return the largest n found whose count is at most `limit`, with that count; `None` if there is none.

    Args:
        sizes: the size of each part, most important first, in any one unit.
        limit: the most that the first n parts may count together.
        count: returns the count of the first n parts; the last call that was within the limit is that of the result.
        whole: the size of the whole text in the unit of `sizes`, and its count.
        least: the smallest n worth returning.
    """
    reach = list(accumulate(sizes, initial=0))
    best: int | None = None
    low, high = least - 1, len(reach)
    below, above = (0, 0), (whole[0], max(whole[1], limit + 1, 1))
    turn = 0
    while high - low > 1:
        halves = turn >= _TRUSTED and turn % 2
        guess = (low + high) // 2 if halves else bisect_right(reach, _between(below, above, limit)) - 1
        n = min(max(guess, low + 1), high - 1)
        after = count(n)
        if after <= limit:
            best = after
            low, below = n, (reach[n], after)
        else:
            high, above = n, (reach[n], after)
        turn += 1
    return low, best


def _between(below: tuple[int, int], above: tuple[int, int], limit: int) -> float:
    """Return the reach at which the line through two points (reach, count) meets `limit`."""
    (near, least), (far, most) = below, above
    return near + (far - near) * (limit - least) / (most - least)
