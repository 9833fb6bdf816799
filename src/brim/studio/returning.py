"""The budgets at which dropped pieces come back: searched by real fits, so that what is told was fitted."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from time import monotonic
from typing import Any

from brim.errors import DoesNotFit
from brim.studio.source import LabSource

_SECONDS = 0.4
"""Time in which the budgets that bring pieces back are looked for; what is not exact by then is told as such."""


class Search:
    """Halves ranges of budgets, the one with the most pieces in it first, until time is up."""

    def __init__(self, source: LabSource, choices: Mapping[str, Any]) -> None:
        self._source = source
        self._asked = source.asked
        self._choices = choices
        self._until = monotonic() + _SECONDS

    def run(self, budget: int, name: str | None) -> dict[str, tuple[int, bool]]:
        """Return the budget of each piece that comes back at all, and whether one unit less does not do."""
        low, sizes = self._present(budget)
        high = max(budget + 1, 2 * sizes + 1_000)
        top, _ = self._present(high)
        missing = (top - low) if name is None else ({name} & top) - low
        found: dict[str, tuple[int, bool]] = {}
        ranges = [(-len(missing), budget, high, frozenset(missing))] if missing else []
        while ranges:
            _, least, most, parts = heapq.heappop(ranges)
            if most - least == 1 or self._is_over(alone=name is not None):
                found |= dict.fromkeys(parts, (most, most - least == 1))
                continue
            middle = (least + most) // 2
            there = parts & self._present(middle)[0]
            for group, start, end in ((there, least, middle), (parts - there, middle, most)):
                if group:
                    heapq.heappush(ranges, (-len(group), start, end, frozenset(group)))
        return found

    def _is_over(self, *, alone: bool) -> bool:
        """Return whether to stop: another budget is asked for, or time is up, which one piece alone is given."""
        return self._source.asked != self._asked or (not alone and monotonic() > self._until)

    def _present(self, budget: int) -> tuple[set[str], int]:
        """Return the pieces that a budget keeps, and the units of all pieces."""
        try:
            receipt = self._source.fit(budget, self._choices)
        except DoesNotFit as error:
            return set(), error.needed
        return {part.name for part in receipt.parts if part.present}, sum(part.size for part in receipt.parts)
