"""What the shortest forms of older turns save, added up as turns come.

A cut of a long history keeps such a form of thousands of turns. What they take together is known before it begins.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Sequence
from itertools import accumulate, islice
from operator import sub
from typing import NamedTuple

from brim.history.forms import Form

Reduction = tuple[int, dict[int, Form]]
"""The tokens that the shortest forms of a turn's messages save, and these forms, by position."""


class FittingTurns(NamedTuple):
    """What stays of turns for which there is room."""

    number: int
    """How many turns these are."""
    units: int
    """Their tokens."""
    shorter: dict[int, int]
    """Those that become shorter, with their tokens, in the order that was asked for."""
    same: set[int]
    """Those that do not."""
    forms: dict[int, Form]
    """The messages of the first, by position."""


class Reductions:
    """The reductions of the turns that were read."""

    def __init__(self) -> None:
        self.known: dict[int, Reduction] = {}
        self.of_results: dict[int, int] = {}
        """The tokens that the shortest forms of a turn's results save, by turn."""
        self._saved = 0
        """Tokens that all of them save."""
        self._forms: dict[int, Form] = {}
        """The forms of turns that become shorter, by position."""
        self._ordered = True
        """Whether they are in the order of positions."""
        self._last = -1
        self._saved_by_turn: dict[int, int] = {}
        self._same: set[int] = set()
        """The turns that do not become shorter."""

    def add(self, turn: int, reduction: Reduction) -> None:
        """Add the reduction of a turn that is not known."""
        self.known[turn] = reduction
        saved, forms = reduction
        self._saved += saved
        self._saved_by_turn[turn] = saved
        if saved > 0:
            self._ordered, self._last = self._ordered and turn > self._last, max(turn, self._last)
            self._forms.update(forms)
        else:
            self._same.add(turn)

    def discard(self, turn: int) -> None:
        """Forget a turn."""
        self.of_results.pop(turn, None)
        found = self.known.pop(turn, None)
        if found is None:
            return
        saved, forms = found
        self._saved -= saved
        del self._saved_by_turn[turn]
        self._same.discard(turn)
        if saved > 0:
            for at in forms:
                del self._forms[at]

    def units(self, weights: Sequence[int], but: Collection[int]) -> int | None:
        """Return the tokens of all turns in their shortest forms but some; `None` if not all are known."""
        known = self.known
        others = {turn for turn in but if 0 <= turn < len(weights)}
        unknown = len(weights) - len(known)
        if unknown != sum(turn not in known for turn in others):
            return None
        return (
            sum(weights)
            - self._saved
            - sum(weights[turn] - (known[turn][0] if turn in known else 0) for turn in others)
        )

    def fitting(self, turns: Sequence[int], weights: Sequence[int], room: int) -> FittingTurns | None:
        """Return what stays of the first of some turns, as many as there is room for; `None` if not all are known.

        The turns are in falling order, and those that are left out among the known ones are few.
        """
        saved = self._saved_by_turn
        try:
            units = list(map(sub, map(weights.__getitem__, turns), map(saved.__getitem__, turns)))
        except KeyError:
            return None
        sums = list(accumulate(units))
        count = bisect_right(sums, room)
        if not count:
            return FittingTurns(0, 0, {}, set(), {})
        left = dict(zip(turns[:count], units, strict=False))
        same = self._same & left.keys()
        for turn in same:
            del left[turn]
        return FittingTurns(count, sums[count - 1], left, same, self._forms_of(turns[:count]))

    def _forms_of(self, turns: Sequence[int]) -> dict[int, Form]:
        """Return the forms of turns that become shorter, of turns in falling order."""
        if not self._ordered:
            self._forms, self._ordered = dict(sorted(self._forms.items())), True
        first, last = self.known[turns[-1]][1], self.known[turns[0]][1]
        if not first or not last or len(turns) < (turns[0] - turns[-1]) // 2:
            return {at: form for turn in turns for at, form in self.known[turn][1].items() if turn not in self._same}
        places = list(self._forms)
        start, stop = bisect_left(places, min(first)), bisect_right(places, max(last))
        forms = dict(islice(self._forms.items(), start, stop))
        for turn in set(range(turns[-1], turns[0])).difference(turns):
            for at in self.known[turn][1] if turn in self.known else ():
                forms.pop(at, None)
        return forms
