"""Keep the start and the end of a log, and the lines that report trouble.

A reader of a long log looks for how it began, how it ended, and where it says error.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest

from brim.errors import DoesNotFit
from brim.meter.base import Meter
from brim.truncate.base import BaseTruncator, Cut, shrink
from brim.truncate.failure import failure_lines, last_failure
from brim.truncate.line_selection import GAP_MARKER, LineSelection, each, from_both_ends, keep, plain
from brim.truncate.marker import filled

_WARNING = re.compile(r"\bwarn(?:ings?)?\b", re.IGNORECASE)
_WARN = "warn"
_AROUND = (1, -1, 2, -2)
"""The lines around a failure that stay before more of the ends, by their distance."""
_THIN = 2
"""How many times smaller than the limit the kept lines may be before long lines are cut inside."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Log(BaseTruncator):
    """Truncate between lines in several places, leaving a marker in each gap.

    A line that reports a failure comes before all others. If no whole line fits, the text is cut as `Ends` would cut
    it, around its last failure if there is one.
    """

    marker: str = GAP_MARKER
    """Stands in each gap, on a line of its own; `{dropped}` is the number of lines."""

    def _shorten(self, text: str, limit: int, meter: Meter) -> Cut:
        page = LineSelection.of(text, self.marker)
        failures = failure_lines(page)
        for line in dict.fromkeys([*failures[-1:], *failures[:1]]) or [None]:
            fixed = [] if line is None else [(line, line + 1)]
            cut = keep(page, each(_by_importance(page, failures)), limit, meter, fixed=fixed)
            if cut is not None:
                break
        if cut is not None and cut.after * _THIN >= limit:
            return cut
        return _around(page, line, limit, meter) or cut or plain(self.marker).truncate(text, limit, meter)


def _by_importance(page: LineSelection, failures: Sequence[int]) -> Iterator[int]:
    """Yield each line once: alternately from the two ends and from the lines of trouble and those around them."""
    near = (line + step for step in _AROUND for line in from_both_ends(failures) if 0 <= line + step < len(page))
    trouble = chain(from_both_ends(failures), from_both_ends(_warnings(page)), near)
    seen: set[int] = set()
    for pair in zip_longest(from_both_ends(range(len(page))), trouble):
        for line in pair:
            if line is not None and line not in seen:
                seen.add(line)
                yield line


def _warnings(page: LineSelection) -> list[int]:
    """Return the lines that warn, ascending."""
    lines: list[int] = []
    lower = page.text.replace("İ", "I").lower()  # The only letter whose small form is longer.
    at = lower.find(_WARN)  # Far faster than an expression that ignores case.
    while at >= 0:
        stop = at + len(_WARN)
        if _WARNING.match(page.text, at):
            lines.append(bisect_right(page.starts, at) - 1)
            stop = page.starts[lines[-1] + 1]
        at = lower.find(_WARN, stop)
    return lines


def _around(page: LineSelection, line: int | None, limit: int, meter: Meter) -> Cut | None:
    """Return the two ends of a text of few long lines, with the line of a failure, or what stands around its place.

    `None` if that does not fit.
    """
    text, ends = page.text, plain(page.marker)
    cost = meter.count(filled(ends.marker, len(text)))
    place = last_failure(text)
    if line is None or place is None:
        return None
    whole = page.lines(line, line + 1)
    size = meter.count(whole)

    def build(room: int) -> str:
        left = max(0, room - 2 * cost)
        if size <= left // 2:
            start, stop = page.starts[line], page.starts[line + 1]
        else:
            start = place - len(meter.tail(text[:place], left // 9))
            stop = start + len(meter.head(text[start:], left // 3))
        third = max(0, left - meter.count(text[start:stop])) // 2
        head = len(meter.head(text[:start], third))
        tail = len(text) - len(meter.tail(text[stop:], third))
        parts = [text[:head], _gap(head, start), text[start:stop], _gap(stop, tail), text[tail:]]
        return "".join(parts) if third > 0 else ""

    def _gap(start: int, stop: int) -> str:
        return filled(ends.marker, stop - start) if stop > start else ""

    try:
        return shrink(text, limit, meter, build)
    except DoesNotFit:
        return None
