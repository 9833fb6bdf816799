"""How much detail of a JSON tree is written.

Four numbers limit the length of strings, the items of arrays, the depth, and the keys of objects. Whatever they are,
the result is valid JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from brim.meter.grapheme import boundary_before
from brim.truncate.failure import last_failure
from brim.truncate.json_failure import Failing
from brim.truncate.json_tree import Array, JsonTree, Node

_DEEPEST = 64
"""No level below this is written: common parsers recurse, and fail at about a thousand."""
_SHORTEST = 16
"""Characters to which strings are cut before anything but strings and arrays is shortened."""
_FEW = 4
_SURROGATE = re.compile("[\ud800-\udfff]")
_SUFFIX = len("… [1,000 more chars]")


class Detail(NamedTuple):
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
    """Yield ever more detail: more keys, then deeper, then longer strings and arrays.

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

    def __init__(self, tree: JsonTree, failing: Failing) -> None:
        self._tree = tree
        self._failing = failing
        self._decoded: dict[str, str] = {}

    def write(self, detail: Detail) -> str:
        """Return the document at that detail."""
        out: list[str] = []
        self._put(self._tree.root, detail, 0, out)
        return "".join(out)

    def _put(self, node: Node, detail: Detail, level: int, out: list[str], failed: bool = False) -> None:
        """Write a value that is nested in `level` others. The recursion is no deeper than the detail or a failure."""
        if isinstance(node, str):
            out.append(self._string(node, detail.string, failed=failed) if node[0] == '"' else node)
            return
        is_array, count, colon = isinstance(node, Array), len(node) + node.more, self._tree.colon
        noun, fails = "item" if is_array else "key", self._failing.get(id(node), set())
        if count and level >= detail.depth and not fails:
            out.append(f'"… {_number(count, noun)}"')
            return
        kept = _kept_items(node, detail.items) if isinstance(node, Array) else min(detail.keys, len(node))
        shown = sorted(fails.union(range(kept if level < detail.depth else 0)))
        inside, last = self._line_break(level + 1), -1
        out.append("[" if is_array else "{")
        for index in shown:
            out.append(inside if last < 0 else self._tree.comma + inside)
            if is_array and index > last + 1:
                out.append(f'"… {_number(index - last - 1, noun)}"{self._tree.comma}{inside}')
            value = node[index]
            if isinstance(value, tuple):
                out.append(value[0] + colon)
            self._put(value[1] if isinstance(value, tuple) else value, detail, level + 1, out, index in fails)
            last = index
        rest = count - last - 1 if is_array else count - len(shown)
        if rest:
            more = _number(rest, f"more {noun}")
            comma = self._tree.comma if shown else ""
            out.append(comma + inside + (f'"… {more}"' if is_array else f'"…"{colon}"{more}"'))
        out.append((self._line_break(level) if count else "") + ("]" if is_array else "}"))

    def _line_break(self, level: int) -> str:
        return "" if self._tree.indent is None else "\n" + self._tree.indent * level

    def _string(self, raw: str, most: int, *, failed: bool) -> str:
        """Return a string literal of at most about `most` characters; a short one as it was written.

        Of one that reports a failure, what stands around it stays.
        """
        if len(raw) - 2 <= most + _SUFFIX:
            return raw
        value = self._decoded.get(raw)
        if value is None:
            value = self._decoded[raw] = json.loads(raw)
        if len(value) <= most + _SUFFIX:
            return raw
        place = (last_failure(value) or 0) if failed else 0
        start = boundary_before(value, max(0, place - most // 4))
        stop = boundary_before(value, start + most)
        kept = ("…" if start else "") + value[start:stop]
        # A lone half of a pair can be written in ASCII, but not sent as UTF-8.
        ascii_only = raw.isascii() or bool(_SURROGATE.search(kept))
        more = f"… [{_number(len(value) - stop, 'more char')}]" if stop < len(value) else ""
        return f'{json.dumps(kept, ensure_ascii=ascii_only)[:-1]}{more}"'


def _kept_items(node: Array, most: int) -> int:
    """Return how many items are kept; all of them if the rest is shorter than the marker for it."""
    rest = node[most : most + _FEW + 1]
    if not node.more and len(rest) <= _FEW and all(isinstance(item, str) and len(item) <= 2 for item in rest):
        return len(node)
    return min(most, len(node))


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
