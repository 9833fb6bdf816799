"""Keep the signatures of source code and leave out bodies that are too long.

A reader needs to know what can be called with which arguments. So signatures and imports come first, then other lines
outside of bodies, then the first line of each docstring or comment, then small bodies.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from brim.meter.base import Meter
from brim.truncate.base import Cut
from brim.truncate.parts import TextParts
from brim.truncate.picker import pick

_CONTAINER = re.compile(
    r"\b(?:class|interface|struct|enum|union|record|namespace|module|mod|package|impl|trait|object|protocol|extension"
    r"|extern)\b"
)
_IMPORT = re.compile(r"(?:from|import|#include|using|use|package|require)\b|.{0,80}\brequire\(")
_COMMENTS = ('"""', "'''", 'r"""', "#", "//", "/*", "--", ";;")
_LONGEST_HEAD = 16
"""Maximum lines of a function's parameters; longer parentheses are taken for a list of values."""
_CLIP = 200
"""Characters of a line, from its start, that are searched for brackets and keywords."""


class Definition(NamedTuple):
    """A definition: its head, and its body, which is empty for a class and similar blocks."""

    head: int
    """The first line of its head."""
    start: int
    """The first line of its body."""
    stop: int
    """The line after its body."""


def picked(parts: TextParts, limit: int, meter: Meter) -> Cut | None:
    """Return signatures and imports, then other lines outside of bodies, then bodies; the last failure comes first."""
    margins = indents(parts)
    failures = [line for line in parts.failures(code=True) if margins[line] == 0]  # Indented ones are comments.
    order = _ranked(parts, margins)
    return pick(parts, ([line] for line in order), limit, meter, fixed=[failures[-1:]], gaps=False)


def _ranked(parts: TextParts, margins: Sequence[int | None]) -> list[int]:
    """Return the lines that are not blank, the most important first."""
    found = sorted(definitions(parts, margins), key=lambda each: parts.starts[each.stop] - parts.starts[each.start])
    ranks: dict[int, tuple[int, int]] = {}
    for place, each in enumerate(found):
        told = parts.part(each.start).lstrip().startswith(_COMMENTS) if each.start < each.stop else False
        ranks.update(dict.fromkeys(range(each.start, each.stop), (4, place)))
        ranks.update({each.start: (3, place)} if told else {})
    for each in found:
        ranks.update(dict.fromkeys(range(each.head, each.start), (0, margins[each.head] or 0)))
    for line, margin in enumerate(margins):
        if margin is not None and line not in ranks:
            ranks[line] = (1 if _IMPORT.match(parts.part(line)) else 2, margin)
    return sorted((line for line in ranks if margins[line] is not None), key=lambda line: (ranks[line], line))


def indents(parts: TextParts) -> list[int | None]:
    """Return the indentation of each line; `None` for a blank one."""
    found: list[int | None] = []
    for line in range(len(parts)):
        text = parts.part(line)
        bare = text.lstrip()
        found.append(len(text[: len(text) - len(bare)].expandtabs(4)) if bare else None)
    return found


def definitions(parts: TextParts, margins: Sequence[int | None]) -> Iterator[Definition]:
    """Yield each line that has indented lines below it; members of a class or similar block are definitions too."""
    filled = [(line, margin) for line, margin in enumerate(margins) if margin is not None]
    at = 0
    while at < len(filled) - 1:
        head, margin = filled[at]
        at = _past_head(parts, filled, at)
        if at >= len(filled) or filled[at][1] <= margin:
            continue
        start = filled[at - 1][0] + 1
        if not _CONTAINER.search(parts.part(head)[:_CLIP]):
            while at < len(filled) and filled[at][1] > margin:
                at += 1
        yield Definition(head, start, filled[at - 1][0] + 1)


def _past_head(parts: TextParts, filled: Sequence[tuple[int, int]], at: int) -> int:
    """Return the place after a line and its parameters on further lines."""
    line = parts.part(filled[at][0])[:_CLIP].rstrip()
    is_open = line.count("(") - line.count(")")
    if is_open <= 0 or not line.endswith(("(", ",")):
        return at + 1
    for end in range(at + 1, min(at + _LONGEST_HEAD, len(filled))):
        line = parts.part(filled[end][0])[:_CLIP]
        is_open += line.count("(") - line.count(")")
        if is_open <= 0:
            return end + 1
    return at + 1
