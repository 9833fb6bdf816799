"""Which lines of a continuation a prompt has room for.

Each group of lines gets a share of the room, in the order of the groups, and passes on what it does not use; what is
left at the end is filled with the other lines. So a context with many paths hands over its findings too, and one
with few facts fills its room.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from brim.history.compact.carried import FOUND, TOLD
from brim.history.compact.deeds import Deed
from brim.history.compact.facts import ITEM, SPOKEN, FactLine
from brim.meter.base import BaseMeter
from brim.meter.words import terms

CALL = "call"
"""The kind of a line that tells of a call."""
_SENTENCES = (*SPOKEN, TOLD, FOUND, "done")
_REPEATED = (9, 10)
"""A statement is left out if this part of its words stands in other lines."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LineGroup:
    """Lines that share a part of the room, the most important first."""

    lines: Sequence[FactLine]
    share: tuple[int, int]
    """The part of the room for them, before the other groups have theirs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HandOver:
    """The text that a context begins with, and how much of the continuation is in it."""

    text: str
    shown: Mapping[str, int]
    """How many lines of each kind are in it."""
    known: Mapping[str, int]
    """How many lines of each kind the continuation has."""


@dataclass(slots=True)
class LineChoice:
    """The lines that are chosen so far, and the room that is left."""

    meter: BaseMeter
    room: int
    text: str
    """What stands in the prompt already."""
    kept: list[FactLine] = field(default_factory=list)
    _words: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._words = set(terms(self.text))

    def fill(self, groups: Sequence[LineGroup]) -> None:
        """Take lines of each group up to its share of the room, then all others that fit."""
        whole = self.room
        rest = [self._take(group.lines, whole * group.share[0] // group.share[1]) for group in groups]
        for lines in rest:
            self._take(lines, self.room)

    def refill(self, groups: Sequence[LineGroup], room: int) -> bool:
        """Take more lines, since there is more room than was estimated; return whether any was taken."""
        before, self.room = len(self.kept), room
        taken = set(map(id, self.kept))
        for group in groups:
            self._take([line for line in group.lines if id(line) not in taken], self.room)
        return len(self.kept) > before

    def lengthen(self, deeds: Sequence[Deed], room: int) -> bool:
        """Add outcomes to the calls that were taken, the newest first, while there is room; return whether any was."""
        known: dict[str, list[Deed]] = {}
        for deed in deeds:
            known.setdefault(deed.call, []).append(deed)
        # Calls were taken from the newest on.
        taken = [(at, known[line.text].pop()) for at, line in enumerate(self.kept) if line.kind == CALL]
        before = room
        for step in (1, 2):
            for at, deed in taken:
                line = self.kept[at]
                longer = deed.texts[min(step, len(deed.texts) - 1)]
                more = self.meter.load(longer) - self.meter.load(line.text)
                if 0 < more <= room:
                    self.kept[at] = replace(line, text=longer)
                    room -= more
        return room < before

    def counted(self) -> Counter[str]:
        """Return how many lines of each kind are chosen."""
        return Counter(line.kind for line in self.kept)

    def _take(self, lines: Sequence[FactLine], room: int) -> list[FactLine]:
        """Take the first lines that fit into a room, and return those that are left."""
        left = []
        for line in lines:
            if self._is_known(line):
                continue
            cost = self.meter.load(line.text) + ITEM
            if cost > min(room, self.room):
                left.append(line)
                continue
            self.kept.append(line)
            room -= cost
            self.room -= cost
            if line.kind in _SENTENCES:
                self.text += f"{line.text}\n"
            self._words.update(terms(line.text))
        return left

    def _is_known(self, line: FactLine) -> bool:
        """Return whether a line tells nothing that other lines do not tell."""
        if line.kind in _SENTENCES and line.kind != "constraint":
            words = set(terms(line.text))
            return len(words & self._words) * _REPEATED[1] >= len(words) * _REPEATED[0]
        return line.kind != CALL and line.text in self.text
