"""JSON as a tree of its own literals, read without recursion.

Numbers and strings stay as they were written, so that `1.0`, `1e400`, escapes and duplicate keys survive, and a hundred
thousand nested brackets are only a long list. The reader accepts what `json.loads` accepts.

Of a document with very many values the first are kept, and the others counted: millions of objects take gigabytes, and
each search for cycles among them would stop all threads.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from operator import methodcaller
from typing import Any

_TOKEN = re.compile(
    r'[ \t\n\r]*+(?:("[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+"|[\[\]{}]'
    r"|-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+-]?[0-9]++)?+|true|false|null|NaN|-?Infinity)[ \t\n\r]*+([,:])?+"
    r'|"[\s\S]*+|[^ \t\n\r])'
)
"""A scalar or a bracket, and the comma or colon after it. Anything else matches without groups; a string without an
end matches to the end of the text, or each quote in it would be taken for another start."""
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str)
"""Numbers stay text: a long one is valid, but Python refuses to make it an int."""
_CLOSES = {"[": "]", "{": "}", '"': '"'}
_MOST = 200_000
"""Values of a document that are kept."""
_MOST_OUTER = 1_000
"""Texts and numbers of its outermost object or array that are kept nevertheless, such as a status at its end."""
_LONG = 1_000_000
"""Characters of a document that is read token by token: what reads a text in one go stops all other threads."""
_SAMPLE = 20_000
"""Characters that show the layout of a document."""
_INDENT = re.compile(r"[\[{][ \t]*\r?\n([ \t]*)")


class Array(list["Node"]):
    """The items between two brackets."""

    more = 0
    """How many were not kept."""


class Object(list[tuple[str, "Node"]]):
    """The fields between two braces: each key as it was written, and its value."""

    more = 0
    """How many were not kept."""


Node = str | Array | Object
_KINDS: dict[str, type[Array] | type[Object]] = {"[": Array, "{": Object}


@dataclass(slots=True)
class JsonTree:
    """A document, its layout, and the sizes of its biggest parts."""

    root: Node = ""
    indent: str | None = None
    """The indentation of one level; `None` if the document is one line."""
    comma: str = ","
    colon: str = ":"
    """These two with the space that follows them."""
    depth: int = 0
    """The deepest nesting of containers."""
    items: int = 0
    """Items of the longest array."""
    keys: int = 0
    """Keys of the largest object."""
    string: int = 0
    """Characters of the longest string, as written."""


@dataclass(slots=True)
class _Room:
    """How many more values of a document are kept."""

    left: int = _MOST
    outer: int = _MOST_OUTER

    def takes(self, *, outermost: bool) -> bool:
        """Return whether one more is kept; `outermost` is a text or a number of the outermost container."""
        if self.left:
            self.left -= 1
        elif outermost and self.outer:
            self.outer -= 1
        else:
            return False
        return True


def is_json(text: str) -> bool:
    """Return whether a text is one JSON document."""
    if len(text) > _LONG:
        return parse(text) is not None
    try:
        _DECODER.decode(text)
    except RecursionError:
        return parse(text) is not None
    except ValueError:
        return False
    return True


def parse(text: str) -> JsonTree | None:
    """Return the tree of a JSON document, or `None` if `text` is not one."""
    text = text.rstrip(" \t\n\r")  # No token follows the last blanks, and each would be a place to look for one.
    # The last character shows that a document was cut off, without reading all of it.
    if text[-1:] != _CLOSES.get(text.lstrip()[:1], text[-1:]):
        return None
    tree = _read(text)
    text = text[:_SAMPLE]
    if tree is not None and (layout := _INDENT.search(text)):
        tree.indent, tree.colon = layout[1], ": "
    elif tree is not None:
        tree.comma, tree.colon = _spaced(text, ","), _spaced(text, ":")
    return tree


def _spaced(text: str, mark: str) -> str:
    """Return the first comma or colon with the space that follows it."""
    first = next((found.end() for found in _TOKEN.finditer(text) if found[2] == mark), len(text))
    return mark + " " if text.startswith(" ", first) else mark


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    """Return the tokens of a text, and the comma or colon after each."""
    if len(text) <= _LONG:
        return iter(_TOKEN.findall(text))
    return map(methodcaller("groups", ""), _TOKEN.finditer(text))


def _read(text: str) -> JsonTree | None:
    """Return the tree with its sizes, or `None`. The open containers are on a list instead of the call stack."""
    tree = JsonTree()
    parent: Any = Array()
    stack = [parent]
    ignored = {"[": Array(), "{": Object()}  # Stand for all containers that are not kept.
    room, widest = _Room(), [0, 0]
    in_object, key, last, longest = False, "", "[", 0
    for token, mark in _tokens(text):
        if mark == ":":
            if not in_object or last == ":" or not last or token[0] != '"':
                return None
            key = token
        elif token == "]" or token == "}":  # noqa: PLR1714 - a tuple takes longer
            if last in (",", ":") or in_object != (token == "}") or len(stack) == 1:
                return None
            widest[in_object] = max(widest[in_object], len(parent))
            stack.pop()
            parent = stack[-1]
            in_object = type(parent) is Object
        elif not token or not last or in_object != (last == ":"):
            return None
        else:
            kind = _KINDS.get(token[0])
            kept = room.takes(outermost=kind is None and len(stack) == 2)
            node = token if kind is None else kind() if kept else ignored[token]
            if kept:
                parent.append((key, node) if in_object else node)
            else:
                parent.more += 1
            if kind is not None:
                if mark:
                    return None
                stack.append(node)
                parent, in_object, last = node, token == "{", token
                tree.depth = max(tree.depth, len(stack) - 1)
                continue
            longest = max(longest, len(token))
        last = mark
    if last or len(stack) > 1 or len(parent) != 1:
        return None
    tree.root, tree.string, (tree.items, tree.keys) = parent[0], longest, widest
    return tree
