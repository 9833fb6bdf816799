"""The sums of an audit, which merge exactly: any split of the work gives the same numbers.

Every number is an integer, and the listed records and conversations are the first few in a total order, so the order of
merges does not matter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from brim.audit.trace import Place

RECORDED = "recorded"
"""The scope of numbers about the recorded requests. Each policy has a scope of its own."""
NAMED = 20
"""Unreadable records that are listed."""
WORST = 12
"""Conversations that are listed."""

Named = TypeVar("Named", bound=tuple[Any, ...])


class ConversationTotals(NamedTuple):
    """One conversation. Its numbers are negative, so that the worst conversation sorts first."""

    overflows: int
    """Requests that were over the window."""
    lost: int
    """Tokens dropped under the policy that drops the most."""
    longest: int
    """Tokens of the longest request."""
    place: Place
    requests: int
    model: str


@dataclass(slots=True)
class AuditTotals:
    """Sums by scope and name, such as `recorded`, `requests`."""

    numbers: Counter[tuple[str, ...]] = field(default_factory=Counter)
    peaks: dict[str, int] = field(default_factory=dict)
    """Tokens of the longest request, by scope."""
    named: list[tuple[Place, str]] = field(default_factory=list)
    """The first records that could not be replayed, each with its problem."""
    worst: list[ConversationTotals] = field(default_factory=list)

    def add(self, *key: str, by: int = 1) -> None:
        """Add to one number."""
        self.numbers[key] += by

    def count(self, scope: str, **numbers: int) -> None:
        """Add to several numbers of a scope."""
        for name, by in numbers.items():
            self.add(scope, name, by=by)

    def peak(self, scope: str, units: int) -> None:
        """Record the size of a request, if it is the longest."""
        self.peaks[scope] = max(self.peaks.get(scope, 0), units)

    def name(self, place: Place, problem: str) -> None:
        """Count a record that could not be replayed, and list it if it is among the first."""
        self.add(RECORDED, "unreadable")
        self.named = _first([*self.named, (place, problem)], NAMED)

    def rank(self, conversation: ConversationTotals) -> None:
        """List a conversation if it is among the worst."""
        self.worst = _first([*self.worst, conversation], WORST)

    def merge(self, other: AuditTotals) -> None:
        """Add the sums of another part."""
        self.numbers.update(other.numbers)
        for scope, units in other.peaks.items():
            self.peak(scope, units)
        self.named = _first([*self.named, *other.named], NAMED)
        self.worst = _first([*self.worst, *other.worst], WORST)

    def get(self, *key: str) -> int:
        """Return a number; 0 if nothing was added to it."""
        return self.numbers[key]

    def below(self, *key: str) -> dict[str, int]:
        """Return the numbers directly below a key, sorted by the last part of their names."""
        size = len(key)
        found = {each[-1]: n for each, n in self.numbers.items() if len(each) == size + 1 and each[:size] == key}
        return dict(sorted(found.items()))


def _first(values: Iterable[Named], most: int) -> list[Named]:
    return sorted(values)[:most]
