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
    count: Callable[[int], int] | None = None
    """Returns the count of that text without making it; by default it is made and counted."""
    total: int
    """Size of the whole text in the unit of `sizes`."""
    least: int = 1
    """The smallest n worth returning."""


def most(text: str, limit: int, meter: Meter, parts: Parts) -> tuple[int, Cut | None]:
    """Return the largest n found whose build counts at most `limit`, with that build; `None` if there is none."""
    before = meter.count(text)
    reach = list(accumulate(parts.sizes, initial=0))
    best: tuple[str | None, int] | None = None
    low, high = parts.least - 1, len(reach)
    below, above = (0, 0), (parts.total, max(before, limit + 1, 1))
    turn = 0
    while high - low > 1:
        halves = turn >= _TRUSTED and turn % 2
        guess = (low + high) // 2 if halves else bisect_right(reach, _between(below, above, limit)) - 1
        n = min(max(guess, low + 1), high - 1)
        made = parts.build(n) if parts.count is None else None
        after = parts.count(n) if parts.count is not None else meter.count(made or "")
        if after <= limit:
            best = made, after
            low, below = n, (reach[n], after)
        else:
            high, above = n, (reach[n], after)
        turn += 1
    if best is None:
        return low, None
    return low, Cut(text=parts.build(low) if best[0] is None else best[0], before=before, after=best[1])


def _between(below: tuple[int, int], above: tuple[int, int], limit: int) -> float:
    """Return the reach at which the line through two points (reach, count) meets `limit`."""
    (near, least), (far, most) = below, above
    return near + (far - near) * (limit - least) / (most - least)
