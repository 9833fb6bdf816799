"""The order in which tools are offered: by the words of the question, and by what the agent did so far."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from operator import mul
from typing import Any

from brim.history.embedding import wordllama
from brim.history.history import History
from brim.history.options import Embed
from brim.history.term_index import TermIndex
from brim.requests.tool_words import related
from brim.wire import definitions

_RELATED = 0.5
"""The weight of words that mean the same as those of the question, against these."""
_NEWEST = 0.5
"""The weight of the words of the newest messages."""
_MEANING = 1.0
"""The weight of meaning, with an embedding."""
_CALLED = 0.5
"""What it is worth that a tool was called before."""
_MESSAGES = 3
"""Messages that count as the newest."""
_LONGEST = 2_000
"""Characters of a message that are read."""
_JOINT = re.compile(r"[._/-]+")


def functions_of(tools: Sequence[Any]) -> list[list[str]]:
    """Return the names of the functions of each tool; that of a tool without one is its type."""
    return [_read(tool)[0] for tool in tools]


def relevant_order(
    tools: Sequence[Any], history: History, question: str | None, embed: Embed | bool | None = None
) -> list[int]:
    """Return the indexes of the tools, the most relevant first.

    Args:
        tools: definitions in any provider's format.
        history: the conversation so far; tools that it called are likely to be called again.
        question: the text to choose by; without it, the last words of the user.
        embed: whether meaning counts too, as in `fit_messages`.
    """
    index = TermIndex()
    for tool in tools:
        index.add(_read(tool)[1])
    asked = question or history.turns.question()[1]
    parts = [(1.0, index.scores(asked)), (_RELATED, index.scores(related(asked)))]
    if said := _newest(history):
        parts.append((_NEWEST, index.scores(said)))
    if embed is not None:
        parts.append((_MEANING, _alike(tools, asked, embed)))
    scores = [0.0] * len(tools)
    for weight, found in parts:
        most = max(found, default=0) or 1
        scores = [score + weight * each / most for score, each in zip(scores, found, strict=True)]
    again = history.called(range(len(history.turns.starts)))
    names = functions_of(tools)
    scores = [score + (0 if again.isdisjoint(own) else _CALLED) for score, own in zip(scores, names, strict=True)]
    # Rounded, so that the last bit of another machine's sum does not change an order.
    return sorted(range(len(tools)), key=lambda at: (-round(scores[at], 6), at))


def _newest(history: History) -> str:
    """Return the texts of the newest messages, in which an agent finds what to do next."""
    return "\n".join([message.text()[:_LONGEST] for message in history.turns.messages[-_MESSAGES:]])


def _alike(tools: Sequence[Any], asked: str, embed: Embed | bool) -> list[float]:
    """Return how near each tool is to the question in meaning."""
    turn = wordllama() if embed is True else embed
    if not callable(turn):
        return [0.0] * len(tools)
    vectors = turn([*(_about(tool) for tool in tools), asked])
    wanted = vectors[-1]
    near = [sum(map(mul, vector, wanted)) / ((sum(map(mul, vector, vector)) ** 0.5) or 1.0) for vector in vectors[:-1]]
    return [max(0.0, each) for each in near]


def _about(tool: Any) -> str:
    """Return the names and descriptions of a tool, in words."""
    inner = map(_inner, definitions([tool]))
    return "\n".join([f"{_JOINT.sub(' ', _name(each))}. {each.get('description') or ''}" for each in inner])


def _read(tool: Any) -> tuple[list[str], str]:
    """Return the names of the functions of a tool in any provider's format, and the words by which it is found."""
    names, words = list[str](), list[str]()
    for each in map(_inner, definitions([tool])):
        names.append(_name(each))
        words += [names[-1], str(each.get("description") or "")]
        for key in ("parameters", "input_schema", "inputSchema"):
            words += _schema_words(each.get(key))
    return names, "\n".join(words)


def _inner(tool: Any) -> Mapping[str, Any]:
    """Return the definition inside a tool."""
    found = next((tool[key] for key in ("function", "custom") if isinstance(tool.get(key), Mapping)), tool)
    return found if isinstance(found, Mapping) else {}


def _name(tool: Mapping[str, Any]) -> str:
    return str(tool.get("name") or tool.get("type") or "")


def _schema_words(schema: Any) -> list[str]:
    """Return the names and descriptions in a schema."""
    words, waiting = list[str](), [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            for key, value in node.items():
                if key == "properties" and isinstance(value, dict):
                    words += map(str, value)
                if key == "description" and isinstance(value, str):
                    words.append(value)
                elif isinstance(value, dict | list):
                    waiting.append(value)
        elif isinstance(node, list):
            waiting += node
    return words
