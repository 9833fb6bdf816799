"""Keep whole blocks of a Markdown document, each under its headings.

Readers use the outline, so headings come first and then the blocks from the start. A block that is too big is
shortened according to its kind: fewer items, fewer lines, and a fence is always closed again.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from brim.meter.base import Meter
from brim.truncate.base import BaseTruncator, Cut, refusal
from brim.truncate.failure import failure_lines
from brim.truncate.line_selection import GAP_MARKER, Gap, LineSelection, Span, each, keep, plain
from brim.truncate.markdown_blocks import Block, blocks, holds_fence

_OUTLINE_SHARE = 3
"""The outline comes before the text until it takes a third of the room."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Markdown(BaseTruncator):
    """Truncate between blocks, leaving a marker in each gap, with every fence closed that was closed.

    If no block fits, the text without its fences is cut as `Ends` would cut it. `DoesNotFit` is raised if that would
    leave a fence open.
    """

    marker: str = GAP_MARKER
    """Stands in each gap, on a line of its own; `{dropped}` is the number of lines."""

    def _shorten(self, text: str, limit: int, meter: Meter) -> Cut:
        page = LineSelection.of(text, self.marker)
        found = blocks(text.split("\n")[: len(page)])
        groups = _ranked(page, found, page.fair(limit, meter))
        return keep(page, groups, limit, meter, gap=_marked(page, found)) or _bare(text, self.marker, limit, meter)


def _ranked(page: LineSelection, found: Sequence[Block], fair: int) -> Iterator[list[Span]]:
    """Yield the spans that are kept together, most important first: the outline, then each block with its headings.

    The last line that reports a failure comes before all of them.
    """
    paths = _headings(found)
    for line in failure_lines(page)[-1:]:
        index = bisect_right([block.start for block in found], line) - 1
        yield [*_with_fence(page, found[index], line), *paths[index]]
    headings = [index for index, block in enumerate(found) if block.kind == "heading"]
    room = fair // _OUTLINE_SHARE
    outline: set[int] = set()
    for index in sorted(headings, key=lambda index: (found[index].level, index)):
        span = (found[index].start, found[index].stop)
        room -= page.size([span])
        if room < 0:
            break
        outline.add(index)
        yield [span, *paths[index]]
    for index, block in enumerate(found):
        if index in outline:
            continue
        for portion in _portions(page, block, fair):
            yield [*portion, *paths[index]]


def _with_fence(page: LineSelection, block: Block, line: int) -> list[Span]:
    """Return a line of a block, with the fences around it; all of a block that cannot be cut there."""
    if block.close is not None:
        return [(block.start, block.start + 1), (line, line + 1), (block.close, block.stop)]
    if block.kind == "text" and not any(holds_fence(page.lines(at, at + 1)) for at in range(block.start, block.stop)):
        return [(line, line + 1)]
    return [(block.start, block.stop)]


def _headings(found: Sequence[Block]) -> list[list[Span]]:
    """Return the spans of the headings above each block."""
    paths = []
    above: list[Block] = []
    for block in found:
        if block.kind == "heading":
            while above and above[-1].level >= block.level:
                above.pop()
        paths.append([(heading.start, heading.stop) for heading in above])
        if block.kind == "heading":
            above.append(block)
    return paths


def _portions(page: LineSelection, block: Block, fair: int) -> Iterator[list[Span]]:
    """Yield a block whole, or if it is too big, the pieces of it that may be kept without the others."""
    start, stop = block.start, block.stop
    if page.size([(start, stop)]) <= fair // 2:
        yield [(start, stop)]
    elif block.kind == "list":
        edges = [start, *block.items[1:], stop]
        yield from ([span] for span in pairwise(edges))
    elif block.close is not None:
        opening = block.close if block.close == start + 1 else start + 2
        yield [(start, opening), (block.close, stop)]
        yield from each(range(opening, block.close))
    elif block.kind == "text" and not any(holds_fence(page.lines(line, line + 1)) for line in range(start, stop)):
        last = max((line for line in range(start, stop) if page.lines(line, line + 1).strip()), default=start)
        yield from each(range(start, last))
        yield [(last, stop)]
    else:
        yield [(start, stop)]


def _marked(page: LineSelection, found: Sequence[Block]) -> Gap:
    """Return the function that marks a gap: with a paragraph of its own, or a plain line inside a fence."""
    fences = [block for block in found if block.close is not None]
    starts = [block.start for block in fences]

    def gap(start: int, stop: int) -> str:
        note = page.note(start, stop)
        index = bisect_right(starts, start - 1) - 1
        inside = index >= 0 and start <= (fences[index].close or 0)
        if inside or note == page.lines(start, stop):
            return note
        parted = start == 0 or not page.lines(start - 1, start).strip()
        return ("" if parted else "\n") + note + ("\n" if note and stop < len(page) else "")

    return gap


def _bare(text: str, marker: str, limit: int, meter: Meter) -> Cut:
    """Return the two ends of the text without its fences.

    Raises:
        DoesNotFit: they do not fit, the cut itself would open a fence, or there is nothing but fences.
    """
    bare = "\n".join(line for line in text.split("\n") if not holds_fence(line))
    cut = plain(marker).truncate(bare, limit, meter)
    if not cut.text.strip() or any(map(holds_fence, cut.text.split("\n"))):
        raise refusal(text, meter.count(text), limit, meter)
    return Cut(text=cut.text, before=meter.count(text), after=cut.after)
