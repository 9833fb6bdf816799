"""Keep or drop entries whole: lessons, memories, steps, log records.

Histories are worth most at their newest end and ranked lists at their best one, so the kept entries are a run from that
side. An entry that is too big for the list does not end the run: it is shortened, and the entries behind it are kept as
far as they fit. Each entry is counted once; the counts only guide the search, and the joined text decides.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

from brim.errors import DoesNotFit, InvalidValue
from brim.meter.base import BaseMeter, Meter
from brim.meter.joined_texts import Ends, JoinedTexts
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
_AT_ONCE = 100
"""Entries that are counted together."""
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
    ends: Ends = ()
    """The ends of the text, if they are known: a new text would have to be hashed to look its count up."""


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

    def select(self, entries: Sequence[str], limit: int, meter: Meter, text: str | None = None) -> Selection:
        """Return as many entries as count at most `limit` together with the marker.

        Args:
            entries: the entries, in order.
            limit: the most tokens.
            meter: counts.
            text: the joined entries, if they are at hand: a new text has to be hashed for each look at its count.

        Raises:
            DoesNotFit: one entry and the marker count more than `limit`, and it cannot be shortened either.
        """
        text, count = self.separator.join(entries) if text is None else text, len(entries)
        before = meter.count(text)
        if before <= limit:
            return Selection(text=text, before=before, after=before, kept=tuple(range(count)), entries=tuple(entries))
        joined = (
            meter.joined(entries, self.separator, text)
            if isinstance(meter, BaseMeter)
            else JoinedTexts(meter, entries, self.separator)
        )
        n, after = self._run(joined, count, before, limit, meter)
        following = self._order(count)[n]
        if after is None or joined.size(following) * _BIG > limit or self.order is not None:
            shortened = self._around_big(joined, text, (n, after or 0), limit, meter)
            if shortened is not None:
                return shortened
        if after is None:
            raise refusal(text, joined.count(*self._shown(count, 1)), limit, meter)
        kept = {index: entries[index] for index in self._order(count)[:n]}
        return self._joint(joined, kept, before, meter)

    def _run(self, joined: JoinedTexts, count: int, before: int, limit: int, meter: Meter) -> tuple[int, int | None]:
        """Return how many entries from the kept side fit, and their count with the marker; `None` if not one does."""
        sizes, total = self._sizes(joined, count, limit, meter), before
        if len(sizes) == count - 1:  # Then the total shows what the joins save.
            total = max(total, sum(sizes) + joined.size(self._order(count)[-1]))
        return largest(sizes, limit, lambda n: joined.count(*self._shown(count, n)), whole=(total, before))

    def _order(self, count: int) -> Sequence[int]:
        """Return the indexes of the entries in the order in which they are kept."""
        if self.order is not None:
            return self.order
        return range(count - 1, -1, -1) if self.keep == "newest" else range(count)

    def _around_big(
        self, joined: JoinedTexts, text: str, run: tuple[int, int], limit: int, meter: Meter
    ) -> Selection | None:
        """Return a selection that goes on where an entry is too big; `None` if it has no more than the run.

        `run` is the number of entries that fit whole from the kept side, and their count with the marker.
        """
        before, room = meter.count(text), limit
        while room > 0:
            kept = self._spread(joined, run, room, meter)
            if len(kept) <= (run[0] if room == limit else 0):
                return None
            made = self._joint(joined, kept, before, meter)
            if made.after <= limit or not made.text:
                return made if made.text else None
            room -= made.after - limit  # Joined texts can count more than they do apart.
        return None

    def _joint(self, joined: JoinedTexts, kept: Mapping[int, str], before: int, meter: Meter) -> Selection:
        """Return the kept entries and the marker as one text; `before` is the count of all entries."""
        entries, chosen = joined.texts, sorted(kept)
        own = [kept[index] for index in chosen]
        texts = self._texts(entries, chosen, own)
        text = self.separator.join(texts)
        ends: Ends = ()
        if len(own) < len(entries) and own == [entries[index] for index in chosen]:
            ends = joined.ends(chosen, *self._beside(len(entries) - len(own)))
        if ends:
            after = meter.count(ends[0]) + ends[2] + meter.count(ends[1])
        elif isinstance(meter, BaseMeter):
            pieces = [piece for each in texts for piece in (self.separator, each)]
            after = meter.count_joined(pieces[1:])
            meter.memo.put(text, after)
        else:
            after = meter.count(text)
        return Selection(text=text, before=before, after=after, kept=tuple(chosen), entries=tuple(own), ends=ends)

    def _spread(self, joined: JoinedTexts, run: tuple[int, int], room: int, meter: Meter) -> dict[int, str]:
        """Return the entries that are kept by index: small ones whole, big ones shortened to half of what is left.

        What is left in the end goes to the first entry that was shortened.
        """
        entries = joined.texts
        order = self._order(len(entries))
        join = meter.count(self.separator)
        whole, used = run if run[1] <= room else (0, 0)
        kept = {index: entries[index] for index in order[:whole]}
        left = room - (used or meter.count(self._marker(len(entries))))
        first: int | None = None
        for index, size in self._candidates(joined, order[whole:], left, room, join):
            if left <= join:
                break
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

    def _candidates(
        self, joined: JoinedTexts, order: Sequence[int], left: int, room: int, join: int
    ) -> Iterator[tuple[int, int]]:
        """Yield the entries that may be kept, whole or shortened, with their size; the next few are counted at once."""
        # Of entries with scores, one that is too big is passed over.
        fits, big = left - join, room // _BIG - join if self.order is not None else 0
        for start in range(0, len(order) if fits > 0 else 0, _AT_ONCE):
            some = order[start : start + _AT_ONCE]
            for index, size in zip(some, joined.sizes(some), strict=True):
                if size <= fits or size > big:
                    yield index, size + join

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
        if isinstance(meter, BaseMeter):
            meter.memo.put(chosen.text, chosen.after)
        return chosen

    def _entries(self, text: str) -> list[str]:
        """Return the pieces of a text between separators; the last keeps a separator that ends the text."""
        if not self.separator:
            return text.splitlines(keepends=True)
        body = text.removesuffix(self.separator)
        entries = body.split(self.separator)
        entries[-1] += text[len(body) :]
        return entries

    def _sizes(self, joined: JoinedTexts, count: int, limit: int, meter: Meter) -> list[int]:
        """Return the count of each entry and its join, from the kept side, as far as they could ever fit."""
        join = meter.count(self.separator)
        sizes: list[int] = []
        total, enough = 0, _JOINS_SAVE * (limit + join)
        # Without the last one: if every entry were kept, there would be nothing for the marker to report.
        order = self._order(count)[:-1]
        for start in range(0, len(order), _AT_ONCE):
            more = [size + join for size in joined.sizes(order[start : start + _AT_ONCE])]
            sizes += more
            total += sum(more)
            if total > enough:
                return sizes[: bisect_right(list(accumulate(sizes)), enough) + 1]
        return sizes

    def _shown(self, count: int, n: int) -> tuple[list[int], str, str]:
        """Return the `n` entries of the kept side, and the text of the marker before and after them."""
        return sorted(self._order(count)[:n]), *self._beside(count - n)

    def _beside(self, dropped: int) -> tuple[str, str]:
        """Return the text before and after the entries that are kept: the marker is on one side."""
        marker = self._marker(dropped)
        if not marker:
            return "", ""
        return (marker + self.separator, "") if self.keep == "newest" else ("", self.separator + marker)

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
