"""Keep the signatures of source code and leave out bodies that are too long.

A reader needs to know what can be called with which arguments. So lines above an indented block come first, then other
lines outside of bodies, then bodies, small ones first. Indentation alone shows them, in any language.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from brim.meter.base import Meter
from brim.truncate.base import Cut
from brim.truncate.parts import TextParts
from brim.truncate.picker import pick

_CONTAINER = re.compile(
    r"\b(?:class|interface|struct|enum|union|record|namespace|module|mod|package|impl|trait|object|protocol|extension"
    r"|extern)\b"
)
"""A line above a block of definitions."""
_CLIP = 200
"""Characters of a line, from its start, that are searched for these words."""


class _Block(NamedTuple):
    """An indented block around a line."""

    head: int
    """The line above it."""
    margin: int
    body: bool
    """Whether it is the body of a function, or in one."""


def picked(parts: TextParts, limit: int, meter: Meter) -> Cut | None:
    """Return signatures, then other lines outside of bodies, then bodies; the last failure comes first."""
    margins = [_margin(parts.part(line)) for line in range(len(parts))]
    failures = [line for line in parts.failures(code=True) if margins[line] == 0]  # Indented ones are comments.
    return pick(parts, ([line] for line in _ranked(parts, margins)), limit, meter, fixed=[failures[-1:]])


def _ranked(parts: TextParts, margins: Sequence[int | None]) -> list[int]:
    """Return the lines that are not blank, the most important first."""
    filled = [(line, margin) for line, margin in enumerate(margins) if margin is not None]
    above: list[_Block] = []
    bodies: dict[int, list[int]] = {}
    ranks: dict[int, tuple[int, int]] = {}
    for (line, margin), (_, below) in pairwise([*filled, (len(parts), 0)]):
        while above and above[-1].margin >= margin:
            above.pop()
        function = next((block.head for block in above if block.body), None)
        if function is None:
            ranks[line] = (0 if below > margin else 1, margin)
        else:
            bodies.setdefault(function, []).append(line)
        if below > margin:
            above.append(_Block(line, margin, not _CONTAINER.search(parts.part(line)[:_CLIP])))
    for lines in bodies.values():
        ranks |= dict.fromkeys(lines, (2, sum(map(parts.size, lines))))
    return sorted(ranks, key=lambda line: (ranks[line], line))


def _margin(line: str) -> int | None:
    """Return the indentation of a line; `None` for a blank one."""
    bare = line.lstrip()
    return len(line[: len(line) - len(bare)].expandtabs(4)) if bare else None
