"""Which tools a request offers if not all of them fit: those that the history calls, then the best for the question.

A tool that a message of the prompt calls must be defined, or the model sees a call of something that does not exist. So
the history pays for the tools that it calls, and the others share what is left in the order of their relevance: BM25.

The text of a tool is its definition: names, descriptions, arguments and their values. The question, the system prompt,
each of the newest messages and the names of the tools that were called are queries, and their scores are added.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from operator import mul
from typing import Any

from brim.history.embedding import wordllama
from brim.history.history import History
from brim.history.options import Embed
from brim.history.relevance import TermIndex
from brim.meter.schemas import ToolCounts
from brim.receipts.receipt import Part, State, handle
from brim.wire import definitions

_MESSAGES = 3
"""Newest messages that are queries: in them an agent finds what to do next. With two, the tool of the next call is
among the first 40 of 300 in 0.80 of the steps instead of 0.83 (tau-bench, airline); with six, among the first 16 in
0.78 instead of 0.88 (retail)."""
_LONGEST = 500
"""Characters of each of these that are read, which leaves out most of a long result. With 250, the tool of the next
call is among the first 40 in 0.90 of the steps instead of 0.93 (retail); with 1,000, in 0.92."""
_CALLED = 0.5
"""What a tool that was called before has in addition, as a share of the best score. 0.25 and 1 do the same."""


def functions_of(tools: Sequence[Any]) -> list[list[str]]:
    """Return the names of the functions of each tool; that of a tool without one is its type."""
    return [[_name(each) for each in _functions(tool)] for tool in tools]


def relevant_order(
    tools: Sequence[Any],
    history: History,
    question: str | None,
    embed: Embed | bool | None = None,
    *,
    instructions: str = "",
) -> list[int]:
    """Return the indexes of the tools, the most relevant first.

    Args:
        tools: definitions in any provider's format.
        history: the conversation so far; tools that it called are likely to be called again.
        question: the text to choose by; without it, the last words of the user.
        embed: whether meaning counts as much as words, as in `fit_messages`.
        instructions: the system prompt, if it is not part of the history.
    """
    texts = tuple(["\n".join(_words(_functions(tool))) for tool in tools])
    index = _index(texts)
    asked = question or history.turns.question()[1]
    called = history.called(range(len(history.turns.starts)))
    newest = [message.text()[:_LONGEST] for message in history.turns.messages[-_MESSAGES:]]
    queries = dict.fromkeys([asked, instructions, *newest, " ".join(sorted(called))])
    scores = [sum(each) for each in zip(*[index.scores(query) for query in queries], strict=True)]
    best = max(scores, default=0.0) or 1.0
    if embed is not None:
        scores = [score + best * near for score, near in zip(scores, _alike(texts, asked, embed), strict=True)]
    for at, own in enumerate(functions_of(tools)):
        scores[at] += 0.0 if called.isdisjoint(own) else _CALLED * best
    # Rounded, so that the last bit of another machine's sum does not change an order.
    return sorted(range(len(tools)), key=lambda at: (-round(scores[at], 6), at))


@lru_cache(maxsize=8)
def _index(texts: tuple[str, ...]) -> TermIndex:
    """Return an index of texts; an agent sends the same tools with every call, so the last ones are kept."""
    index = TermIndex()
    for text in texts:
        index.add(text)
    return index


def _functions(tool: Any) -> list[Mapping[str, Any]]:
    """Return the functions of a tool: several only in formats in which a tool has more than one."""
    return [
        next((each[key] for key in ("function", "custom") if isinstance(each.get(key), Mapping)), each)
        for each in definitions([tool])
    ]


def _name(function: Mapping[str, Any]) -> str:
    return str(function.get("name") or function.get("type") or "")


def _words(value: Any) -> Iterator[str]:
    """Yield the keys and texts in JSON values. Keys that all tools have, such as `type`, weigh next to nothing."""
    waiting = [value]
    while waiting:
        node = waiting.pop()
        if isinstance(node, str):
            yield node
        elif isinstance(node, Mapping):
            yield from map(str, node)
            waiting += node.values()
        elif isinstance(node, list | tuple):
            waiting += node


def _alike(texts: Sequence[str], asked: str, embed: Embed | bool) -> list[float]:
    """Return how near each text is to the question in meaning, from 0 to 1 for the nearest."""
    turn = wordllama() if embed is True else embed
    if not callable(turn):
        return [0.0] * len(texts)
    *vectors, wanted = turn([*texts, asked])
    near = [sum(map(mul, vector, wanted)) / ((sum(map(mul, vector, vector)) ** 0.5) or 1.0) for vector in vectors]
    most = max(near, default=0.0)
    return [max(0.0, each) / most if most > 0 else 0.0 for each in near]


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
