"""The tools of a request as items: what each costs, what it is worth, and which turns call it.

A tool that a message calls must be defined, or the model would see a call of a tool that does not exist. So a turn pays
for the tools that it calls; any other tool goes in by its worth per token, like everything else.

Each tool has a number: -2 is the most relevant, -3 the next. So a choice can keep turns and tools in one dictionary.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import accumulate

from brim.history.turns import Turns
from brim.history.worth import of_tool
from brim.meter.schemas import ToolCounts

_FIRST = -2


@dataclass(slots=True, kw_only=True)
class OfferedTools:
    """The tools of a request, of which some may be left out."""

    functions: Sequence[Sequence[str]] = ()
    """The names of the functions of each tool; an entry without functions is a cache mark."""
    counts: ToolCounts = field(default_factory=lambda: ToolCounts(0, [], exact=True))
    order: Sequence[int] = ()
    """The indexes of the tools, the most relevant first."""
    share: int = 0
    """Tokens that tools may take before turns that are not chosen by worth."""
    sizes: dict[int, int] = field(init=False)
    """The tokens of each tool, by number, without cache marks."""
    worths: dict[int, float] = field(init=False)
    """What a token of each tool is worth, by number."""
    _numbers: dict[str, list[int]] = field(init=False, default_factory=dict)
    """The tools that have a function of some name."""

    def __post_init__(self) -> None:
        self.order = [index for index in self.order if self.functions[index]]
        self.sizes = {_FIRST - place: self.counts.each[index] for place, index in enumerate(self.order)}
        self.worths = {number: of_tool(_FIRST - number, size) for number, size in self.sizes.items()}
        for place, index in enumerate(self.order):
            for name in self.functions[index]:
                self._numbers.setdefault(name, []).append(_FIRST - place)

    def called(self, turns: Turns, some: Iterable[int]) -> set[int]:
        """Return the tools that some turns call."""
        names = called_names(turns, some) if self._numbers else ()
        return {number for name in names for number in self._numbers.get(name, ())}

    def cost(self, tools: Collection[int], paid: Collection[int] = ()) -> int:
        """Return the tokens of some tools; those that any tools add are part of the first."""
        return sum([self.sizes[number] for number in tools]) + (self.counts.once if tools and not paid else 0)

    def due(self, turns: Turns, some: Iterable[int], chosen: Set[int]) -> dict[int, int]:
        """Return the tools that some turns call and that are not chosen yet, each with its tokens.

        `chosen` has the tools that are chosen, and perhaps turns.
        """
        if not self.sizes:
            return {}
        due, paid = dict[int, int](), self.sizes.keys() & chosen
        for number in sorted(self.called(turns, some) - paid):
            due[number] = self.cost([number], paid or due)
        return due

    def ranked(self, ranks: Mapping[int, int]) -> dict[int, int]:
        """Return the ranks of turns and tools: the tools within their share come before the turns, the others after."""
        first, sums = max(ranks.values(), default=0) + 1, accumulate(self.sizes.values())
        return {**ranks, **{tool: first * (sum_ <= self.share) for tool, sum_ in zip(self.sizes, sums, strict=True)}}

    def filled(self, kept: Collection[int], room: int) -> set[int]:
        """Return the tools that are kept, with the most relevant of the others that fit into some room."""
        found = set(kept)
        for number in self.sizes:
            if number not in found and (cost := self.cost([number], found)) <= room:
                found.add(number)
                room -= cost
        return found

    def indexes(self, kept: Collection[int]) -> set[int]:
        """Return the indexes of the tools that are kept, and of the cache marks if there are any such tools."""
        marks = [index for index, names in enumerate(self.functions) if not names]
        return {*marks, *(self.order[_FIRST - number] for number in kept)} if kept else set()


def called_names(turns: Turns, some: Iterable[int]) -> set[str]:
    """Return the names of the functions that some turns call."""
    messages = (turns.messages[at] for turn in some for at in turns.members(turn))
    return {piece.name for each in messages if each.calls for piece in each.pieces if piece.kind == "call"}
