"""Keep the start and the end of a log, and the lines that report problems.

This is also how texts of unknown kind are cut.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain, zip_longest

from brim.meter.base import Meter
from brim.truncate.base import Cut
from brim.truncate.parts import LONG_LINE, TextParts, from_both_ends, grain
from brim.truncate.picker import finest, pick, room_of

_WARNING = re.compile(r"warn(?<!\wwarn)(?:ings?)?\b")
"""A warning in lower case; an expression that begins with literal letters is found faster."""
_MARKS = 60
"""Characters of the marks around a single line."""
_AROUND = (1, -1, 2, -2)
"""Distances of the lines around a failure that take precedence over more lines from the ends."""


def picked(text: str, limit: int, meter: Meter, marker: str | None) -> Cut | None:
    """Return lines of a text: a failure first, then both ends, warnings, and the lines around failures.

    Only a line that would not fit alone, or is very long, is divided into sentences.
    """
    room = room_of(text, limit, meter)
    whole = min(LONG_LINE, room - _MARKS)
    sizes = [grain(LONG_LINE, room, share) for share in (3, 6, 12)]
    divided = (TextParts(text, longest=size, whole=whole, marker=marker) for size in sizes)
    return finest((_picked(parts, limit, meter) for parts in divided), limit)


def _picked(parts: TextParts, limit: int, meter: Meter) -> Cut | None:
    """Return the line of the last failure, if it fits, and others."""
    failures = parts.failures()
    fixed = [*map(parts.line_of, failures[-1:]), failures[-1:], failures[:1], ()]
    return pick(parts, ([at] for at in _by_importance(parts, failures)), limit, meter, fixed=fixed)


def _by_importance(parts: TextParts, failures: Sequence[int]) -> Iterator[int]:
    """Yield each line once: the end of the text, then alternately lines from both ends and about problems."""
    near = (at + step for step in _AROUND for at in from_both_ends(failures) if 0 <= at + step < len(parts))
    trouble = chain(from_both_ends(failures), from_both_ends(_warnings(parts)), near)
    pairs = zip_longest(from_both_ends(range(len(parts))), trouble)
    seen: set[int] = set()
    for at in chain(parts.ending(), chain.from_iterable(pairs)):
        if at is not None and at not in seen:
            seen.add(at)
            yield at


def _warnings(parts: TextParts) -> list[int]:
    """Return the indexes of lines with a warning, ascending."""
    lower = parts.text.replace("İ", "I").lower()  # The only letter whose lower case is longer.
    return [*dict.fromkeys(parts.part_at(found.start()) for found in _WARNING.finditer(lower))]
