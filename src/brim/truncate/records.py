"""Keep or drop entries whole: lessons, memories, steps, log records.

Histories are worth most at their newest end and ranked lists at their best one, so the kept entries are a run from that
side. An entry that is too big for the list does not end the run: it is shortened, and the entries behind it are kept as
far as they fit. Each entry is counted once; the counts only guide the search, and the joined text decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from brim.errors import DoesNotFit, InvalidValue
from brim.meter.base import BaseMeter, Meter
from brim.truncate.base import BaseTruncator, Cut, refusal, shrink
from brim.truncate.ends import Head, Tail
from brim.truncate.marker import filled
from brim.truncate.search import Parts, most

_MARKERS = {
    "newest": "[... {dropped:,} older entries omitted ...]",
    "best": "[... {dropped:,} further entries omitted ...]",
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
        n, cut = self._run(entries, text, limit, meter)
        following = entries[self._order(count)[n]]
        if cut is None or meter.count(following) * _BIG > limit or self.order is not None:
            run = (n, 0) if cut is None else (n, cut.after)
            shortened = self._around_big(entries, text, run, limit, meter)
            if shortened is not None:
                return shortened
        if cut is None:
            raise refusal(text, meter.count(self.separator.join(self._texts(entries, 1))), limit, meter)
        kept = tuple(sorted(self._order(count)[:n]))
        chosen = tuple(entries[index] for index in kept)
        return Selection(text=cut.text, before=before, after=cut.after, kept=kept, entries=chosen)

    def _run(self, entries: Sequence[str], text: str, limit: int, meter: Meter) -> tuple[int, Cut | None]:
        """Return how many entries from the kept side fit, and these with the marker; `None` if not even one does."""
        sizes, total = self._sizes(entries, limit, meter), meter.count(text)
        if len(sizes) == len(entries) - 1:  # Then the total shows what the joins save.
            total = max(total, sum(sizes) + meter.count(entries[self._order(len(entries))[-1]]))

        def build(n: int) -> str:
            return self.separator.join(self._texts(entries, n))

        if not isinstance(meter, BaseMeter):
            return most(text, limit, meter, Parts(sizes=sizes, build=build, total=total))

        def count(n: int) -> int:
            texts = self._texts(entries, n)
            pieces = [self.separator] * (2 * len(texts) - 1)
            pieces[::2] = texts
            return meter.count_joined(pieces)

        n, cut = most(text, limit, meter, Parts(sizes=sizes, build=build, count=count, total=total))
        if cut is not None:
            meter.memo.put(cut.text, cut.after)
        return n, cut

    def _order(self, count: int) -> Sequence[int]:
        """Return the indexes of the entries in the order in which they are kept."""
        if self.order is not None:
            return self.order
        return range(count - 1, -1, -1) if self.keep == "newest" else range(count)

    def _around_big(
        self, entries: Sequence[str], text: str, run: tuple[int, int], limit: int, meter: Meter
    ) -> Selection | None:
        """Return a selection that goes on where an entry is too big; `None` if it has no more than the run.

        `run` is the number of entries that fit whole from the kept side, and their count with the marker.
        """
        kept: dict[int, str] = {}

        def build(room: int) -> str:
            nonlocal kept
            kept = self._spread(entries, run, room, meter)
            return self._arranged(entries, kept) if len(kept) > (run[0] if room == limit else 0) else ""

        try:
            cut = shrink(text, limit, meter, build)
        except DoesNotFit:
            return None
        chosen = tuple(sorted(kept))
        texts = tuple(kept[index] for index in chosen)
        return Selection(text=cut.text, before=cut.before, after=cut.after, kept=chosen, entries=texts)

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
            size = meter.count(entries[index]) + join
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

    def _arranged(self, entries: Sequence[str], kept: Mapping[int, str]) -> str:
        """Return the kept entries with the marker where entries were dropped, or else after the shortened one."""
        marker = self._marker(len(entries) - len(kept))
        texts = [kept[index] for index in sorted(kept)]
        if marker and len(kept) < len(entries):
            texts = [marker, *texts] if self.keep == "newest" else [*texts, marker]
        elif marker and self.marker is not None:
            at = next(i for i, index in enumerate(sorted(kept)) if kept[index] != entries[index])
            texts.insert(at + 1, marker)
        return self.separator.join(texts)

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
        """Return the count of each entry and its join, from the kept side, as far as they could ever fit."""
        join = meter.count(self.separator)
        sizes: list[int] = []
        total, enough = 0, _JOINS_SAVE * (limit + join)
        # Without the last one: if every entry were kept, there would be nothing for the marker to report.
        order = self._order(len(entries))[:-1]
        for start in range(0, len(order), _AT_ONCE):
            for count in _counts([entries[index] for index in order[start : start + _AT_ONCE]], meter):
                sizes.append(count + join)
                total += count + join
                if total > enough:
                    return sizes
        return sizes

    def _texts(self, entries: Sequence[str], n: int) -> list[str]:
        """Return the `n` entries of the kept side and the marker."""
        marker = self._marker(len(entries) - n)
        note = [marker] if marker else []
        kept = [entries[index] for index in sorted(self._order(len(entries))[:n])]
        return [*note, *kept] if self.keep == "newest" else [*kept, *note]

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


def _counts(texts: Sequence[str], meter: Meter) -> Sequence[int]:
    return meter.count_many(texts) if isinstance(meter, BaseMeter) else [meter.count(text) for text in texts]


def _piece(entry: str, limit: int, meter: Meter, least: int) -> str:
    """Return the start of an entry, or an empty text if the limit is below the least that is useful."""
    if limit < least:
        return ""
    try:
        return _INSIDE.truncate(entry, limit, meter).text
    except DoesNotFit:
        return ""
