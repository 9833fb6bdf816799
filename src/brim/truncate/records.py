"""Keep or drop entries whole: lessons, memories, steps, log records.

Histories are worth most at their newest end and ranked lists at their best one, so what stays is always one
run from that side. Each entry is counted once in its life; the counts only steer, and the joined whole decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from brim.errors import DoesNotFit, InvalidValue
from brim.meter.base import Meter
from brim.truncate.base import Cut, whole
from brim.truncate.head import Head
from brim.truncate.marker import filled
from brim.truncate.search import Parts, most, refusal
from brim.truncate.tail import Tail

_MARKERS = {
    "newest": "[... {dropped:,} older entries omitted ...]",
    "best": "[... {dropped:,} further entries omitted ...]",
}
_JOINS_SAVE = 8
"""How many times smaller than the sum of its entries a joined text may be before a search stops short of it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Selection:
    """The entries that were kept, as one text."""

    text: str
    before: int
    """Units of all entries joined."""
    after: int
    """Units of what is left, its marker included."""
    kept: tuple[int, ...]
    """Which entries stayed, by index, ascending."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Records:
    """Truncate between entries, leaving a marker on the side that was cut."""

    marker: str | None = None
    """Stands in place of what was dropped; `{dropped}` is the number of entries. By default it says which."""
    keep: Literal["newest", "best"] = "newest"
    """Which entries stay: the last (`newest`) or the first (`best`)."""
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
        text = self.separator.join(entries)
        before = meter.count(text)
        if before <= limit:
            return Selection(text=text, before=before, after=before, kept=tuple(range(len(entries))))
        parts = Parts(sizes=self._sizes(entries, limit, meter), build=lambda n: self._joined(entries, n), total=before)
        found = most(text, limit, meter, parts)
        if found is None:
            raise refusal(text, self._joined(entries, 1), limit, meter)
        n, cut = found
        count = len(entries)
        kept = range(count - n, count) if self.keep == "newest" else range(n)
        return Selection(text=cut.text, before=before, after=cut.after, kept=tuple(kept))

    def truncate(self, text: str, limit: int, meter: Meter) -> Cut:
        """Return a version of `text` that counts at most `limit`, its lines taken as the entries.

        A single line that is too long is cut inside, as `Tail` or `Head` would.

        Raises:
            DoesNotFit: the marker and one character count more than `limit`.
        """
        uncut = whole(text, limit, meter)
        if uncut:
            return uncut
        entries = self._entries(text)
        try:
            chosen = self.select(entries, limit, meter)
        except DoesNotFit:
            return self._inside(len(entries)).truncate(text, limit, meter)
        if not any(entries[index].strip() for index in chosen.kept):
            return self._inside(len(entries)).truncate(text, limit, meter)
        return Cut(text=chosen.text, before=chosen.before, after=chosen.after)

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
        # The last one stays out: with every entry kept there would be nothing for the marker to tell.
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
        """Return what cuts an entry that is too long."""
        kind = Tail if self.keep == "newest" else Head
        if self.marker is None:
            return kind()
        marker = filled(self.marker, count - 1)
        if not marker:
            return kind(marker="")
        return Tail(marker=marker + self.separator) if kind is Tail else Head(marker=self.separator + marker)
