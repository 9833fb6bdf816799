"""The choice among the parts of a text: the most important ones, as many as fit with their marks.

Sizes only guide the search. Every candidate is shown and counted as a whole, and the result is one that was counted.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import accumulate

from brim.meter.base import Meter
from brim.truncate.base import Cut
from brim.truncate.parts import Parts

_UNEVEN = 4
"""How much thinner than the whole text the chosen parts may be before a search stops short of the limit."""
_TRIES = 16
"""Groups that are tried behind the first one that does not fit."""
_TRUSTED = 4
"""Rounds that follow the sizes. After them every other round halves the interval, so that any input ends soon."""


def room_of(text: str, limit: int, meter: Meter) -> int:
    """Return how many characters count `limit` if all of the text is as dense as its average."""
    return len(text) * max(limit, 0) // max(meter.count(text), 1)


def finest(cuts: Iterable[Cut | None], limit: int) -> Cut | None:
    """Return the first cut that fills most of the room, or else the fullest; later ones are made of smaller parts."""
    best: Cut | None = None
    for cut in cuts:
        best = cut if cut and (best is None or cut.after > best.after) else best
        if best and best.after * 4 > limit * 3:
            break
    return best


def pick(
    parts: Parts,
    groups: Iterable[Sequence[int]],
    limit: int,
    meter: Meter,
    *,
    fixed: Iterable[Sequence[int]] = ((),),
    show: Callable[[Collection[int]], str] | None = None,
    gaps: bool = True,
) -> Cut | None:
    """Return the fixed parts and as many groups of parts as fit, the most important first; `None` if none fits.

    A group that alone would take half of the room comes last, so that it does not displace the rest. Behind the first
    one that does not fit, smaller ones may.

    Args:
        parts: the parts of the text.
        groups: parts that are shown or omitted together, the most important first.
        limit: the most tokens.
        meter: counts.
        fixed: parts that are shown in any case; the first choice of several that fits.
        show: makes the text of some parts, and of none, if it is not what `parts` show.
        gaps: whether other groups are tried behind one that does not fit.
    """
    room, before = room_of(parts.text, limit, meter), meter.count(parts.text)
    chosen: list[Sequence[int]] = []
    large: list[Sequence[int]] = []
    taken = 0
    for group in groups:
        size = sum(map(parts.size, group))
        if size > room // 2:
            large.append(group)
            continue
        chosen.append(group)
        taken += size
        if taken > _UNEVEN * room:
            break
    chosen += large
    sizes = [sum(map(parts.size, group)) for group in chosen]
    made: dict[int, str] = {}
    for must in fixed:

        def text_of(groups: Iterable[Sequence[int]], must: Sequence[int] = must) -> str:
            return (show or parts.show)({*must, *(part for group in groups for part in group)})

        def count(n: int, text_of: Callable[[Iterable[Sequence[int]]], str] = text_of) -> int:
            made[n] = text_of(chosen[:n])
            return meter.count(made[n])

        total = len(parts.text) - sum(map(parts.size, must))
        n, after = largest(sizes, limit, count, whole=(total, before), least=0 if must or show else 1)
        if after is not None and made[n].strip():
            break
    else:
        return None
    best, kept, tries = made[n], chosen[:n], _TRIES if gaps else 0
    for group, size in zip(chosen[n + 1 :], sizes[n + 1 :], strict=True):
        if not tries or after == limit:
            break
        if size * before <= (limit - after) * len(parts.text):
            tries -= 1
            text = text_of([*kept, group])
            if (more := meter.count(text)) <= limit:
                best, after = text, more
                kept.append(group)
    return Cut(text=best, before=before, after=after)


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
