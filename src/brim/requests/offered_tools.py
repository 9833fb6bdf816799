"""Which tools a request offers if not all of them fit: those that the history calls, then the best for the question.

A tool that a message of the prompt calls must be defined, or the model sees a call of something that does not exist. So
the history pays for the tools that it calls, and the others share what is left in the order of their relevance.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction

from brim.meter.schemas import ToolCounts
from brim.receipts.receipt import Part, State, handle


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedTools:
    """The tools of a request of which some may be left out."""

    functions: Sequence[Sequence[str]]
    """The names of the functions of each tool: one, but for formats in which a tool holds several."""
    counts: ToolCounts
    order: Sequence[int]
    """The tools, the most relevant first."""
    rank: int
    """Their priority."""
    floor: int | Fraction
    """Tokens that are reserved for them."""
    ceiling: int | None
    """The most tokens of them, besides those that are called."""

    def cost(self, tools: Collection[int]) -> int:
        """Return the tokens of some tools, without what any tools cost."""
        return sum([self.counts.each[index] for index in tools])

    def used(self, kept: Collection[int]) -> int:
        """Return the tokens of the tools that are offered."""
        return self.counts.once + self.cost(kept) if kept else 0

    def indexes(self, names: Collection[str]) -> frozenset[int]:
        """Return the tools with functions of these names, and those without a function, such as a mark of the cache."""
        return frozenset([i for i, own in enumerate(self.functions) if not own or not set(own).isdisjoint(names)])

    def best(self, grant: int, paid: Collection[int]) -> frozenset[int]:
        """Return the most relevant tools that have at most `grant` tokens, besides those that are paid for."""
        chosen, left = list[int](), grant
        for index in self.order:
            units = self.counts.each[index]
            if index not in paid and units <= left:
                chosen.append(index)
                left -= units
        return frozenset(chosen)

    def part(self, kept: Collection[int], written: str, dropped: str) -> Part:
        """Return their part of the receipt: each tool is an entry.

        Args:
            kept: the tools that are offered.
            written: all tools as one text, for their handle.
            dropped: why only those are offered that are called; empty if others were chosen.
        """
        used, size = self.used(kept), self.counts.total
        whole = len(kept) == len(self.functions)
        state: State = "whole" if whole else "cut" if kept else "dropped"
        entries = tuple(["whole" if index in kept else "dropped" for index in range(len(self.functions))])
        wanted = size if self.ceiling is None else min(size, self.ceiling)
        unit = "tools" if len(self.functions) > 1 else "tool"
        reason = f"the {len(kept):,} of {len(self.functions):,} {unit} that are called or the most relevant"
        return Part(
            "tools",
            state,
            self.rank,
            False,
            size,
            max(wanted, used),
            used,
            used,
            "all of them fit" if whole else dropped or reason,
            handle(written),
            self.ceiling,
            entries,
            tuple([", ".join(own) for own in self.functions]),
        )
