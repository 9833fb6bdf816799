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
_FENCE = re.compile(r"([ \t]*+(?:(?:[-*+>]|[0-9]{1,9}[.)])[ \t]*+)*+)(?:(`{3,})[^`]*|(~{3,}).*)$", re.DOTALL)
"""A fence, which may be inside a list or a quote."""
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t\r]|$)")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t\r]*$")
_ITEM = re.compile(r" {0,3}(?:[-*+]|[0-9]{1,9}[.)])(?:[ \t\r]|$)")


class Block(NamedTuple):
    """One block and the blank lines after it: a heading, a fence with its code, a list item, or a paragraph."""

    start: int
    stop: int
    """The line after its last."""
    level: int = 0
    """The level of a heading, from one to six."""
    close: int | None = None
    """The line that closes a fence; `None` if the block is not a fence, or cannot be cut inside."""
    single: bool = False
    """Whether it cannot be cut inside: a fence in a list or a quote, or one that is never closed."""


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
        if block.single or block.level or sum(map(parts.size, lines)) <= room // 2:
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
    """Return a line with the fences around it, or all lines of a block that cannot be cut."""
    if block.close is not None:
        return sorted({block.start, line, *range(block.close, block.stop)})
    return range(block.start, block.stop) if block.single else [line]


def blocks(lines: Sequence[str]) -> list[Block]:
    """Return the blocks of a document, which together contain each of its lines once."""
    found: list[Block] = []
    unclosed: dict[str, int] = {}
    at = next((line for line, text in enumerate(lines) if text.strip()), len(lines))
    while at < len(lines):
        block = _block(lines, at, unclosed)
        at = block.stop
        while at < len(lines) and not lines[at].strip():
            at += 1
        found.append(block._replace(start=block.start if found else 0, stop=at))
    return found


def _block(lines: Sequence[str], at: int, unclosed: dict[str, int]) -> Block:
    """Return the block that starts on a line that is not blank, without the blank lines after it.

    `unclosed` has the shortest fence of each kind that is never closed, so that no text is searched twice.
    """
    if heading := _HEADING.match(lines[at]):
        return Block(at, at + 1, len(heading[1]))
    if fence := _FENCE.match(lines[at]):
        close = _closing(lines, at, fence, unclosed)
        if close is None:
            return Block(at, len(lines), single=True)
        return Block(at, close + 1, single=True) if fence[1] else Block(at, close + 1, close=close)
    for end in range(at + 1, len(lines)):
        line = lines[end]
        if (underline := _UNDERLINE.match(line)) and not _ITEM.match(lines[at]):
            return Block(at, end + 1, 1 if underline[1][0] == "=" else 2)
        if not line.strip() or any(start.match(line) for start in (_HEADING, _FENCE, _ITEM)):
            return Block(at, end)
    return Block(at, len(lines))


def _closing(lines: Sequence[str], at: int, fence: re.Match[str], unclosed: dict[str, int]) -> int | None:
    """Return the line that closes the fence on a line, or `None`."""
    sign, length = (fence[2] or fence[3])[0], len(fence[2] or fence[3])
    if length >= unclosed.get(sign, length + 1):
        return None
    inside = r"[ \t>]*" if fence[1].strip(" ") or len(fence[1]) > 3 else " {0,3}"
    pattern = re.compile(rf"{inside}{re.escape(sign)}{{{length},}}[ \t\r]*$")
    for line in range(at + 1, len(lines)):
        if pattern.match(lines[line]):
            return line
    unclosed[sign] = length
    return None
