"""JSON as a tree of its own literals, read without recursion.

Numbers and strings stay as they were written, so that `1.0`, `1e400`, escapes and duplicate keys survive, and a hundred
thousand nested brackets are only a long list. The reader accepts what `json.loads` accepts.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

_TOKEN = re.compile(
    r'[ \t\n\r]*+(?:("[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+"|[\[\]{}]'
    r"|-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+-]?[0-9]++)?+|true|false|null|NaN|-?Infinity)[ \t\n\r]*+([,:])?+"
    r'|"[\s\S]*+|[^ \t\n\r])'
)
"""A scalar or a bracket, and the comma or colon after it. Anything else matches without groups; a string without an
end matches to the end of the text, or each quote in it would be taken for another start."""
_CLOSES = {"[": "]", "{": "}", '"': '"'}
_INDENT = re.compile(r"[\[{][ \t]*\r?\n([ \t]*)")


class Array(list["Node"]):
    """The items between two brackets."""

    __slots__ = ()


class Object(list[tuple[str, "Node"]]):
    """The fields between two braces: each key as it was written, and its value."""

    __slots__ = ()


Node = str | Array | Object
_KINDS: dict[str, type[list[Any]]] = {"[": Array, "{": Object}


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


def is_json(text: str) -> bool:
    """Return whether a text is one JSON document."""
    try:
        # Numbers stay text: a long one is valid, but Python refuses to make it an int.
        json.loads(text, parse_int=str, parse_float=str)
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
    if tree is not None and (layout := _INDENT.search(text)):
        tree.indent, tree.colon = layout[1], ": "
    elif tree is not None:
        tree.comma, tree.colon = _spaced(text, ","), _spaced(text, ":")
    return tree


def _spaced(text: str, mark: str) -> str:
    """Return the first comma or colon with the space that follows it."""
    first = next((found.end() for found in _TOKEN.finditer(text) if found[2] == mark), len(text))
    return mark + " " if text.startswith(" ", first) else mark


def _read(text: str) -> JsonTree | None:
    """Return the tree with its sizes, or `None`. The open containers are on a list instead of the call stack."""
    tree = JsonTree()
    parent: list[Any] = Array()
    stack = [parent]
    in_object, key, last = False, "", "["
    for token, mark in _TOKEN.findall(text):
        if mark == ":":
            if not in_object or last == ":" or not last or token[0] != '"':
                return None
            key = token
        elif token == "]" or token == "}":  # noqa: PLR1714 - a tuple takes longer
            if last in (",", ":") or in_object != (token == "}") or len(stack) == 1:
                return None
            if in_object:
                tree.keys = max(tree.keys, len(parent))
            else:
                tree.items = max(tree.items, len(parent))
            stack.pop()
            parent = stack[-1]
            in_object = type(parent) is Object
        elif not token or not last or in_object != (last == ":"):
            return None
        else:
            kind = _KINDS.get(token[0])
            node = kind() if kind else token
            parent.append((key, node) if in_object else node)
            if kind:
                if mark:
                    return None
                stack.append(node)
                parent, in_object, last = node, token == "{", token
                tree.depth = max(tree.depth, len(stack) - 1)
                continue
            tree.string = max(tree.string, len(token))
        last = mark
    if last or len(stack) > 1 or len(parent) != 1:
        return None
    tree.root = parent[0]
    return tree
