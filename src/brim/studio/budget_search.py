"""The smallest budget at which each dropped piece of a prompt returns, found by real fits."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from time import monotonic
from typing import Any

from brim.errors import DoesNotFit
from brim.studio.lab_source import LabSource

_SECONDS = 0.4
"""Time for one search; budgets that are not exact by then are reported as upper bounds."""


class BudgetSearch:
    """Halves ranges of budgets, the one with the most pieces first, until the time is over."""

    def __init__(self, source: LabSource, choices: Mapping[str, Any]) -> None:
        self._source = source
        self._requests = source.requests
        self._choices = choices
        self._until = monotonic() + _SECONDS

    def run(self, budget: int, name: str | None) -> dict[str, tuple[int, bool]]:
        """Return the budget at which each dropped piece returns, and whether it is dropped at one less.

        Args:
            budget: the budget at which the pieces are dropped.
            name: the only piece to look for, without a limit of time.
        """
        low, sizes = self._present(budget)
        high = max(budget + 1, 2 * sizes + 1_000)
        top, _ = self._present(high)
        missing = (top - low) if name is None else ({name} & top) - low
        found: dict[str, tuple[int, bool]] = {}
        ranges = [(-len(missing), budget, high, frozenset(missing))] if missing else []
        while ranges:
            _, least, most, parts = heapq.heappop(ranges)
            if most - least == 1 or self._is_over(limited=name is None):
                found |= dict.fromkeys(parts, (most, most - least == 1))
                continue
            middle = (least + most) // 2
            there = parts & self._present(middle)[0]
            for group, start, end in ((there, least, middle), (parts - there, middle, most)):
                if group:
                    heapq.heappush(ranges, (-len(group), start, end, frozenset(group)))
        return found

    def _is_over(self, *, limited: bool) -> bool:
        """Return whether to stop: the page requested another budget, or the time is over."""
        return self._source.requests != self._requests or (limited and monotonic() > self._until)

    def _present(self, budget: int) -> tuple[set[str], int]:
        """Return the pieces that a budget keeps, and the size of all pieces."""
        try:
            receipt = self._source.fit(budget, self._choices)
        except DoesNotFit as error:
            return set(), error.needed
        return {part.name for part in receipt.parts if part.present}, sum(part.size for part in receipt.parts)
