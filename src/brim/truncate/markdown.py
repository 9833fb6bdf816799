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
from brim.truncate import truncator
from brim.truncate.base import Cut, refusal
from brim.truncate.parts import TextParts
from brim.truncate.picker import pick, room_of

_OUTLINE_SHARE = 3
"""The outline takes at most a third of the room before other blocks."""
_FENCE = re.compile(r"([ \t]*+(?:(?:[-*+>]|[0-9]{1,9}[.)])[ \t]*+)*+)(?:(`{3,})[^`]*|(~{3,}).*)$", re.DOTALL)
"""A fence, which may be inside a list or a quote."""
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t\r]|$)")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t\r]*$")
_ITEM = re.compile(r" {0,3}(?:[-*+]|[0-9]{1,9}[.)])(?:[ \t\r]|$)")
_RAW = re.compile(r" {0,3}<(!--|pre\b|script\b|style\b|textarea\b)", re.IGNORECASE)
"""HTML blocks that may contain blank lines."""
_INDENTED = ("  ", "\t")


class Block(NamedTuple):
    """One block and the blank lines after it: a heading, fenced code, a list item, HTML, or a paragraph."""

    start: int
    stop: int
    """The line after its last."""
    level: int = 0
    """The level of a heading, from one to six."""
    close: int | None = None
    """The line that closes a fence; `None` if the block is not a fence, or is never closed."""
    single: bool = False
    """Whether it cannot be cut inside."""


def picked(parts: TextParts, limit: int, meter: Meter) -> Cut | None:
    """Return the outline, then blocks from the start, each with its headings; the last failure comes first.

    If no block fits, the text without its fences is cut as a log.

    Raises:
        DoesNotFit: even that would leave a fence open.
    """
    found = blocks([parts.part(line).rstrip("\n") for line in range(len(parts))])
    paths, failure = _headings(found), list[int]()
    for line in parts.failures()[-1:]:
        at = bisect_right([block.start for block in found], line) - 1
        failure = [*paths[at], *_around(found[at], line)]
    groups = _ranked(parts, found, paths, room_of(parts.text, limit, meter))
    return pick(parts, groups, limit, meter, fixed=[failure]) or _bare(parts.text, parts.marker, limit, meter)


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


def _bare(text: str, marker: str | None, limit: int, meter: Meter) -> Cut:
    """Return some lines of the text without its fences.

    Raises:
        DoesNotFit: they do not fit, the cut itself would open a fence, or there is nothing but fences.
    """
    bare = "\n".join(line for line in text.split("\n") if not holds_fence(line))
    cut = truncator("log", marker).truncate(bare, limit, meter)
    if not cut.text.strip() or any(map(holds_fence, cut.text.split("\n"))):
        raise refusal(text, meter.count(text), limit, meter)
    return Cut(text=cut.text, before=meter.count(text), after=cut.after)


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


def holds_fence(line: str) -> bool:
    """Return whether the line opens or closes a fence, inside a list or a quote too."""
    return _FENCE.match(line) is not None


def _opens(line: str) -> bool:
    """Return whether a line opens a fence that is not inside a list or a quote."""
    fence = _FENCE.match(line)
    return fence is not None and not fence[1].strip(" ") and len(fence[1]) <= 3


def _block(lines: Sequence[str], at: int, unclosed: dict[str, int]) -> Block:
    """Return the block that starts on a line that is not blank, without the blank lines after it.

    `unclosed` has the shortest fence of each kind that is never closed, so that no text is searched twice.
    """
    line = lines[at]
    if heading := _HEADING.match(line):
        return Block(at, at + 1, len(heading[1]))
    if _opens(line):
        close = _closing(lines, at, unclosed)
        return Block(at, len(lines) if close is None else close + 1, close=close, single=close is None)
    if raw := _RAW.match(line):
        ending = "-->" if raw[1] == "!--" else f"</{raw[1].lower()}>"
        last = next((line for line in range(at, len(lines)) if ending in lines[line].lower()), len(lines) - 1)
        return Block(at, last + 1, single=True)
    is_item, margin, end, single = bool(_ITEM.match(line)), len(line) - len(line.lstrip(" ")), at, False
    while end < len(lines):
        line = lines[end]
        if not line.strip():  # A list item goes on below a blank line if that is indented.
            below = next((text for text in lines[end : end + 9] if text.strip()), "")
            if not (is_item and below.startswith(_INDENTED)):
                break
            end += 1
            continue
        underline = _UNDERLINE.match(line)
        if end > at and underline and not is_item and not lines[at].startswith((">", "    ", "\t")):
            return Block(at, end + 1, 1 if underline[1][0] == "=" else 2)
        nested = is_item and len(line) - len(line.lstrip(" ")) > margin
        if end > at and not nested and (_HEADING.match(line) or _opens(line) or _ITEM.match(line) or _RAW.match(line)):
            break
        close = _closing(lines, end, unclosed) if holds_fence(line) else None
        single |= holds_fence(line)
        end = (end if close is None else close) + 1
    return Block(at, end, single=single)


def _closing(lines: Sequence[str], at: int, unclosed: dict[str, int]) -> int | None:
    """Return the line that closes the fence on a line, or `None`."""
    opening = _FENCE.match(lines[at])
    fence = (opening[2] or opening[3]) if opening else ""
    if not opening or len(fence) >= unclosed.get(fence[0], len(fence) + 1):
        return None
    quoted = r"[ \t>]*" if opening[1].strip(" ") or len(opening[1]) > 3 else " {0,3}"
    pattern = re.compile(rf"{quoted}{re.escape(fence[0])}{{{len(fence)},}}[ \t\r]*$")
    for line in range(at + 1, len(lines)):
        if pattern.match(lines[line]):
            return line
    unclosed[fence[0]] = len(fence)
    return None
