"""What a summariser is given to read, fitted to what it can read.

A summariser that overflows helps nobody, and one that is shown the end alone forgets the rest. So the longest texts are
cut first, all to the same length, and where even that is not enough, facts and the best sentences stand for the whole.
"""

from __future__ import annotations

from collections.abc import Sequence

from brim.errors import DoesNotFit
from brim.history.compact.extract import condensed
from brim.history.compact.facts import Said
from brim.history.compact.secrets import redact
from brim.meter.base import BaseMeter
from brim.truncate import truncator

_LEAST = 24
"""Units that a text is left with at the least when it is cut; with less it says nothing."""
_JOIN = "\n\n"


def fitted(said: Sequence[Said], previous: str, limit: int, meter: BaseMeter) -> str:
    """Return the last summary and what was said since, without secrets, in at most `limit` units."""
    earlier = [f"summary so far:\n{redact(previous)}"] if previous else []
    texts = [*earlier, *(f"{one.role}: {redact(one.text)}" for one in said)]
    whole = _JOIN.join(texts)
    if meter.load(whole) <= limit:
        return whole
    sizes = [meter.load(text) + meter.load(_JOIN) for text in texts]
    level = _level(sizes, limit)
    while level >= _LEAST:
        cut = _JOIN.join(_cut(text, size, level, meter) for text, size in zip(texts, sizes, strict=True))
        if meter.load(cut) <= limit:
            return cut
        level -= 1 + level // 20
    return condensed(said, limit, meter, previous)


def _cut(text: str, size: int, level: int, meter: BaseMeter) -> str:
    if size <= level:
        return text
    try:
        return truncator("shape").truncate(text, level - meter.load(_JOIN), meter).text
    except DoesNotFit:
        return meter.head(text, level - meter.load(_JOIN))


def _level(sizes: Sequence[int], room: int) -> int:
    """Return the most that each may have for all of them to fit together."""
    left, count = room, len(sizes)
    for size in sorted(sizes):
        if size * count > left:
            return max(0, left // count)
        left -= size
        count -= 1
    return max(sizes, default=0)
