"""Keep whole blocks of a Markdown document, each under its headings.

Headings come first, then the blocks from the start. A block that is too big keeps some lines, and a fence is always
closed again. CommonMark is parsed only as far as needed to find places to cut.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from brim.meter.base import Meter
from brim.truncate.base import Cut
from brim.truncate.parts import TextParts
from brim.truncate.picker import pick, room_of

_OUTLINE_SHARE = 3
"""The outline takes at most a third of the room before other blocks."""
_FENCE = re.compile(r"[ \t]*+(?:(?:[-*+>]|[0-9]{1,9}[.)])[ \t]*+)*+(?:(`{3,})[^`]*|(~{3,}).*)$", re.DOTALL)
"""A fence, which may be inside a list or a quote."""
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t\r]|$)")
_ITEM = re.compile(r" {0,3}(?:[-*+]|[0-9]{1,9}[.)])(?:[ \t\r]|$)")


class Block(NamedTuple):
    """One block and the blank lines after it: a heading, a fence with its code, a list item, or a paragraph."""

    start: int
    stop: int
    """The line after its last."""
    level: int = 0
    """The level of a heading, from one to six."""
    close: int | None = None
    """The line that closes a fence; the end of the document if none does."""


def picked(parts: TextParts, limit: int, meter: Meter) -> Cut | None:
    """Return the outline, then blocks from the start, each with its headings; the last failure comes first."""
    found = blocks([parts.part(line).rstrip("\n") for line in range(len(parts))])
    paths, failure = _headings(found), list[int]()
    for line in parts.failures()[-1:]:
        at = bisect_right([block.start for block in found], line) - 1
        failure = [*paths[at], *_around(found[at], line)]
    groups = _ranked(parts, found, paths, room_of(parts.text, limit, meter))
    return pick(parts, groups, limit, meter, fixed=[failure])


def _ranked(
    parts: TextParts, found: Sequence[Block], paths: Sequence[Sequence[int]], room: int
) -> Iterator[Sequence[int]]:
    """Yield the lines that stay together, most important first: the outline, then each block with its headings."""
    outline: set[int] = set()
    left = room // _OUTLINE_SHARE
    for at in sorted((at for at, block in enumerate(found) if block.level), key=lambda at: (found[at].level, at)):
        lines = range(found[at].start, found[at].stop)
        left -= sum(map(parts.size, lines))
        if left < 0:
            break
        outline.add(at)
        yield [*paths[at], *lines]
    for at, block in enumerate(found):
        lines = range(block.start, block.stop)
        if at in outline:
            continue
        if block.level or sum(map(parts.size, lines)) <= room // 2:
            yield [*paths[at], *lines]
        else:
            yield from ([*paths[at], *_around(block, line)] for line in lines)


def _headings(found: Sequence[Block]) -> list[list[int]]:
    """Return the lines of the headings above each block."""
    paths = []
    above: list[Block] = []
    for block in found:
        while block.level and above and above[-1].level >= block.level:
            above.pop()
        paths.append([line for heading in above for line in range(heading.start, heading.stop)])
        above += [block] if block.level else []
    return paths


def _around(block: Block, line: int) -> Sequence[int]:
    """Return a line, with the fences around it."""
    return [line] if block.close is None else sorted({block.start, line, *range(block.close, block.stop)})


def blocks(lines: Sequence[str]) -> list[Block]:
    """Return the blocks of a document, which together contain each of its lines once."""
    found: list[Block] = []
    at = next((line for line, text in enumerate(lines) if text.strip()), len(lines))
    while at < len(lines):
        block = _block(lines, at)
        at = block.stop
        while at < len(lines) and not lines[at].strip():
            at += 1
        found.append(block._replace(start=block.start if found else 0, stop=at))
    return found


def _block(lines: Sequence[str], at: int) -> Block:
    """Return the block that starts on a line that is not blank, without the blank lines after it."""
    if heading := _HEADING.match(lines[at]):
        return Block(at, at + 1, len(heading[1]))
    if fence := _FENCE.match(lines[at]):
        mark = fence[1] or fence[2]
        for line in range(at + 1, len(lines)):
            end = lines[line].strip(" \t\r>")
            if len(end) >= len(mark) and set(end) == {mark[0]}:
                return Block(at, line + 1, close=line)
        return Block(at, len(lines), close=len(lines))
    ends = (
        line
        for line in range(at + 1, len(lines))
        if not lines[line].strip() or any(start.match(lines[line]) for start in (_HEADING, _FENCE, _ITEM))
    )
    return Block(at, next(ends, len(lines)))
