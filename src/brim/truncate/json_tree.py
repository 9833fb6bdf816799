"""JSON as a tree of its own literals, read without recursion.

Numbers and strings stay as they were written, so that `1.0`, `1e400`, escapes and keys that come twice survive,
and a hundred thousand brackets are only a long list. Accepted is what `json.loads` accepts. Where writing a string
again gives what it was written as, which is nearly always, `json.loads` does the reading.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

_TOKEN = re.compile(
    r"[ \t\n\r]*+(?:"
    r'("(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+")(?:[ \t\n\r]*+(:))?'
    r"|(-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?|true|false|null|NaN|-?Infinity)"
    r"|([\[\]{}]))"
    r"[ \t\n\r]*+(,)?"
)
"""A key with its colon, a scalar, or a bracket, and the comma after it: four groups and the comma as the fifth."""
_OTHERWISE = re.compile(r"\\[/u]")
"""Escapes of characters that need none, or that may be written in more than one way."""
_CLOSES = {"[": "]", "{": "}", '"': '"'}
_INDENT = re.compile(r"[\[{][ \t]*\r?\n([ \t]*)")


@dataclass(slots=True)
class Array:
    """The items between two brackets."""

    items: list[Node] = field(default_factory=list)


@dataclass(slots=True)
class Object:
    """The fields between two braces: each key as it was written, and its value."""

    fields: list[tuple[str, Node]] = field(default_factory=list)


Node = str | Array | Object


@dataclass(slots=True)
class JsonTree:
    """A document, how it is laid out, and how big its biggest parts are."""

    root: Node = ""
    indent: str | None = None
    """What one level is indented by; `None` when the document is one line."""
    comma: str = ","
    colon: str = ":"
    """These two with the space that follows them."""
    depth: int = 0
    """Containers inside each other, at most."""
    items: int = 0
    """Items of the longest array."""
    keys: int = 0
    """Keys of the largest object."""
    string: int = 0
    """Characters of the longest string, as written."""


def parse(text: str) -> JsonTree | None:
    """Return the tree of a JSON document, or `None` when `text` is not one."""
    # The end tells a document that was cut off before all of it is read in vain.
    if text.rstrip()[-1:] != _CLOSES.get(text.lstrip()[:1], text.rstrip()[-1:]):
        return None
    tree = _quick(text) or _careful(text)
    if tree is None:
        return None
    if layout := _INDENT.search(text):
        tree.indent, tree.comma, tree.colon = layout[1], ",", ": "
    else:
        tree.comma, tree.colon = _spaced(text)
    return tree


def _careful(text: str) -> JsonTree | None:
    reader = _Reader(text)
    return reader.tree if reader.read() else None


class _Number(str):
    """A number or a constant, as it was written."""

    __slots__ = ()


_WORDS = {None: "null", True: "true", False: "false"}
_quoted = json.encoder.encode_basestring


def _quick(text: str) -> JsonTree | None:
    """Return the tree of a document whose strings are written as `json` would write them, if that can be seen."""
    if _OTHERWISE.search(text):
        return None
    try:
        value = json.loads(
            text, parse_int=_Number, parse_float=_Number, parse_constant=_Number, object_pairs_hook=tuple
        )
    except (ValueError, RecursionError):
        return None
    tree = JsonTree()
    tree.root = _node(value, tree, 1)
    return tree


def _node(value: Any, tree: JsonTree, level: int) -> Node:
    """Return what was read as part of a tree, and take note of how big it is; it is no deeper than `json` reads."""
    kind = type(value)
    if kind is str:
        literal = _quoted(value)
    elif kind is _Number:
        literal = str(value)
    elif kind is tuple or kind is list:
        tree.depth = max(tree.depth, level)
        if kind is tuple:
            tree.keys = max(tree.keys, len(value))
            return Object([(_quoted(key), _node(each, tree, level + 1)) for key, each in value])
        tree.items = max(tree.items, len(value))
        return Array([_node(each, tree, level + 1) for each in value])
    else:
        literal = _WORDS[value]
    tree.string = max(tree.string, len(literal))
    return literal


def _spaced(text: str) -> tuple[str, str]:
    """Return the first comma and the first colon with the space that follows them."""
    comma, colon, at = "", "", 0
    while not (comma and colon) and (token := _TOKEN.match(text, at)):
        at = token.end()
        if token[2] and not colon:
            colon = ": " if text.startswith(" ", token.end(2)) else ":"
        if token[5] and not comma:
            comma = ", " if text.startswith(" ", at) else ","
    return comma or ",", colon or ":"


class _Reader:
    """Walks over the tokens of one text, with the open containers on a list instead of the call stack."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tree = JsonTree()
        self.open: list[Array | Object] = []
        self.pending: list[str | None] = []
        """For each open container the key that waits for its value."""

    def read(self) -> bool:
        """Read the text into the tree; whether it was one whole value and nothing else."""
        at, may_close, may_go_on = 0, False, True
        while token := _TOKEN.match(self.text, at):
            at = token.end()
            string, colon, literal, bracket, comma = token.groups()
            if bracket in ("]", "}"):
                if not may_close or not self._leave(bracket):
                    return False
            elif not may_go_on:
                return False
            elif colon:
                if comma or not self._name(string):
                    return False
                may_close = False
                continue
            elif bracket:
                if comma or not self._enter(bracket):
                    return False
                may_close = True
                continue
            elif not self._add(string or literal):
                return False
            if not self.open:
                return not comma and at == len(self.text)
            may_close, may_go_on = not comma, bool(comma)
        return False

    def _name(self, key: str) -> bool:
        """Remember the key of the next value; whether a key may stand here."""
        if not self.pending or self.pending[-1] is not None or isinstance(self.open[-1], Array):
            return False
        self.pending[-1] = key
        return True

    def _enter(self, bracket: str) -> bool:
        """Open a container; whether a value may stand here."""
        if self.open and self.pending[-1] is None and isinstance(self.open[-1], Object):
            return False
        self.open.append(Array() if bracket == "[" else Object())
        self.pending.append(None)
        self.tree.depth = max(self.tree.depth, len(self.open))
        return True

    def _leave(self, bracket: str) -> bool:
        """Close the innermost container and put it where it belongs; whether the bracket is its own."""
        if not self.open or isinstance(self.open[-1], Array) != (bracket == "]"):
            return False
        node = self.open.pop()
        self.pending.pop()
        if isinstance(node, Array):
            self.tree.items = max(self.tree.items, len(node.items))
        else:
            self.tree.keys = max(self.tree.keys, len(node.fields))
        return self._add(node)

    def _add(self, node: Node) -> bool:
        """Put a finished value where it belongs; whether a value may stand here."""
        if isinstance(node, str) and len(node) > self.tree.string:
            self.tree.string = len(node)
        if not self.open:
            self.tree.root = node
            return True
        parent = self.open[-1]
        if isinstance(parent, Array):
            parent.items.append(node)
            return True
        key = self.pending[-1]
        if key is None:
            return False
        parent.fields.append((key, node))
        self.pending[-1] = None
        return True
