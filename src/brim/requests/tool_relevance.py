"""The order in which tools are offered: by the words of the question, and by what the conversation is about."""

from __future__ import annotations

from collections.abc import Sequence
from operator import mul
from typing import Any

from brim.history.embedding import wordllama
from brim.history.history import History
from brim.history.options import Embed
from brim.meter.words import terms
from brim.requests.tool_index import ToolIndex, tool_index
from brim.requests.tool_words import is_general, related

_RELATED = 0.5
"""The weight of words that mean the same as those of the question, against these."""
_NEWEST = 0.5
"""The weight of the words of the newest messages."""
_MEANING = 1.0
"""The weight of meaning, with an embedding."""
_CALLED = 0.5
"""What it is worth that a tool was called before."""
_COVERAGE = 3.0
"""What it is worth that all names of a tool and of its arguments occur in the conversation."""
_MESSAGES = 3
"""Messages that count as the newest."""
_LONGEST = 2_000
"""Characters of a message that are read."""
_RECENT = 12
"""Messages that tell what the conversation is about, besides its instructions."""
_INSTRUCTIONS = 16_000
"""Characters of the instructions that are read."""


def functions_of(tools: Sequence[Any]) -> list[list[str]]:
    """Return the names of the functions of each tool; that of a tool without one is its type."""
    return [list(tool.functions) for tool in tool_index(tools).tools]


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
        embed: whether meaning counts too, as in `fit_messages`.
        instructions: the system prompt, if it is not part of the history.
    """
    index = tool_index(tools)
    asked = question or history.turns.question()[1]
    parts = [(1.0, index.scores(asked)), (_RELATED, index.scores(related(asked)))]
    if said := _newest(history):
        parts.append((_NEWEST, index.scores(said)))
    if embed is not None:
        parts.append((_MEANING, _alike(index, asked, embed)))
    scores = [0.0] * len(tools)
    for weight, found in parts:
        most = max(found, default=0) or 1
        scores = [score + weight * each / most for score, each in zip(scores, found, strict=True)]
    again = history.called(range(len(history.turns.starts)))
    for at, (tool, covered) in enumerate(
        zip(index.tools, index.coverage(_topics(history, again, instructions)), strict=True)
    ):
        scores[at] += _COVERAGE * (1.0 if is_general(tool.named) else covered)
        scores[at] += 0 if again.isdisjoint(tool.functions) else _CALLED
    # Rounded, so that the last bit of another machine's sum does not change an order.
    return sorted(range(len(tools)), key=lambda at: (-round(scores[at], 6), at))


def _newest(history: History) -> str:
    """Return the texts of the newest messages, in which an agent finds what to do next."""
    return "\n".join([message.text()[:_LONGEST] for message in history.turns.messages[-_MESSAGES:]])


def _topics(history: History, called: set[str], instructions: str) -> set[str]:
    """Return the terms of the instructions, of the newest messages and of the tools that were called."""
    messages = history.turns.messages
    leading = [message.text() for message in messages[:2] if message.role in ("system", "developer")]
    texts = [message.text()[:_LONGEST] for message in messages[-_RECENT:]]
    texts += ["\n".join([instructions, *leading])[:_INSTRUCTIONS], *sorted(called)]
    return {term for text in texts for term in terms(text)}


def _alike(index: ToolIndex, asked: str, embed: Embed | bool) -> list[float]:
    """Return how near each tool is to the question in meaning."""
    turn = wordllama() if embed is True else embed
    if not callable(turn):
        return [0.0] * len(index.tools)
    vectors = turn([*(tool.about for tool in index.tools), asked])
    wanted = vectors[-1]
    near = [sum(map(mul, vector, wanted)) / ((sum(map(mul, vector, vector)) ** 0.5) or 1.0) for vector in vectors[:-1]]
    return [max(0.0, each) for each in near]
