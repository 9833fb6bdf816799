"""Keep or drop entries whole: lessons, memories, steps, log records.

Histories are worth most at their newest end and ranked lists at their best one, so the kept entries are always one run
from that side. Each entry is counted once; the counts only guide the search, and the joined text decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from brim.errors import DoesNotFit, InvalidValue
from brim.meter.base import Meter
from brim.truncate.base import BaseTruncator, Cut, refusal
from brim.truncate.ends import Head, Tail
from brim.truncate.marker import filled
from brim.truncate.search import Parts, most

_MARKERS = {
    "newest": "[... {dropped:,} older entries omitted ...]",
    "best": "[... {dropped:,} further entries omitted ...]",
}
_JOINS_SAVE = 8
"""How many times smaller than the sum of its entries a joined text may be before a search stops short of it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Selection(Cut):
    """The entries that were kept, as one text."""

    kept: tuple[int, ...]
    """The indexes of the kept entries, ascending."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Records(BaseTruncator):
    """Truncate between entries, leaving a marker on the side that was cut.

    The entries of a text are its lines. A single line that is too long is cut inside, as `Tail` or `Head` would.
    """

    marker: str | None = None
    """Stands in place of the dropped entries; `{dropped}` is their number. By default it says which were dropped."""
    keep: Literal["newest", "best"] = "newest"
    """Which entries are kept: the last (`newest`) or the first (`best`)."""
    separator: str = "\n"
    """Joins the entries, and the marker to them."""

    def __post_init__(self) -> None:
        if self.keep not in _MARKERS:
            raise InvalidValue("keep", self.keep, "'newest' or 'best'")

    def select(self, entries: Sequence[str], limit: int, meter: Meter) -> Selection:
        """Return as many entries as count at most `limit` together with the marker.

        Raises:
            DoesNotFit: one entry and the marker count more than `limit`.
        """
        text, count = self.separator.join(entries), len(entries)
        before = meter.count(text)
        if before <= limit:
            return Selection(text=text, before=before, after=before, kept=tuple(range(count)))
        parts = Parts(sizes=self._sizes(entries, limit, meter), build=lambda n: self._joined(entries, n), total=before)
        n, cut = most(text, limit, meter, parts)
        if cut is None:
            raise refusal(text, meter.count(self._joined(entries, 1)), limit, meter)
        kept = range(count - n, count) if self.keep == "newest" else range(n)
        return Selection(text=cut.text, before=before, after=cut.after, kept=tuple(kept))

    def _shorten(self, text: str, limit: int, meter: Meter) -> Cut:
        entries = self._entries(text)
        try:
            chosen = self.select(entries, limit, meter)
        except DoesNotFit:
            chosen = None
        if chosen is None or not any(entries[index].strip() for index in chosen.kept):
            return self._inside(len(entries)).truncate(text, limit, meter)
        return chosen

    def _entries(self, text: str) -> list[str]:
        """Return the pieces of a text between separators; the last keeps a separator that ends the text."""
        if not self.separator:
            return text.splitlines(keepends=True)
        body = text.removesuffix(self.separator)
        entries = body.split(self.separator)
        entries[-1] += text[len(body) :]
        return entries

    def _sizes(self, entries: Sequence[str], limit: int, meter: Meter) -> list[int]:
        """Return the count of each entry and its join, from the kept side, as far as they could ever fit."""
        join = meter.count(self.separator)
        sizes: list[int] = []
        total = 0
        # Without the last one: if every entry were kept, there would be nothing for the marker to report.
        ordered = reversed(entries[1:]) if self.keep == "newest" else iter(entries[:-1])
        for entry in ordered:
            sizes.append(meter.count(entry) + join)
            total += sizes[-1]
            if total > _JOINS_SAVE * (limit + join):
                break
        return sizes

    def _joined(self, entries: Sequence[str], n: int) -> str:
        """Return the `n` entries of the kept side and the marker."""
        marker = filled(_MARKERS[self.keep] if self.marker is None else self.marker, len(entries) - n)
        note = [marker] if marker else []
        if self.keep == "newest":
            return self.separator.join([*note, *entries[len(entries) - n :]])
        return self.separator.join([*entries[:n], *note])

    def _inside(self, count: int) -> Head | Tail:
        """Return the truncator of an entry that is too long."""
        kind = Tail if self.keep == "newest" else Head
        if self.marker is None:
            return kind()
        marker = filled(self.marker, count - 1)
        parts = [marker, self.separator] if kind is Tail else [self.separator, marker]
        return kind(marker="".join(parts) if marker else "")
