"""Keep the headers of a diff and shorten its hunks.

The headers name the changed files and places. The longest hunks are cut first, in their middle, so that small changes
stay whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from brim.meter.base import Meter
from brim.truncate.base import Cut
from brim.truncate.parts import TextParts
from brim.truncate.picker import pick

_HUNK = re.compile(r"@@ -\d+(?:,(\d{1,9}))? \+\d+(?:,(\d{1,9}))? @@")


def picked(parts: TextParts, limit: int, meter: Meter) -> Cut | None:
    """Return headers, then changed lines, from the edges of each hunk inward; the last failure comes first."""
    depths = dict(_depths(parts))
    headers = [line for line in range(len(parts)) if line not in depths]
    order = [*headers, *sorted(depths, key=depths.__getitem__)]
    failure = parts.failures(code=True)[-1:]
    return pick(parts, ([line] for line in order), limit, meter, fixed=[failure]) if depths else None


def _depths(parts: TextParts) -> Iterator[tuple[int, tuple[bool, int]]]:
    """Yield the lines of hunks: for each, whether it is unchanged, and its distance from the edges of its hunk.

    The header says how many lines follow, so a removed line `-- x` is not mistaken for a file name. A line that is not
    valid in a hunk ends it early.
    """
    at, text = 0, parts.text
    while at < len(parts):
        header = _HUNK.match(text, parts.starts[at])
        at += 1
        if not header:
            continue
        old, new = (int(count or 1) for count in header.groups())
        start = at
        while at < len(parts) and (old > 0 or new > 0 or text.startswith("\\", parts.starts[at])):
            sign = text[parts.starts[at] : parts.starts[at] + 1]
            if sign not in (" ", "+", "-", "\\", "\n", "\r", ""):
                break
            old -= sign not in ("+", "\\")
            new -= sign not in ("-", "\\")
            at += 1
        for line in range(start, at):
            yield line, (text[parts.starts[line]] not in "+-", min(line - start, at - 1 - line))
