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
from brim.truncate.json_tree import Array, JsonTree, Node, Object

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


def details(tree: JsonTree) -> Iterator[Detail]:
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

    def __init__(self, tree: JsonTree) -> None:
        self._tree = tree
        self._decoded: dict[str, str] = {}

    def write(self, detail: Detail) -> str:
        """Return the document at that detail."""
        out: list[str] = []
        self._put(self._tree.root, detail, 0, out)
        return "".join(out)

    def _put(self, node: Node, detail: Detail, level: int, out: list[str]) -> None:
        """Write a value that is inside `level` others; no deeper than the detail goes, which is never far."""
        if isinstance(node, str):
            out.append(self._string(node, detail.string) if node[0] == '"' else node)
        elif isinstance(node, Array):
            count, noun = len(node.items), "item"
            if count and level >= detail.depth:
                out.append(f'"… {_number(count, noun)}"')
                return
            kept = _kept_items(node, detail.items)
            out.append("[")
            for index, value in enumerate(node.items[:kept]):
                out.append(self._before(index, level))
                self._put(value, detail, level + 1, out)
            if kept < count:
                out.append(f'{self._before(kept, level)}"… {_number(count - kept, "more item")}"')
            out.append(self._after(count, level) + "]")
        else:
            self._put_object(node, detail, level, out)

    def _put_object(self, node: Object, detail: Detail, level: int, out: list[str]) -> None:
        count, colon = len(node.fields), self._tree.colon
        if count and level >= detail.depth:
            out.append(f'"… {_number(count, "key")}"')
            return
        out.append("{")
        for index, (key, value) in enumerate(node.fields[: detail.keys]):
            out.append(self._before(index, level) + key + colon)
            self._put(value, detail, level + 1, out)
        if detail.keys < count:
            more = _number(count - detail.keys, "more key")
            out.append(f'{self._before(detail.keys, level)}"…"{colon}"{more}"')
        out.append(self._after(count, level) + "}")

    def _after(self, count: int, level: int) -> str:
        """Return what stands before the closing bracket."""
        return "\n" + self._tree.indent * level if count and self._tree.indent is not None else ""

    def _before(self, index: int, level: int) -> str:
        """Return what stands before an item or a key."""
        comma = self._tree.comma if index else ""
        return comma if self._tree.indent is None else comma + "\n" + self._tree.indent * (level + 1)

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
