"""Which tools a request offers if not all of them fit: those that the history calls, then the best for the question.

A tool that a message of the prompt calls must be defined, or the model sees a call of something that does not exist. So
the history pays for the tools that it calls, and the others share what is left in the order of their relevance.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from brim.amounts import of_budget, units_or_share
from brim.meter.schemas import ToolCounts
from brim.receipts.receipt import Part, State, handle
from brim.requests.terms import RequestTerms
from brim.sections.allocation import Claim


@dataclass(slots=True, eq=False, kw_only=True)
class ToolShare:
    """The tools of a request as a bidder for its budget."""

    functions: Sequence[Sequence[str]]
    """The names of the functions of each tool: one, but for formats in which a tool holds several."""
    counts: ToolCounts
    order: Sequence[int]
    """The tools, the most relevant first."""
    terms: RequestTerms
    budget: int
    written: str
    """All tools as one text, for their handle."""
    pinned: frozenset[int] = frozenset()
    """Tools that are called by messages that always stay."""
    called: frozenset[int] = frozenset()
    """Tools that are called by the other messages that stay."""
    chosen: frozenset[int] = frozenset()
    """Tools that were chosen for their relevance."""
    rank: int = field(init=False)
    size: int = field(init=False)
    ceiling: int | None = field(init=False, default=None)
    grant: int = 0
    load: int = 0
    reason: str = ""
    name: str = "tools"
    required: bool = False

    def __post_init__(self) -> None:
        self.rank = self.terms.tools_rank
        self.size = self.counts.total
        if self.terms.tools_ceiling is not None:
            self.ceiling = int(of_budget(units_or_share("tools_ceiling", self.terms.tools_ceiling), self.budget))

    @property
    def first(self) -> bool:
        """Whether tools are chosen before the other turns of the history."""
        return self.rank <= self.terms.history_rank

    @property
    def kept(self) -> frozenset[int]:
        """The tools that are offered."""
        return self.pinned | self.called | self.chosen

    @property
    def used(self) -> int:
        """Tokens of the tools that are offered."""
        return self.counts.once + self.cost(self.kept) if self.kept else 0

    def cost(self, tools: Collection[int]) -> int:
        """Return the tokens of some tools, without what any tools cost."""
        return sum([self.counts.each[index] for index in tools])

    def indexes(self, names: Collection[str]) -> frozenset[int]:
        """Return the tools with functions of these names, and those without a function, such as a mark of the cache."""
        return frozenset([i for i, own in enumerate(self.functions) if not own or not set(own).isdisjoint(names)])

    def claim(self, toll: int) -> Claim:  # noqa: ARG002 - tools have no separator
        """Return its claim on the budget, besides the tools of messages that always stay."""
        rest = [units for index, units in enumerate(self.counts.each) if index not in self.pinned]
        wanted = sum(rest)
        if self.ceiling is not None:
            wanted = min(wanted, max(0, self.ceiling - self.counts.once - self.cost(self.pinned)))
        floor: int | Fraction = of_budget(units_or_share("tools_floor", self.terms.tools_floor), self.budget)
        reserved = min(max(floor - self.counts.once - self.cost(self.pinned), 0), wanted)
        return Claim(wanted, max(1, min([wanted, *rest])), reserved, self.rank, elastic=True)

    def take(self, grant: int) -> int:
        """Offer the most relevant tools that have at most `grant` tokens, and return how many they have."""
        paid = self.pinned if self.first else self.pinned | self.called
        chosen, left = list[int](), grant
        for index in self.order:
            units = self.counts.each[index]
            if index not in paid and units <= left:
                chosen.append(index)
                left -= units
        self.chosen = frozenset(chosen)
        self.load = grant - left
        unit = "tools" if len(self.functions) > 1 else "tool"
        self.reason = f"the {len(self.kept):,} of {len(self.functions):,} {unit} that are called or the most relevant"
        return self.load

    def drop(self, reason: str) -> None:
        """Offer no tools but those that are called."""
        self.chosen, self.load, self.reason = frozenset(), 0, reason

    def part(self) -> Part:
        """Return its part of the receipt: each tool is an entry."""
        kept, used = self.kept, self.used
        whole = len(kept) == len(self.functions)
        state: State = "whole" if whole else "cut" if kept else "dropped"
        entries = tuple(["whole" if index in kept else "dropped" for index in range(len(self.functions))])
        wanted = self.size if self.ceiling is None else min(self.size, self.ceiling)
        reason = "all of them fit" if whole else self.reason
        return Part(
            self.name,
            state,
            self.rank,
            False,
            self.size,
            max(wanted, used),
            used,
            used,
            reason,
            handle(self.written),
            self.ceiling,
            entries,
            tuple([", ".join(own) for own in self.functions]),
        )
