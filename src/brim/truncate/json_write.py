"""Write a JSON tree with less detail than it has.

Four numbers say how much stays: of each string, of each array, how deep, and how many keys. Whatever they are,
what is written is valid JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from brim.meter.grapheme import boundary_before
from brim.truncate.json_tree import Array, Object, Tree

_DEEPEST = 64
"""No level below this is written: common readers recurse, and stop at about a thousand."""
_SHORTEST = 16
"""Characters to which strings are cut before anything but strings and arrays suffers."""
_FEW = 4
_SURROGATE = re.compile("[\ud800-\udfff]")
_SUFFIX = len("… [1,000 more chars]")


@dataclass(frozen=True, kw_only=True, slots=True)
class Detail:
    """How much of a tree is written."""

    string: int
    """Characters of each string, at most."""
    items: int
    """Items of each array, at most."""
    depth: int
    """Containers inside each other, at most."""
    keys: int
    """Keys of each object, at most."""


def details(tree: Tree) -> Iterator[Detail]:
    """Yield ever more generous details: more keys, then deeper, then longer strings and arrays.

    The numbers grow by a sixteenth each time, in whole numbers, so that every machine takes the same steps.
    """
    for keys in _growing(1, tree.keys - 1):
        yield Detail(string=_SHORTEST, items=0, depth=1, keys=keys)
    depth = min(tree.depth, _DEEPEST)
    for level in range(1, depth + 1):
        yield Detail(string=_SHORTEST, items=1, depth=level, keys=tree.keys)
    strings = [*_growing(_SHORTEST, tree.string)] or [_SHORTEST]
    arrays = [*_growing(1, tree.items)] or [1]
    for step in range(max(len(strings), len(arrays))):
        string, items = strings[min(step, len(strings) - 1)], arrays[min(step, len(arrays) - 1)]
        yield Detail(string=string, items=items, depth=depth, keys=tree.keys)


def _growing(first: int, last: int) -> Iterator[int]:
    """Yield whole numbers from `first` up to and including `last`, in steps of a sixteenth."""
    number = first
    while number < last:
        yield number
        number += number // 16 + 1
    if first <= last:
        yield last


class Writer:
    """Writes one tree at any detail; a string is decoded once for all of them."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._decoded: dict[str, str] = {}

    def write(self, detail: Detail) -> str:
        """Return the document at that detail."""
        if isinstance(self._tree.root, str):
            return self._scalar(self._tree.root, detail)
        out: list[str] = []
        stack = [self._container(self._tree.root, detail, 0)]
        while stack:
            # A generator hands out its texts until it meets a container, whose own generator then takes over.
            for piece in stack[-1]:
                if not isinstance(piece, str):
                    stack.append(self._container(piece, detail, len(stack)))
                    break
                out.append(piece)
            else:
                stack.pop()
        return "".join(out)

    def _container(self, node: Array | Object, detail: Detail, level: int) -> Iterator[str | Array | Object]:
        """Yield the pieces of a container inside `level` others; a container inside it as itself."""
        is_array = isinstance(node, Array)
        count = len(node.items) if isinstance(node, Array) else len(node.fields)
        noun = "item" if is_array else "key"
        if count and level >= detail.depth:
            yield f'"… {_number(count, noun)}"'
            return
        kept = _kept_items(node, detail.items) if isinstance(node, Array) else min(detail.keys, count)
        yield "[" if is_array else "{"
        for index in range(kept):
            yield self._before(index, level)
            if isinstance(node, Array):
                value = node.items[index]
            else:
                key, value = node.fields[index]
                yield key + self._tree.colon
            yield self._scalar(value, detail) if isinstance(value, str) else value
        if kept < count:
            yield self._before(kept, level)
            more = _number(count - kept, f"more {noun}")
            yield f'"… {more}"' if is_array else f'"…"{self._tree.colon}"{more}"'
        if count and self._tree.indent is not None:
            yield "\n" + self._tree.indent * level
        yield "]" if is_array else "}"

    def _before(self, index: int, level: int) -> str:
        """Return what stands before an item or a key."""
        comma = self._tree.comma if index else ""
        return comma if self._tree.indent is None else comma + "\n" + self._tree.indent * (level + 1)

    def _scalar(self, raw: str, detail: Detail) -> str:
        return self._string(raw, detail.string) if raw.startswith('"') else raw

    def _string(self, raw: str, most: int) -> str:
        """Return a string literal of at most about `most` characters; a short one as it was written."""
        if len(raw) - 2 <= most + _SUFFIX:
            return raw
        value = self._decoded.get(raw)
        if value is None:
            value = self._decoded[raw] = json.loads(raw)
        if len(value) <= most + _SUFFIX:
            return raw
        kept = value[: boundary_before(value, most)]
        # A lone half of a pair can be written in ASCII, but not sent as UTF-8.
        ascii_only = raw.isascii() or bool(_SURROGATE.search(kept))
        return f'{json.dumps(kept, ensure_ascii=ascii_only)[:-1]}… [{_number(len(value) - len(kept), "more char")}]"'


def _kept_items(node: Array, most: int) -> int:
    """Return how many items stay; all of them where the rest is shorter than the words on it."""
    rest = node.items[most : most + _FEW + 1]
    if len(rest) <= _FEW and all(isinstance(item, str) and len(item) <= 2 for item in rest):
        return len(node.items)
    return min(most, len(node.items))


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
