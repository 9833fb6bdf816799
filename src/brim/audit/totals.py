"""The sums of an audit."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from brim.audit.trace import Place

RECORDED = "recorded"
"""The scope of numbers about the recorded requests. Each policy has a scope of its own."""
NAMED = 20
"""Unreadable records that are listed."""


@dataclass(slots=True)
class AuditTotals:
    """Sums by scope and name, such as `recorded`, `requests`."""

    numbers: Counter[tuple[str, ...]] = field(default_factory=Counter)
    named: list[tuple[Place, str]] = field(default_factory=list)
    """The first records that could not be replayed, each with its problem."""

    def add(self, *key: str, by: int = 1) -> None:
        """Add to one number."""
        self.numbers[key] += by

    def count(self, scope: str, **numbers: int) -> None:
        """Add to several numbers of a scope."""
        for name, by in numbers.items():
            self.add(scope, name, by=by)

    def peak(self, scope: str, units: int) -> None:
        """Record the size of a request, if it is the longest."""
        self.numbers[scope, "longest"] = max(self.numbers[scope, "longest"], units)

    def name(self, place: Place, problem: str) -> None:
        """Count a record that could not be replayed, and list it if it is among the first."""
        self.add(RECORDED, "unreadable")
        self.named = sorted([*self.named, (place, problem)])[:NAMED]

    def get(self, *key: str) -> int:
        """Return a number; 0 if nothing was added to it."""
        return self.numbers[key]

    def below(self, *key: str) -> dict[str, int]:
        """Return the numbers directly below a key, sorted by the last part of their names."""
        found = {each[-1]: n for each, n in self.numbers.items() if each[:-1] == key}
        return dict(sorted(found.items()))
