"""Keep or drop entries whole: lessons, memories, steps, log records.

The newest entries of a history, and the best of a ranked list, matter most, so entries are kept from that end without
gaps. An entry that is too big is an exception: it is shortened, and the entries after it are kept if they fit. The
counts of single entries only guide the search; the count of the joined text decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from brim.errors import DoesNotFit, InvalidValue
from brim.meter.base import Meter
from brim.truncate.base import BaseTruncator, Cut, filled, refusal
from brim.truncate.ends import Head, Tail

_MARKERS = {
    "newest": "[{dropped:,} older entries omitted]",
    "best": "[{dropped:,} entries omitted]",
}
_BIG = 2
"""An entry that needs more than half of the limit is shortened or skipped, and does not end the selection."""
_USEFUL = 16
"""The least tokens of a shortened entry if there are others."""
_ROUNDS = 6
"""How often the room is adjusted after a selection fits, since the counts of entries do not add up exactly."""
_INSIDE = Head(marker="…")
"""Cuts a shortened entry."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Selection(Cut):
    """The kept entries, as one text."""

    kept: tuple[int, ...]
    """The indexes of the kept entries, ascending."""
    entries: tuple[str, ...]
    """The kept entries, some perhaps shortened."""
    rows: tuple[tuple[int, str], ...] = ()
    """The kept entries with their indexes, and the marker with the index -1."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Records(BaseTruncator):
    """Truncate between entries, leaving a marker on the side that was cut.

    An entry with more than half of the limit that does not fit is shortened to its start. The entries of a text are its
    lines. A text of a single line is cut inside, as `Tail` or `Head` would.
    """

    marker: str | None = None
    """Replaces the dropped entries; `{dropped}` is their number."""
    keep: Literal["newest", "best"] = "newest"
    """Which entries are kept: the last (`newest`) or the first (`best`)."""
    separator: str = "\n"
    """Joins the entries, and the marker to them."""
    order: tuple[int, ...] | None = None
    """The indexes of the entries in order of importance, if it is not the order of `keep`."""

    def __post_init__(self) -> None:
        if self.keep not in _MARKERS:
            raise InvalidValue("keep", self.keep, "'newest' or 'best'")

    def select(self, entries: Sequence[str], limit: int, meter: Meter) -> Selection:
        """Return as many entries as fit, with the marker, into `limit` tokens.

        Raises:
            DoesNotFit: one entry and the marker count more than `limit`, and it cannot be shortened either.
        """
        text = self.separator.join(entries)
        before = meter.count(text)
        if before <= limit:
            kept, own = tuple(range(len(entries))), tuple(entries)
            return Selection(text=text, before=before, after=before, kept=kept, entries=own, rows=tuple(enumerate(own)))
        best, room, rounds = None, limit, 0
        while room > 0 and (best is None or rounds < _ROUNDS):
            made = self._joint(entries, self._chosen(entries, room, meter), before, meter)
            if not made.kept or not made.text or (best is not None and made.entries == best.entries):
                break
            if made.after <= limit and (best is None or made.after > best.after):
                best = made
            room += limit - made.after
            rounds += 1
        if best is None:
            first = self._joint(entries, {at: entries[at] for at in self._order(len(entries))[:1]}, before, meter)
            raise refusal(text, first.after, limit, meter)
        return best

    def _order(self, count: int) -> Sequence[int]:
        """Return the indexes of the entries in the order in which they are kept."""
        if self.order is not None:
            return self.order
        return range(count - 1, -1, -1) if self.keep == "newest" else range(count)

    def _chosen(self, entries: Sequence[str], room: int, meter: Meter) -> dict[int, str]:
        """Return the kept entries by index: all whole but the first one that is too big, which is shortened.

        With `newest`, that entry gets half of the tokens and what the others leave; with `best`, all that is left.
        """
        join, left = meter.count(self.separator), room - meter.count(self._marker(len(entries)))
        kept: dict[int, str] = {}
        big: int | None = None
        for index in self._order(len(entries)):
            if left <= join:
                break
            size = meter.count(entries[index] + self.separator)
            if size <= left:
                kept[index] = entries[index]
                left -= size
            elif big is None and (not kept or (self.order is None and size * _BIG > room)):
                big = index
                # The first entry may be shortened to a word, others only to something useful.
                share = max(left // 2, min(left, _USEFUL)) if self.keep == "newest" else left
                if piece := _piece(entries[big], share - join, meter, _USEFUL if kept else 1):
                    kept[big] = piece
                    left -= meter.count(piece) + join
            elif self.order is None and size * _BIG <= room:
                break  # A smaller entry with a lower score may fit.
        if big in kept and left > 0:
            kept[big] = _piece(entries[big], meter.count(kept[big]) + left, meter, 1) or kept[big]
        return kept

    def _joint(self, entries: Sequence[str], kept: Mapping[int, str], before: int, meter: Meter) -> Selection:
        """Return the kept entries and the marker as one text; `before` is the count of all entries."""
        chosen = sorted(kept)
        own = [kept[index] for index in chosen]
        rows = tuple(self._rows(entries, chosen, own))
        text = self.separator.join([row for _, row in rows])
        count = meter.count(text)
        return Selection(text=text, before=before, after=count, kept=tuple(chosen), entries=tuple(own), rows=rows)

    def _rows(self, entries: Sequence[str], chosen: Sequence[int], kept: Sequence[str]) -> list[tuple[int, str]]:
        """Return the kept entries with the marker where entries were dropped, or after the shortened one."""
        rows, marker = list(zip(chosen, kept, strict=True)), (-1, self._marker(len(entries) - len(kept)))
        if not marker[1]:
            return rows
        if len(kept) < len(entries):
            return [marker, *rows] if self.keep == "newest" else [*rows, marker]
        cut = (i for i, index in enumerate(chosen) if kept[i] != entries[index])
        rows.insert(next(cut, len(kept) - 1) + 1, marker)
        return rows

    def _shorten(self, text: str, limit: int, meter: Meter) -> Cut:
        entries = self._entries(text)
        try:
            chosen = self.select(entries, limit, meter) if len(entries) > 1 else None
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

    def _marker(self, dropped: int) -> str:
        return filled(_MARKERS[self.keep] if self.marker is None else self.marker, dropped)

    def _inside(self, count: int) -> Head | Tail:
        """Return the truncator of an entry that is too long."""
        kind = Tail if self.keep == "newest" else Head
        if self.marker is None:
            return kind()
        marker = filled(self.marker, count - 1)
        parts = [marker, self.separator] if kind is Tail else [self.separator, marker]
        return kind(marker="".join(parts) if marker else "")


def _piece(entry: str, limit: int, meter: Meter, least: int) -> str:
    """Return the start of an entry, or an empty text if the limit is below `least`."""
    if limit < least:
        return ""
    try:
        return _INSIDE.truncate(entry, limit, meter).text
    except DoesNotFit:
        return ""
