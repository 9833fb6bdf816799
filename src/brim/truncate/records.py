"""Keep or drop entries whole: lessons, memories, steps, log records.

Histories are worth most at their newest end and ranked lists at their best one, so the kept entries are a run from that
side. An entry that is too big for the list does not end the run: it is shortened, and the entries behind it are kept as
far as they fit. The counts of single entries only guide the search; the count of the joined text decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from brim.errors import DoesNotFit, InvalidValue
from brim.meter.base import Meter
from brim.truncate.base import BaseTruncator, Cut, refusal
from brim.truncate.ends import Head, Tail
from brim.truncate.marker import filled
from brim.truncate.picker import largest

_MARKERS = {
    "newest": "[{dropped:,} older entries omitted]",
    "best": "[{dropped:,} further entries omitted]",
}
_JOINS_SAVE = 8
"""How many times smaller than the sum of its entries a joined text may be before a search stops short of it."""
_BIG = 2
"""An entry with more than one part in so many of the limit is shortened, or skipped, instead of ending the run."""
_USEFUL = 16
"""The fewest tokens of a shortened entry beside others."""
_INSIDE = Head(marker="…")
"""Cuts an entry that is shortened."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Selection(Cut):
    """The entries that were kept, as one text."""

    kept: tuple[int, ...]
    """The indexes of the kept entries, ascending."""
    entries: tuple[str, ...]
    """The kept entries, of which one that was too big is shortened."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Records(BaseTruncator):
    """Truncate between entries, leaving a marker on the side that was cut.

    An entry with more than half of the limit that does not fit is shortened to its start. The entries of a text are its
    lines. A text of a single line is cut inside, as `Tail` or `Head` would.
    """

    marker: str | None = None
    """Stands in place of the dropped entries; `{dropped}` is their number. By default it says which were dropped."""
    keep: Literal["newest", "best"] = "newest"
    """Which entries are kept: the last (`newest`) or the first (`best`)."""
    separator: str = "\n"
    """Joins the entries, and the marker to them."""
    order: tuple[int, ...] | None = None
    """The indexes of the entries in the order in which to keep them, if it is not the order of `keep`."""

    def __post_init__(self) -> None:
        if self.keep not in _MARKERS:
            raise InvalidValue("keep", self.keep, "'newest' or 'best'")

    def select(self, entries: Sequence[str], limit: int, meter: Meter) -> Selection:
        """Return as many entries as count at most `limit` together with the marker.

        Raises:
            DoesNotFit: one entry and the marker count more than `limit`, and it cannot be shortened either.
        """
        text, count = self.separator.join(entries), len(entries)
        before = meter.count(text)
        if before <= limit:
            return Selection(text=text, before=before, after=before, kept=tuple(range(count)), entries=tuple(entries))
        n, after = self._run(entries, before, limit, meter)
        following = entries[self._order(count)[n]]
        if after is None or meter.count(following) * _BIG > limit or self.order is not None:
            shortened = self._around_big(entries, before, (n, after or 0), limit, meter)
            if shortened is not None:
                return shortened
        if after is None:
            raise refusal(text, meter.count(self._shown(entries, 1)), limit, meter)
        return self._joint(entries, {index: entries[index] for index in self._order(count)[:n]}, before, meter)

    def _run(self, entries: Sequence[str], before: int, limit: int, meter: Meter) -> tuple[int, int | None]:
        """Return how many entries from the kept side fit, and their count with the marker; `None` if not one does."""
        sizes = self._sizes(entries, limit, meter)
        total = before
        if len(sizes) == len(entries) - 1:  # Then the total shows what the joins save.
            total = max(total, sum(sizes) + self._size(entries[self._order(len(entries))[-1]], meter))
        marker = meter.count(self._marker(len(entries)) + self.separator)
        return largest(
            [marker + size if not at else size for at, size in enumerate(sizes)],
            limit,
            lambda n: meter.count(self._shown(entries, n)),
            whole=(total + marker, before + marker),
        )

    def _order(self, count: int) -> Sequence[int]:
        """Return the indexes of the entries in the order in which they are kept."""
        if self.order is not None:
            return self.order
        return range(count - 1, -1, -1) if self.keep == "newest" else range(count)

    def _around_big(
        self, entries: Sequence[str], before: int, run: tuple[int, int], limit: int, meter: Meter
    ) -> Selection | None:
        """Return a selection that goes on where an entry is too big; `None` if it has no more than the run.

        `run` is the number of entries that fit whole from the kept side, and their count with the marker.
        """
        room = limit
        while room > 0:
            kept = self._spread(entries, run, room, meter)
            if len(kept) <= (run[0] if room == limit else 0):
                return None
            made = self._joint(entries, kept, before, meter)
            if made.after <= limit or not made.text:
                return made if made.text else None
            room -= made.after - limit  # Joined texts can count more than they do apart.
        return None

    def _joint(self, entries: Sequence[str], kept: Mapping[int, str], before: int, meter: Meter) -> Selection:
        """Return the kept entries and the marker as one text; `before` is the count of all entries."""
        chosen = sorted(kept)
        own = [kept[index] for index in chosen]
        text = self.separator.join(self._texts(entries, chosen, own))
        return Selection(text=text, before=before, after=meter.count(text), kept=tuple(chosen), entries=tuple(own))

    def _spread(self, entries: Sequence[str], run: tuple[int, int], room: int, meter: Meter) -> dict[int, str]:
        """Return the entries that are kept by index: small ones whole, big ones shortened to half of what is left.

        What is left in the end goes to the first entry that was shortened.
        """
        order = self._order(len(entries))
        join = meter.count(self.separator)
        whole, used = run if run[1] <= room else (0, 0)
        kept = {index: entries[index] for index in order[:whole]}
        left = room - (used or meter.count(self._marker(len(entries))))
        first: int | None = None
        for index in order[whole:]:
            if left <= join:
                break
            size = self._size(entries[index], meter)
            if size <= left:
                kept[index] = entries[index]
                left -= size
                continue
            if size * _BIG <= room:
                if self.order is not None:
                    continue  # Of entries with scores, a smaller one may have the room.
                break
            # The entry at the kept side is shortened even to a word, any other only to something useful.
            share, least = (left // 2, _USEFUL) if kept else (max(left // 2, min(left, _USEFUL)), 1)
            if piece := _piece(entries[index], share - join, meter, least):
                kept[index] = piece
                left -= meter.count(piece) + join
                first = index if first is None else first
        if first is not None and left > 0:
            kept[first] = _piece(entries[first], meter.count(kept[first]) + left, meter, 1) or kept[first]
        return kept

    def _texts(self, entries: Sequence[str], chosen: Sequence[int], kept: Sequence[str]) -> list[str]:
        """Return the kept entries with the marker where entries were dropped, or else after the shortened one."""
        marker = self._marker(len(entries) - len(kept))
        if marker and len(kept) < len(entries):
            return [marker, *kept] if self.keep == "newest" else [*kept, marker]
        texts = list(kept)
        if marker and self.marker is not None:
            cut = (i for i, index in enumerate(chosen) if kept[i] != entries[index])
            texts.insert(next(cut, len(kept) - 1) + 1, marker)
        return texts

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

    def _sizes(self, entries: Sequence[str], limit: int, meter: Meter) -> list[int]:
        """Return the size of each entry, from the kept side, as far as they could ever fit."""
        sizes: list[int] = []
        total = 0
        # Without the last one: if every entry were kept, there would be nothing for the marker to report.
        for index in self._order(len(entries))[:-1]:
            sizes.append(self._size(entries[index], meter))
            total += sizes[-1]
            if total > _JOINS_SAVE * limit:
                break
        return sizes

    def _size(self, entry: str, meter: Meter) -> int:
        """Return the count of an entry with its separator: together they add up nearly to the count of the joined text.

        So a search by sizes needs few counts of joined texts.
        """
        return meter.count(entry + self.separator)

    def _shown(self, entries: Sequence[str], n: int) -> str:
        """Return the text of the first `n` entries of the kept side, with the marker."""
        chosen = sorted(self._order(len(entries))[:n])
        return self.separator.join(self._texts(entries, chosen, [entries[index] for index in chosen]))

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
    """Return the start of an entry, or an empty text if the limit is below the least that is useful."""
    if limit < least:
        return ""
    try:
        return _INSIDE.truncate(entry, limit, meter).text
    except DoesNotFit:
        return ""
