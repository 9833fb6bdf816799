"""Tool definitions as words: by which of them a tool is found, and how much of a conversation is about it.

An agent sends the same tools with every call, so the index of the last lists is kept.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from brim.history.term_index import TermIndex
from brim.meter.tool_memo import ToolMemo
from brim.meter.words import terms
from brim.wire import definitions

_SCHEMAS = ("parameters", "input_schema", "inputSchema", "parametersJsonSchema")
"""Where providers put the arguments of a tool."""
_JOINT = re.compile(r"[._/-]+")


class ToolWords(NamedTuple):
    """What is read of one tool."""

    functions: tuple[str, ...]
    """The names of its functions, or its type: several only in formats in which a tool holds more than one."""
    text: str
    """The words by which it is found: names, descriptions, arguments."""
    about: str
    """Names and descriptions, as sentences."""
    named: frozenset[str]
    """The terms of its names."""
    takes: frozenset[str]
    """The terms of the names of its arguments."""


class ToolIndex:
    """The words of some tools."""

    def __init__(self, tools: list[ToolWords]) -> None:
        self.tools = tools
        self._terms = TermIndex()
        for tool in tools:
            self._terms.add(tool.text)
        having = Counter(term for tool in tools for term in tool.named | tool.takes)
        self._rarity = {term: math.log(1 + len(tools) / count) for term, count in having.items()}

    def scores(self, query: str) -> list[float]:
        """Return how well each tool matches a query."""
        return self._terms.scores(query)

    def coverage(self, said: Collection[str]) -> list[float]:
        """Return how much of the names of each tool and of its arguments is among some terms, from 0 to 1."""
        return [
            (self._share(tool.named, said) + self._share(tool.takes or tool.named, said)) / 2 for tool in self.tools
        ]

    def _share(self, own: frozenset[str], said: Collection[str]) -> float:
        # Sorted, so that the sums do not depend on the order of a set.
        total = sum([self._rarity[term] for term in sorted(own)])
        return sum([self._rarity[term] for term in sorted(own) if term in said]) / total if total else 0.0


_memo: ToolMemo[ToolWords] = ToolMemo()


def tool_index(tools: Sequence[Any]) -> ToolIndex:
    """Return the index of some tools, in any provider's format; a list that is the same as before is not read again."""
    return _memo.whole(tools, lambda _, tool: _read(tool), ToolIndex)


def _read(tool: Any) -> ToolWords:
    names, words, about, arguments = list[str](), list[str](), list[str](), list[str]()
    for each in map(_inner, definitions([tool])):
        name, told = str(each.get("name") or each.get("type") or ""), str(each.get("description") or "")
        names.append(name)
        words += [name, told]
        about.append(f"{_JOINT.sub(' ', name)}. {told}")
        for key in _SCHEMAS:
            _add_schema(each.get(key), words, arguments)
    named, takes = frozenset(terms(" ".join(names))), frozenset(terms(" ".join(arguments)))
    return ToolWords(tuple(names), "\n".join(words), "\n".join(about), named, takes)


def _inner(tool: Any) -> Mapping[str, Any]:
    """Return the definition inside a tool."""
    found = next((tool[key] for key in ("function", "custom") if isinstance(tool.get(key), Mapping)), tool)
    return found if isinstance(found, Mapping) else {}


def _add_schema(schema: Any, words: list[str], arguments: list[str]) -> None:
    """Add the names and descriptions in a schema to the words, and the names to the arguments."""
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            for key, value in node.items():
                if key == "properties" and isinstance(value, dict):
                    words += map(str, value)
                    arguments += map(str, value)
                if key == "description" and isinstance(value, str):
                    words.append(value)
                elif isinstance(value, dict | list):
                    waiting.append(value)
        elif isinstance(node, list):
            waiting += node
