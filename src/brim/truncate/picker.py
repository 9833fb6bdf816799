"""Choose the most important parts of a text, as many as fit with their marks.

Sizes only guide the search: every candidate is rendered and counted as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial

from brim.meter.base import Meter
from brim.truncate.base import Cut
from brim.truncate.json_parts import Parts

_UNEVEN = 4
"""Candidates are collected up to this many times the room, since parts may have fewer tokens per character."""
_TRIES = 16
"""Groups that are tried after the first one that does not fit."""


def room_of(text: str, limit: int, meter: Meter) -> int:
    """Return how many characters of the text count `limit` on average."""
    return len(text) * max(limit, 0) // max(meter.count(text), 1)


def finest(cuts: Iterable[Cut | None], limit: int) -> Cut | None:
    """Return the first cut that fills most of the limit, or else the longest; later cuts have smaller parts."""
    best: Cut | None = None
    for cut in cuts:
        best = cut if cut and (best is None or cut.after > best.after) else best
        if best and best.after * 8 > limit * 7:
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
) -> Cut | None:
    """Return the fixed parts and as many groups of parts as fit, the most important first; `None` if none fits.

    A group that needs half of the room comes last, so that it does not displace the others. After the first
    one that does not fit, smaller ones are tried.

    Args:
        parts: the parts of the text.
        groups: parts that are shown or omitted together, the most important first.
        limit: the most tokens.
        meter: counts.
        fixed: parts that are always shown, as alternatives: the first that fits is used.
        show: renders some parts, or none; by default `parts.show`.
    """
    chosen = _in_order(parts, groups, room_of(parts.text, limit, meter))
    before = meter.count(parts.text)

    def shown(must: Sequence[int], groups: Iterable[Sequence[int]]) -> Cut:
        text = (show or parts.show)({*must, *(part for group in groups for part in group)})
        return Cut(text=text, before=before, after=meter.count(text))

    for must in fixed:
        least = 0 if must or show else 1
        n, best = _largest(chosen, least, partial(shown, must), limit)
        if best and best.text.strip():
            break
    else:
        return None
    kept, tries = chosen[:n], _TRIES
    for group in chosen[n + 1 :]:
        size = sum(map(parts.size, group))
        if tries and size * before <= (limit - best.after) * len(parts.text):
            tries -= 1
            more = shown(must, [*kept, group])
            if more.after <= limit:
                best = more
                kept.append(group)
    return best


def _in_order(parts: Parts, groups: Iterable[Sequence[int]], room: int) -> list[Sequence[int]]:
    """Return the groups that may fit into a room, large ones last."""
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
    return chosen + large


def _largest(
    groups: Sequence[Sequence[int]], least: int, shown: Callable[[Sequence[Sequence[int]]], Cut], limit: int
) -> tuple[int, Cut | None]:
    """Return how many of the first groups fit, at least `least`, with their cut; `None` if they do not fit."""
    best: Cut | None = None
    low, high = least - 1, len(groups) + 1
    while high - low > 1:
        n = (low + high) // 2
        cut = shown(groups[:n])
        if cut.after <= limit:
            low, best = n, cut
        else:
            high = n
    return low, best
