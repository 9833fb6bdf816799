"""A fit that selects turns, the newest or the highest ranked; results are cleared before turns are dropped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from brim.errors import DoesNotFit
from brim.history.history_fit import HistoryFit
from brim.history.spans import TRACE, PrefixSums, joined, ranges, without_turns


@dataclass(slots=True)
class SelectionFit(HistoryFit):
    """One fit that does not depend on the last one."""

    def run(self) -> None:
        """Decide what is sent.

        Raises:
            DoesNotFit: the messages that always stay are bigger than the budget.
        """
        self.prepare()
        self.seen = len(self.turns)
        total = self.turns.total if self.weights is self.turns.weights else sum(self.weights)
        if total > self.room or self._too_recent() or self._too_old():
            self._choose(total)

    def _too_old(self) -> bool:
        """Return whether an older turn is over its cap and may be cut."""
        older = self.options.older
        if older is None:
            return False
        spared = {*self.essential(), *self.turns.notes}
        return any(self._over(turn, older) for turn in range(len(self.weights)) if turn not in spared)

    def _too_recent(self) -> bool:
        """Return whether the newest turn is over its cap and may be cut."""
        recent = self.options.recent
        if recent is None or not self.weights or self.weights[-1] <= recent:
            return False
        return self.newest not in (self.pinned | self.task() if self.options.pin_first_user else self.pinned)

    def _over(self, turn: int, cap: int) -> bool:
        """Return whether a turn is over its cap; the note of an earlier fit does not count."""
        return self.weights[turn] - self.turns.noted.get(turn, 0) > cap

    def _choose(self, total: int) -> None:
        """Select what stays of a history that is too big."""
        essential, recent, room = self.essential(), self.options.recent, self.room
        need = sum(self.weights[turn] for turn in essential)
        if recent is not None and self._too_recent():
            freed = self._cap(self.newest, recent) or 0
            need -= freed
            total -= freed
        if need > room:
            self.cut_inside(essential)
        elif total > room or self._too_old():
            left = room - need - self.note_room()
            self._serve(essential, max(0, left))
            if left >= 0:
                self.plan_note()

    def _serve(self, essential: Sequence[int], left: int) -> None:
        """Keep what always stays, and the highest ranked other turns that take at most `left` tokens."""
        if self.options.ways == ("recency",):
            aside = {*essential, *self.turns.notes}
            first = self._trace(aside, *self._newest_first(aside, left))
            before = [(turn, turn + 1) for turn in essential if turn < first]
            self.spans = joined([*before, *without_turns((first, len(self.weights)), self.turns.notes)])
            return
        chosen = list(essential)
        for turn in self.ranking.order(self.options, essential, left):
            units = self._offer(turn, left)
            if units is not None:
                chosen.append(turn)
                left -= units
        self.spans = ranges(sorted(chosen))

    def _offer(self, turn: int, left: int) -> int | None:
        """Return the tokens of a turn in the longest form that fits, or `None`."""
        units, older = self.weights[turn], self.options.older
        if older is not None and self._over(turn, older):
            freed = self._cap(turn, older)
            if freed is None:
                return None
            units -= freed
        return units if units <= left else self._clear(turn, left)

    def _newest_first(self, aside: set[int], left: int) -> tuple[int, int]:
        """Keep the newest turns whole, and leave room for cleared turns before them.

        Returns:
            the first of them, and the tokens that are left.
        """
        scale = self._scale(aside)
        first = scale.first(left)
        if self.options.older is not None:
            first = self._cap_from(first, aside, self.options.older)
            return first, left - scale.taken(first)
        first, gain = self._referring(scale, first, aside, left) if self.turns.twins else (first, 0)
        return first, left + gain - scale.taken(first)

    def _referring(self, scale: PrefixSums, first: int, aside: set[int], left: int) -> tuple[int, int]:
        """Replace results that are repeated later by references.

        Returns:
            the first of the newest turns that fit then, and the tokens that this frees among them.
        """
        twins, spared = self.forms.twinned(), aside | self.touched
        spare = {turn: units for turn, (units, _) in twins.items() if turn not in spared}
        gain = sum(spare.values())
        if first and scale.taken(0) - gain <= left:
            first = 0
        else:
            gain = sum([units for turn, units in spare.items() if turn >= first])
            while gain and (more := scale.first(left + gain)) < first:
                gain += sum([units for turn, units in spare.items() if more <= turn < first])
                first = more
        for turn in spare:
            if turn >= first:
                self.edits.update(twins[turn][1])
        return first, gain

    def _scale(self, aside: set[int]) -> PrefixSums:
        """Return the sums by which turns are selected; with a cap, each turn counts at most its cap."""
        turns, weights, older = self.turns, self.weights, self.options.older
        if older is None:
            lost = {turn: turns.weights[turn] - weights[turn] for turn in self.touched}
            lost.update({turn: turns.weights[turn] for turn in aside})
            return PrefixSums(turns.before, turns.total, turns.lit, lost)
        most = [min(weight, older + turns.noted.get(turn, 0)) for turn, weight in enumerate(weights)]
        before = list(accumulate(most, initial=0))
        return PrefixSums(before, before.pop(), turns.lit, {turn: most[turn] for turn in aside})

    def _cap_from(self, first: int, aside: set[int], older: int) -> int:
        """Cut the turns that are over their cap, and return the first turn after any that cannot be cut."""
        for turn in range(len(self.weights) - 1, first - 1, -1):
            if turn not in aside and self._over(turn, older) and self._cap(turn, older) is None:
                return turn + 1
        return first

    def _trace(self, aside: set[int], first: int, left: int) -> int:
        """Keep some turns before the first one with their results cleared, and return the first of those."""
        offer = self._clear if self.options.older is None else self._offer
        for turn in range(first - 1, max(-1, first - 1 - TRACE), -1):
            if turn not in aside:
                units = offer(turn, left)
                if units is None:
                    return turn + 1
                left -= units
                first = turn
        return first

    def _clear(self, turn: int, left: int) -> int | None:
        """Clear the results of a turn, and return its tokens then; `None` if they are more than are left."""
        units, cleared = self.forms.cleared(turn)
        if turn in self.touched:
            cleared = {position: form for position, form in cleared.items() if position not in self.edits}
            units = self.weights[turn] - sum(self.turns.units[p] - form.units for p, form in cleared.items())
        if units > left:
            return None
        self.edits.update(cleared)
        return units

    def _cap(self, turn: int, cap: int) -> int | None:
        """Cut a turn to its cap, and return the tokens that this frees; `None` if it cannot be cut so far."""
        before = self.weights[turn]
        self.touched.add(turn)
        self.reasons[turn] = f"its cap is {cap:,} {self.turns.meter.unit} and it has {before:,}"
        try:
            return before - self.keep(self.shortened([turn], cap, self.forms.floor))
        except DoesNotFit:
            return None
