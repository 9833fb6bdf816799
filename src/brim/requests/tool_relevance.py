"""The order in which tools are offered: by the words of the question, and by what the agent did so far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from brim.history.history import History
from brim.history.options import Embed
from brim.history.term_index import TermIndex


def tool_names(tools: Sequence[Any]) -> list[str]:
    """Return the name of each tool; that of a tool without one is its type."""
    return [_read(tool)[0] for tool in tools]


def relevant_order(
    tools: Sequence[Any], history: History, question: str | None, embed: Embed | bool | None = None
) -> list[int]:
    """Return the indexes of the tools, the most relevant first.

    Args:
        tools: definitions in any provider's format.
        history: the conversation so far.
        question: the text to choose by; without it, the last words of the user.
        embed: whether meaning counts too, as in `fit_messages`.
    """
    index = TermIndex()
    for tool in tools:
        index.add(_read(tool)[1])
    scores = index.scores(question or history.turns.question()[1])
    return sorted(range(len(tools)), key=lambda at: (-scores[at], at))


def _read(tool: Any) -> tuple[str, str]:
    """Return the name of a tool in any provider's format, and the words by which it is found."""
    inner = tool
    for key in ("function", "custom", "toolSpec"):
        if isinstance(inner, dict) and isinstance(inner.get(key), dict):
            inner = inner[key]
    name = str(inner.get("name") or inner.get("type") or "")
    words = [name, str(inner.get("description") or "")]
    for key in ("parameters", "input_schema", "inputSchema"):
        words += _schema_words(inner.get(key))
    return name, "\n".join(words)


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
