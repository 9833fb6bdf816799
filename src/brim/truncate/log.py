"""Keep the start and the end of a log, and the lines that report trouble.

A reader of a long log looks for how it began, how it ended, and where it says error.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest

from brim.meter.base import Meter
from brim.truncate.base import BaseTruncator, Cut
from brim.truncate.line_selection import GAP_MARKER, LineSelection, each, from_both_ends, keep, plain

_TROUBLE = re.compile(
    r"(?:errors?|exceptions?|\b(?:traceback|fatal|panic(?:ked)?|critical|fail(?:s|ed|ures?)?|warn(?:ings?)?))\b",
    re.IGNORECASE,
)
"""The first two may end a longer word, such as `ValueError`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Log(BaseTruncator):
    """Truncate between lines in several places, leaving a marker in each gap.

    If no whole line fits, the text is cut as `Ends` would cut it.
    """

    marker: str = GAP_MARKER
    """Stands in each gap, on a line of its own; `{dropped}` is the number of lines."""

    def _shorten(self, text: str, limit: int, meter: Meter) -> Cut:
        page = LineSelection.of(text, self.marker)
        return keep(page, each(_by_importance(page)), limit, meter) or plain(self.marker).truncate(text, limit, meter)


def _by_importance(page: LineSelection) -> Iterator[int]:
    """Yield each line once: alternately from the two ends and from the lines of trouble."""
    seen: set[int] = set()
    for pair in zip_longest(from_both_ends(range(len(page))), from_both_ends(_trouble(page))):
        for line in pair:
            if line is not None and line not in seen:
                seen.add(line)
                yield line


def _trouble(page: LineSelection) -> list[int]:
    """Return the lines that look like trouble, ascending."""
    lines: list[int] = []
    at = 0
    while match := _TROUBLE.search(page.text, at):
        lines.append(bisect_right(page.starts, match.start()) - 1)
        at = page.starts[lines[-1] + 1]
    return lines
