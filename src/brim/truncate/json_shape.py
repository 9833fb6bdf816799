"""Shorten JSON so that it stays JSON.

A reader of a cut document wants its shape: every key, the first of each kind of item, the start of each text.
So strings and arrays are shortened first, then deep values become a word on what they held, and only a document
that is nothing but keys loses some of them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import pairwise

from brim.errors import DoesNotFit
from brim.meter.base import Meter
from brim.truncate.base import Cut, shrink, whole
from brim.truncate.ends import Ends
from brim.truncate.json_detail import Writer, details
from brim.truncate.json_tree import parse
from brim.truncate.line_selection import LineSelection, each, from_both_ends, keep
from brim.truncate.search import Parts, widest

_LINES_MARKER = '{"…":"{dropped:,} more lines"}'


@dataclass(frozen=True, kw_only=True, slots=True)
class Json:
    """Truncate inside the values of a JSON document, or between the lines of JSON Lines.

    Where no valid JSON fits, or the text is none, it is cut as `Ends` would cut it and is then not JSON.
    """

    marker: str | None = None
    """Stands in the middle of a text that has to be cut as plain text; JSON itself takes no marker."""

    def truncate(self, text: str, limit: int, meter: Meter) -> Cut:
        """Return a version of `text` that counts at most `limit`.

        Raises:
            DoesNotFit: neither a valid form nor the marker and one character count at most `limit`.
        """
        cut = whole(text, limit, meter) or _document(text, limit, meter) or _lines(text, limit, meter)
        if cut:
            return cut
        plain = Ends() if self.marker is None else Ends(marker=self.marker)
        return plain.truncate(text, limit, meter)


def is_json_lines(text: str) -> bool:
    """Return whether every line that is not blank is an object or an array, and there are two or more."""
    lines = [line for line in text.split("\n") if line and not line.isspace()]
    return len(lines) > 1 and all(line.lstrip()[0] in "{[" for line in lines) and all(map(_loads, lines))


def _loads(line: str) -> bool:
    """Return whether a line is JSON that any reader takes."""
    try:
        # Numbers stay text: a long one is valid, but Python refuses to make it an int.
        json.loads(line, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return False
    return True


def _document(text: str, limit: int, meter: Meter) -> Cut | None:
    """Return a JSON document with less detail, or `None` when it is none or none fits."""
    tree = parse(text)
    if tree is None:
        return None
    steps = list(details(tree))
    writer = Writer(tree)
    sizes = [step.string for step in steps]
    growth = [sizes[0], *(max(0, size - last) for last, size in pairwise(sizes))]
    parts = Parts(sizes=growth, build=lambda n: writer.write(steps[n - 1]), total=max(sizes))
    return widest(text, limit, meter, parts)


def _lines(text: str, limit: int, meter: Meter) -> Cut | None:
    """Return whole lines of JSON Lines from both ends, or the first one shortened, or `None`."""
    if not is_json_lines(text):
        return None
    page = LineSelection.of(text, _LINES_MARKER)
    lines = from_both_ends(range(len(page)))
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
