"""The facts of messages, each once: in how many messages it is stated, and which weigh most.

Facts are sorted by their weight as they come, so that the weightiest of tens of thousands are found without looking at
all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import nlargest
from typing import NamedTuple

from brim.history.compact.facts import (
    MOST_TIMES,
    ROLES,
    SPOKEN,
    Fact,
    MessageText,
    StatedFact,
    facts_in,
    ranked,
    weight,
)

Key = tuple[str, str]
"""The kind of a fact and its text."""
Group = tuple[str, str, int]
"""The kind of facts, their role, and how often they are stated: facts of one weight."""


class TalliedFact(NamedTuple):
    """A fact, before it is known whether it is among the weightiest."""

    at: int
    """The number of the first message that states it."""
    order: int
    """Its number among the facts, negative: of one message the first is the greatest."""
    kind: str
    text: str
    handle: str
    role: str
    times: int

    @property
    def weight(self) -> int:
        """How important it is to keep it."""
        return weight(self.kind, self.role, self.times)

    @property
    def group(self) -> Group:
        """Facts that weigh the same; more than so many times count no more."""
        return self.kind, self.role, min(self.times, MOST_TIMES)


class FactTally:
    """The facts of messages that come one after the other."""

    def __init__(self) -> None:
        self._found: dict[Key, TalliedFact] = {}
        self._groups: dict[Group, dict[Key, TalliedFact]] = {}

    def copy(self) -> FactTally:
        """Return a tally that can grow without this one."""
        made = FactTally()
        made._found = dict(self._found)
        made._groups = {group: dict(facts) for group, facts in self._groups.items()}
        return made

    def remains(self) -> list[object]:
        """Return what it is made of, for a caller that frees it little by little."""
        return [*self._found, *self._found.values()]

    def add(self, at: int, handle: str, facts: Iterable[StatedFact]) -> None:
        """Add the facts of a message, which has a number and a handle."""
        found = self._found
        for role, kind, text in facts:
            key = kind, text.casefold() if kind in SPOKEN else text
            known = found.get(key)
            if known is None:
                self._put(key, TalliedFact(at, -len(found), kind, text, handle, role, 1))
            elif known.at != at or known.role != role:
                best = max(known.role, role, key=lambda name: ROLES.get(name, 0))
                del self._groups[known.group][key]
                self._put(key, known._replace(times=known.times + 1, role=best))

    def _put(self, key: Key, fact: TalliedFact) -> None:
        self._found[key] = fact
        self._groups.setdefault(fact.group, {})[key] = fact

    def best(self, most: int) -> list[Fact]:
        """Return the weightiest facts, the newest first among equals.

        A fact weighs less the more of its kind a tool printed before it, and whatever the others are. So none but the
        first of each group can be among the first of all.
        """
        chosen = [fact for group, facts in self._groups.items() for fact in _newest(facts, most, group[2])]
        chosen.sort(key=lambda fact: -fact.order)
        first = ranked(chosen)[:most]
        return [Fact(kind=f.kind, text=f.text, handle=f.handle, role=f.role, at=f.at, times=f.times) for f in first]


def _newest(facts: dict[Key, TalliedFact], most: int, times: int) -> list[TalliedFact]:
    """Return the newest facts of a group; those that were stated once are in their order."""
    if times > 1 or len(facts) <= most:
        return nlargest(most, facts.values())
    found: list[TalliedFact] = []
    for fact in reversed(facts.values()):
        if len(found) >= most and fact.at < found[-1].at:
            break
        found.append(fact)
    return sorted(found, reverse=True)[:most]


def harvest(messages: Iterable[MessageText], most: int = 200) -> list[Fact]:
    """Return the facts in messages, each once, the weightiest first and the newest first among equals.

    Secrets are removed first.
    """
    tally = FactTally()
    for at, one in enumerate(messages):
        tally.add(at, one.handle, facts_in(one))
    return tally.best(most)
