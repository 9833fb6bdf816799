"""A fit that selects anew each time: the newest turns and excerpts of the others, or the highest ranked turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from brim.errors import DoesNotFit
from brim.history.history_fit import HistoryFit
from brim.history.spans import ranges


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
        freed = self.cut_spoken(essential, need, room)
        need, total = need - freed, total - freed
        if need > room:
            self.cut_inside(essential)
        elif total > room or self._too_old():
            left = room - need - self.note_room()
            self._serve(essential, max(0, left))
            if left >= 0:
                self.plan_note()

    def _serve(self, essential: Sequence[int], left: int) -> None:
        """Keep what always stays, and what takes at most `left` tokens of the others."""
        if self.options.ways == ("recency",):
            uncut = set() if self.options.older is None else self._cap_older(essential, left, self.options.older)
            self.arrange(essential, left, aside=uncut)
            return
        chosen = list(essential)
        self.excerpts.keep_up()
        for turn in self.ranking.order(self.options, essential, left):
            units = self._offer(turn, left)
            if units is not None:
                chosen.append(turn)
                left -= units
        self.spans = ranges(sorted(chosen))

    def _cap_older(self, essential: Sequence[int], left: int, older: int) -> set[int]:
        """Cut the newest of the turns that are over their cap, and return those that cannot be cut so far."""
        uncut, self.weights = set(), list(self.weights)
        for turn in range(self.newest, -1, -1):
            if left < 0:
                break
            if turn in essential or turn in self.turns.notes:
                continue
            if self._over(turn, older):
                freed = self._cap(turn, older)
                if freed is None:
                    uncut.add(turn)
                    continue
                self.weights[turn] -= freed
            left -= self.weights[turn]
        return uncut

    def _offer(self, turn: int, left: int) -> int | None:
        """Return the tokens of a turn in the longest form that fits, or `None`."""
        units, older = self.weights[turn], self.options.older
        if older is not None and self._over(turn, older):
            freed = self._cap(turn, older)
            if freed is None:
                return None
            units -= freed
        return units if units <= left else self._reduce(turn, left)

    def _reduce(self, turn: int, left: int) -> int | None:
        """Shorten the results of a turn, and return its tokens then; `None` if they are more than are left."""
        if self.weights[turn] - self.excerpts.saved_by_results(turn) > left:  # So it is with most of a long history.
            return None
        members = [at for at in self.turns.members(turn) if at not in self.edits and self.turns.messages[at].results]
        forms = {at: self.excerpts.least(at) for at in members}
        units = self.weights[turn] - sum([self.turns.units[at] - form.units for at, form in forms.items()])
        if units > left:
            return None
        self.keep(forms)
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
