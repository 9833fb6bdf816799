"""Shorten JSON so that it stays JSON.

A reader of a cut document wants its structure: every key, the first items, the start of each string. So strings and
arrays are shortened first, then deep values are replaced by their size, and keys go last. What reports a failure stays,
if there is room for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from brim.errors import DoesNotFit
from brim.meter.base import Meter
from brim.truncate import truncator
from brim.truncate.base import BaseTruncator, Cut, shrink
from brim.truncate.failure import failure_lines
from brim.truncate.json_detail import Writer, details
from brim.truncate.json_failure import failing
from brim.truncate.json_tree import is_json, parse
from brim.truncate.line_selection import LineSelection, each, from_both_ends, keep
from brim.truncate.search import Parts, most

_LINE = re.compile(r"[^\n]+")
_LINES_MARKER = '{"…":"{dropped:,} more lines"}'


@dataclass(frozen=True, kw_only=True, slots=True)
class Json(BaseTruncator):
    """Truncate inside the values of a JSON document, or between the lines of JSON Lines.

    If no valid JSON fits, or the text is not JSON, it is cut as `Ends` would cut it, and the result is not JSON.
    """

    marker: str | None = None
    """Stands in the middle of a text that is cut as plain text; JSON itself has no marker."""

    def _shorten(self, text: str, limit: int, meter: Meter) -> Cut:
        cut = _document(text, limit, meter) or _lines(text, limit, meter)
        return cut or truncator("ends", self.marker).truncate(text, limit, meter)


def is_json_lines(text: str) -> bool:
    """Return whether every line that is not blank is an object or an array, and there are two or more."""
    count = 0
    for line in _filled_lines(text):
        if line.lstrip()[0] not in "{[":
            return False
        count += 1
    return count > 1 and all(map(is_json, _filled_lines(text)))


def _filled_lines(text: str) -> Iterator[str]:
    """Yield the lines that are not blank, one by one: to divide a long text in one go holds up other threads."""
    return (line for found in _LINE.finditer(text) if not (line := found[0]).isspace())


def _document(text: str, limit: int, meter: Meter) -> Cut | None:
    """Return a JSON document with less detail, or `None` if the text is not one or nothing fits."""
    tree = parse(text)
    if tree is None:
        return None
    steps = list(details(tree))
    sizes = [step.string for step in steps]
    growth = [sizes[0], *(max(0, size - last) for last, size in pairwise(sizes))]
    failed = failing(tree)

    def written(writer: Writer) -> Cut | None:
        parts = Parts(sizes=growth, build=lambda n: writer.write(steps[n - 1]), total=max(sizes))
        return most(text, limit, meter, parts)[1]

    return written(Writer(tree, failed)) or (written(Writer(tree, {})) if failed else None)


def _lines(text: str, limit: int, meter: Meter) -> Cut | None:
    """Return whole lines of JSON Lines from both ends, or the first one shortened, or `None`."""
    if not is_json_lines(text):
        return None
    page = LineSelection.of(text, _LINES_MARKER)
    lines = [*from_both_ends(range(len(page)))]
    for line in failure_lines(page)[-1:]:
        cut = keep(page, each(lines), limit, meter, fixed=[(line, line + 1)])
        if cut is not None:
            return cut
    return keep(page, each(lines), limit, meter) or _first_line(page, limit, meter)


def _first_line(page: LineSelection, limit: int, meter: Meter) -> Cut | None:
    """Return the first line with less detail and a marker for the others, or `None`."""
    marker = "\n" + page.note(1, len(page)).removesuffix("\n")
    line = page.lines(0, 1).strip()

    def build(room: int) -> str:
        cut = _document(line, room - meter.count(marker), meter)
        return cut.text + marker if cut else ""

    try:
        return shrink(page.text, limit, meter, build)
    except DoesNotFit:
        return None
