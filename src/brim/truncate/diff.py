"""Keep the headers of a diff and shorten its hunks.

The headers say which files and places changed. The longest hunks are cut first, in their middle, so that small changes
stay whole. The last line that reports a failure comes before all others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from brim.meter.base import Meter
from brim.truncate.base import BaseTruncator, Cut
from brim.truncate.failure import failure_lines
from brim.truncate.line_selection import GAP_MARKER, LineSelection, Span, between, each, keep, plain

_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")


@dataclass(frozen=True, kw_only=True, slots=True)
class Diff(BaseTruncator):
    """Truncate inside hunks, leaving a marker in each gap.

    If the headers alone do not fit, or there are none, the text is cut as `Ends` would cut it.
    """

    marker: str = GAP_MARKER
    """Stands in each gap, on a line of its own; `{dropped}` is the number of lines."""

    def _shorten(self, text: str, limit: int, meter: Meter) -> Cut:
        page = LineSelection.of(text, self.marker)
        bodies = list(_bodies(page))
        failures, around = failure_lines(page, code=True), between(bodies, len(page))
        lines = each([*failures[-1:], *_outside_in(bodies)])
        cut = keep(page, lines, limit, meter, fixed=around) if bodies else None
        return cut or plain(self.marker).truncate(text, limit, meter)


def _bodies(page: LineSelection) -> Iterator[Span]:
    """Yield the lines under each hunk header.

    The header says how many lines follow, so a removed line `-- x` is not mistaken for a file name. A line that is not
    valid in a hunk ends it early.
    """
    at = 0
    while at < len(page):
        header = _HUNK.match(page.text, page.starts[at])
        at += 1
        if not header:
            continue
        old, new = (int(count or 1) for count in header.groups())
        start = at
        while at < len(page) and (old > 0 or new > 0 or page.text.startswith("\\", page.starts[at])):
            sign = page.text[page.starts[at] : page.starts[at] + 1]
            if sign not in (" ", "+", "-", "\\", "\n", "\r", ""):
                break
            old -= sign not in ("+", "\\")
            new -= sign not in ("-", "\\")
            at += 1
        yield start, at


def _outside_in(bodies: list[Span]) -> list[int]:
    """Return the lines of all bodies, the outermost of each first, so that the middle of the longest goes first."""
    depth = {line: min(line - start, stop - 1 - line) for start, stop in bodies for line in range(start, stop)}
    return sorted(depth, key=depth.__getitem__)
