"""Which tools a request offers if not all of them fit: those that the history calls, then the most relevant.

The tools are chosen in the same pass as the turns (history/tools.py), by their place in an order of relevance by BM25.
The text of a tool is its definition: names, descriptions, arguments and their values. The question, the system prompt,
each of the newest messages and the names of the called tools are queries, and their scores are added.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from operator import mul
from typing import Any

from brim.history.history import History
from brim.history.history_fit import HistoryFit
from brim.history.tools import called_names
from brim.receipts.receipt import Part, State, handle
from brim.relevance.lexical import Relevance
from brim.relevance.meaning import Embed, wordllama
from brim.wire import definitions

_MESSAGES = 3
"""Number of newest messages that are used as queries. With two, the tool of the next call is among the first 40 of 300
in 0.80 of the steps instead of 0.83 (tau-bench, airline); with six, among the first 16 in 0.78 instead of 0.88
(retail).
"""
_LONGEST = 500
"""Characters of each of these messages that are read. With 250, the tool of the next call is among the first 40 in 0.90
of the steps instead of 0.93 (retail); with 1,000, in 0.92.
"""
_CALLED = 0.5
"""Bonus for a tool that was called before, as a share of the best score. 0.25 and 1 do the same."""


def functions_of(tools: Sequence[Any]) -> list[list[str]]:
    """Return the names of the functions of each tool; a tool without functions is listed under its type."""
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
        question: the text to choose by; by default the last message of the user.
        embed: whether meaning counts as much as words, as in `fit_messages`.
        instructions: the system prompt, if it is not part of the history.
    """
    texts = tuple(["\n".join(_words(_functions(tool))) for tool in tools])
    index = _index(texts)
    question = question or history.turns.question
    called = called_names(history.turns, range(len(history.turns.starts)))
    newest = [message.text()[:_LONGEST] for message in history.turns.messages[-_MESSAGES:]]
    queries = dict.fromkeys([question, instructions, *newest, " ".join(sorted(called))])
    scores = [sum(each) for each in zip(*[index.scores(query) for query in queries], strict=True)]
    best = max(scores, default=0.0) or 1.0
    if embed is not None:
        scores = [score + best * near for score, near in zip(scores, _similarity(texts, question, embed), strict=True)]
    for at, names in enumerate(functions_of(tools)):
        scores[at] += 0.0 if called.isdisjoint(names) else _CALLED * best
    # Rounded, so that floating-point differences between machines do not change the order.
    return sorted(range(len(tools)), key=lambda at: (-round(scores[at], 6), at))


@lru_cache(maxsize=8)
def _index(texts: tuple[str, ...]) -> Relevance:
    """Return an index of texts; an agent sends the same tools with every call, so recent indexes are cached."""
    index = Relevance(conversation=False)
    for text in texts:
        index.add(text)
    return index


def _functions(tool: Any) -> list[Mapping[str, Any]]:
    """Return the functions of a tool; only some formats allow more than one."""
    return [
        next((each[key] for key in ("function", "custom") if isinstance(each.get(key), Mapping)), each)
        for each in definitions([tool])
    ]


def _name(function: Mapping[str, Any]) -> str:
    return str(function.get("name") or function.get("type") or "")


def _words(value: Any) -> Iterator[str]:
    """Yield the keys and strings in JSON values; BM25 gives almost no weight to keys that all tools have."""
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


def _similarity(texts: Sequence[str], question: str, embed: Embed | bool) -> list[float]:
    """Return how similar each text is in meaning to the question: from 0 to 1 for the most similar text."""
    vectors_of = wordllama() if embed is True else embed
    if not callable(vectors_of):
        return [0.0] * len(texts)
    *vectors, wanted = vectors_of([*texts, question])
    near = [sum(map(mul, vector, wanted)) / ((sum(map(mul, vector, vector)) ** 0.5) or 1.0) for vector in vectors]
    most = max(near, default=0.0)
    return [max(0.0, each) / most if most > 0 else 0.0 for each in near]


def tools_part(fit: HistoryFit, rank: int, written: str) -> Part:
    """Return the tools' part of the receipt; each tool is an entry.

    Args:
        fit: what was chosen.
        rank: the priority of the tools.
        written: all tools as one text, for the handle.
    """
    tools, kept = fit.fitting.tools, fit.fitting.tools.indexes(fit.kept_tools)
    used, size, left_out = tools.cost(fit.kept_tools), tools.cost(tools.sizes), tools.sizes.keys() - fit.kept_tools
    entries = tuple(["whole" if index in kept else "dropped" for index in range(len(tools.functions))])
    state: State = "whole" if not left_out else "cut" if kept else "dropped"
    if not left_out:
        reason = "all of them fit"
    elif fit.kept_tools == tools.called(fit.fitting.turns, fit.kept_turns()):
        least = min([tools.cost([tool], fit.kept_tools) for tool in left_out])
        reason = f"it needs at least {least:,} {fit.fitting.turns.meter.unit}, and fewer were left"
    else:
        noun = "tools" if len(entries) > 1 else "tool"
        reason = f"the {len(kept):,} of {len(entries):,} {noun} that are called or the most relevant"
    ids = tuple([", ".join(names) for names in tools.functions])
    return Part(
        "tools", state, rank, False, size, size, used, used, reason, handle(written), entry_states=entries, ids=ids
    )
