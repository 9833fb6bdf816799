"""Sums of what was found, which merge exactly: any split of the work gives the same numbers.

Everything is a whole number, and what is named is the first or the greatest few by an order that has no ties, so
merging is free of order and of grouping.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from brim.audit.trace import Place

NAMED = 20
"""Records that are named of those that cannot be judged."""
WORST = 12
"""Conversations that are named."""

Key = tuple[str, ...]
Named = TypeVar("Named", bound=tuple[Any, ...])


class ConversationTotals(NamedTuple):
    """One conversation, for those that are named; they are ordered by their fields."""

    overflows: int
    """Requests that were over the window; with its sign turned, so that the most come first."""
    lost: int
    """Units that left it under the policy that takes the most; with its sign turned as well."""
    peak: int
    """Units of its longest request; with its sign turned as well."""
    place: Place
    requests: int
    model: str


@dataclass(slots=True)
class AuditTotals:
    """What was counted."""

    numbers: dict[Key, int] = field(default_factory=dict)
    peaks: dict[Key, int] = field(default_factory=dict)
    """The greatest of some numbers."""
    named: list[tuple[Place, str]] = field(default_factory=list)
    """The first records that could not be judged, with what is wrong."""
    worst: list[ConversationTotals] = field(default_factory=list)

    def add(self, *key: str, by: int = 1) -> None:
        """Add to a number."""
        self.numbers[key] = self.numbers.get(key, 0) + by

    def peak(self, *key: str, at: int) -> None:
        """Take note of a number, if it is the greatest."""
        self.peaks[key] = max(self.peaks.get(key, 0), at)

    def name(self, place: Place, problem: str) -> None:
        """Take note of a record that could not be judged."""
        self.named = _first([*self.named, (place, problem)], NAMED)

    def rank(self, talk: ConversationTotals) -> None:
        """Take note of a conversation, if it is among the worst."""
        self.worst = _first([*self.worst, talk], WORST)

    def merge(self, other: AuditTotals) -> None:
        """Take in what another one counted."""
        for key, count in other.numbers.items():
            self.add(*key, by=count)
        for key, count in other.peaks.items():
            self.peak(*key, at=count)
        self.named = _first([*self.named, *other.named], NAMED)
        self.worst = _first([*self.worst, *other.worst], WORST)

    def get(self, *key: str) -> int:
        """Return a number; 0 where nothing was added to it."""
        return self.numbers.get(key, 0)

    def below(self, *key: str) -> dict[str, int]:
        """Return the numbers one level below a key, by their last name, in its order."""
        size = len(key)
        found = {each[-1]: n for each, n in self.numbers.items() if len(each) == size + 1 and each[:size] == key}
        return dict(sorted(found.items()))


def _first(values: Iterable[Named], most: int) -> list[Named]:
    return sorted(values)[:most]
