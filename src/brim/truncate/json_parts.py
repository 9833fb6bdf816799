"""A JSON document, or lines of JSON, as its members, of which some may be omitted: whatever is, it stays JSON.

The document is read token by token and without recursion, so that numbers, escapes, duplicate keys and the layout stay
as they were written, a hundred thousand nested brackets are only a long list, and other threads get their turn. Small
neighbours are one part: a record whose fields explain each other. A long string is divided into its lines.
"""

from __future__ import annotations

import json
import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

from brim.truncate.failure import failure_places
from brim.truncate.marker import mark
from brim.truncate.parts import LONG_LINE, NEAR_END, STATUS, TextParts, from_both_ends, grain, whole_part

SMALL = 160
"""Characters of an object or array that is shown as one, and of neighbours that are joined."""
_MARK = 24
"""Characters of members that are shown although they were not chosen: a mark in their place would be as long."""
_FAILURES = 8
"""Members that report a failure and are shown before all others, from both ends."""
_DEEPEST = 64
"""Levels whose members are told apart: common parsers recurse, and fail at about a thousand."""
_TOKEN = re.compile(
    r'[ \t\n\r]*+(?:("[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+"|[\[\]{}]'
    r"|-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+-]?[0-9]++)?+|true|false|null|NaN|-?Infinity)[ \t\n\r]*+([,:])?+"
    r'|"[\s\S]*+|[^ \t\n\r])'
)
"""A scalar or a bracket, and the comma or colon after it. Anything else matches without groups; a string without an
end matches to the end of the text, or each quote in it would be taken for another start."""
_CLOSES = {"[": "]", "{": "}", '"': '"'}
_NOUNS = {"[": "item", "{": "field"}


class JsonNode:
    """A value of a JSON document, with its key if it has one; or several small neighbours."""

    __slots__ = ("inner", "lines", "noun", "parts", "size", "start", "stop", "value")

    def __init__(self, start: int, value: int, stop: int, noun: str = "") -> None:
        self.start, self.value, self.stop = start, value, stop
        """Where it begins, where its value begins after its key, and where it ends."""
        self.noun = noun
        """What its members are called: `field` or `item`; empty if it has none."""
        self.size = 1
        """How many members of its parent it stands for."""
        self.inner: list[JsonNode] = []
        self.lines: TextParts | None = None
        """The lines of a long string."""
        self.parts = (0, 0)
        """The numbers of its parts, from the first up to, not including, the second."""

    @property
    def divided(self) -> bool:
        """Whether only some of it can be shown."""
        return bool(self.inner) or self.lines is not None


class JsonParts:
    """A JSON document as its members, of which some may be omitted.

    The key of a value that is divided is a part too: it shows that there is such a value, and how much it holds.
    """

    def __init__(self, text: str, root: JsonNode) -> None:
        self.text = text
        self._root = root
        self._nodes: list[JsonNode] = []
        self._starts, self._stops = array("L"), array("L")
        self._ranks: list[tuple[int, int]] = []
        """How late each part is shown: by its place in arrays and strings, then by its depth."""
        self._add(root, 0, 0)

    def _add(self, node: JsonNode, cost: int, depth: int) -> None:
        """Append the parts of a node: itself, or its key and those of its members."""
        first = len(self._nodes)
        if not node.divided:
            self._append(node, node.start, node.stop, (cost, depth))
        elif node.value > node.start:
            self._append(node, node.start, node.value, (cost, depth))
        for index, each in enumerate(node.inner):
            late = _from_ends(index, len(node.inner)) if node.noun == "line" else index * (node.noun == "item")
            self._add(each, cost + late, depth + 1)
        for index, (start, stop) in enumerate(pairwise(node.lines.starts if node.lines else ())):
            self._append(node, start, stop, (cost + _from_ends(index, len(node.lines or ())), depth))
        node.parts = first, len(self._nodes)

    def _append(self, node: JsonNode, start: int, stop: int, rank: tuple[int, int]) -> None:
        self._nodes.append(node)
        self._starts.append(start)
        self._stops.append(stop)
        self._ranks.append(rank)

    def __len__(self) -> int:
        return len(self._nodes)

    def part_at(self, place: int) -> int:
        """Return the part that a place in the text belongs to."""
        return max(0, bisect_right(self._starts, place) - 1)

    def size(self, part: int) -> int:
        """Return the characters of a part."""
        return self._stops[part] - self._starts[part]

    def part(self, part: int) -> str:
        """Return the text of a part; a line of a string as it reads."""
        start, stop = self._starts[part], self._stops[part]
        is_line = self._nodes[part].lines is not None and start > self._nodes[part].value
        return str(json.loads(f'"{self.text[start:stop]}"')) if is_line else self.text[start:stop]

    def show(self, chosen: Collection[int], recall: str = "") -> str:
        """Return the document with the chosen members and marks in place of the others; one mark if none is chosen."""
        root = self._root
        if chosen:
            return self.document(chosen, recall)
        return mark(sum(each.size for each in root.inner), root.noun, recall)

    def document(self, chosen: Collection[int], recall: str = "") -> str:
        """Return the document with the chosen members and marks in place of the others, even if all are."""
        return self._shown(self._root, sorted(chosen), recall)

    def _shown(self, node: JsonNode, chosen: Sequence[int], recall: str = "") -> str:
        """Return what is shown of a value; `chosen` is ascending."""
        text = self.text
        if not node.divided:
            return text[node.start : node.stop]
        if node.lines:
            first = node.parts[1] - len(node.lines)
            lines = chosen[bisect_left(chosen, first) : bisect_left(chosen, node.parts[1])]
            return text[node.start : node.value] + f'"{node.lines.show([at - first for at in lines])}"'
        within = [bisect_left(chosen, each.parts[0]) < bisect_left(chosen, each.parts[1]) for each in node.inner]
        missing = sum(each.stop - each.start for each, has in zip(node.inner, within, strict=True) if not has)
        whole = missing <= _MARK and not recall
        shown = [
            self._shown(each, chosen) if has else text[each.start : each.stop] if whole else None
            for each, has in zip(node.inner, within, strict=True)
        ]
        opens, closes = text[node.start : node.inner[0].start], text[node.inner[-1].stop : node.stop]
        comma = text[node.inner[0].stop : node.inner[1].start] if len(node.inner) > 1 else ", "
        rows = _with_marks(shown, [each.size for each in node.inner], node.noun, recall)
        return opens + comma.join(rows) + closes

    def ending(self) -> list[int]:
        """Return the members that say how it ended, the most telling first: a failure, the first member, a status."""
        found = self.failures()[-1:]
        found += [at for at in range(min(_DEEPEST, len(self))) if self._stops[at] != self._nodes[at].value][:1]
        starts = (self.text[start : start + 40] for start in self._starts)
        found += [at for at, start in enumerate(starts) if STATUS.match(start)][:NEAR_END]
        return [at for at in dict.fromkeys(found) if self.size(at) <= LONG_LINE]

    def failures(self) -> list[int]:
        """Return the members that report a failure, ascending."""
        return [*dict.fromkeys(map(self.part_at, failure_places(self.text)))]

    def ranked(self) -> Iterator[int]:
        """Yield the parts, the most important first: some that report a failure, then the outermost and first ones."""
        first = dict.fromkeys([*from_both_ends(self.failures())][:_FAILURES])
        yield from first
        yield from (at for at in sorted(range(len(self)), key=self._ranks.__getitem__) if at not in first)


def _from_ends(index: int, count: int) -> int:
    """Return the place of a line in the order of the first, the last, the second, the last but one, and so on."""
    return min(2 * index, 2 * (count - index) - 1)


def _with_marks(texts: Sequence[str | None], sizes: Sequence[int], noun: str, recall: str) -> Iterator[str]:
    """Yield the members that are shown: a mark in each gap of an array, one at the end of an object."""
    gap = 0
    for text, size in zip(texts, sizes, strict=True):
        if text is None:
            gap += size
            continue
        if gap and noun != "field":
            yield _member(gap, noun, recall)
            gap, recall = 0, ""
        yield text
    if gap:
        yield _member(gap, noun, recall)


def _member(number: int, noun: str, recall: str) -> str:
    """Return a mark as an item of an array, a field of an object, or one of lines of JSON."""
    text = json.dumps(mark(number, noun, recall))
    return text if noun == "item" else f"{text}: null" if noun == "field" else f"{{{text}: null}}"


def json_parts(text: str, room: int | None = None) -> JsonParts | TextParts | None:
    """Return the parts of a JSON document or of lines of JSON, small ones if there is little room.

    A short document is one part. `None` if the text is neither; a text alone, or a number, is no document.
    """
    root = _Reader(text, grain(SMALL, room), grain(LONG_LINE, room)).root() if text.lstrip()[:1] in ("{", "[") else None
    if root is None:
        return None
    return JsonParts(text, root) if root.divided else whole_part(text)


def members(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the value of each field of a JSON object begins and ends; nothing if the text is no such object."""
    root = _Reader(text, 0, len(text)).root() if text.lstrip()[:1] == "{" else None
    yield from ((each.value, each.stop) for each in (root.inner if root and root.noun == "field" else ()))


def _follows(token: str | None, after: str | None, last: str, *, in_object: bool) -> bool:
    """Return whether a token, and the comma or colon after it, may follow the last: `last` is empty after a value."""
    if not token:
        return False
    if after == ":":
        return in_object and last not in (":", "") and token[0] == '"'
    if token in ("]", "}"):
        return last not in (",", ":") and in_object == (token == "}")
    return bool(last) and in_object == (last == ":") and not (after and token in _NOUNS)


class _Reader:
    """Reads a document. What is open is on a list instead of the call stack."""

    def __init__(self, text: str, small: int, long: int) -> None:
        """Prepare to read a text, with the characters of a value that is one part, and of a string that is divided."""
        self._text, self._small, self._long = text, small, long

    def root(self) -> JsonNode | None:
        """Return the tree of the one document, or of all lines; `None` if the text is not JSON."""
        text = self._text.rstrip(" \t\n\r")  # No token follows the last blanks, and each would be a place to look.
        # The last character shows that a document was cut off, without reading all of it.
        if text[-1:] != _CLOSES.get(text.lstrip()[:1], text[-1:]):
            return None
        stack = [JsonNode(0, 0, len(text), "line")]
        key, last = -1, ","
        for found in _TOKEN.finditer(text):
            token, after = found.groups()
            parent, start = stack[-1], found.start(1)
            if not _follows(token, after, last, in_object=parent.noun == "field"):
                return None
            if after == ":":
                key, last = start, after
                continue
            if token in ("]", "}"):
                parent.stop = found.end(1)
                stack.pop()
                self._add(stack, parent)
            else:
                node = JsonNode(start if key < 0 else key, start, found.end(1), _NOUNS.get(token, ""))
                key = -1
                if node.noun:
                    stack.append(node)
                    last = token
                    continue
                self._add(stack, node)
            last = after or ""
            if len(stack) == 1:  # The next line of several.
                if last or (len(stack[0].inner) > 1 and not self._are_lines(stack[0].inner)):
                    return None
                last = ","
        documents = stack[0].inner
        return None if len(stack) > 1 or not documents else documents[0] if len(documents) == 1 else stack[0]

    def _are_lines(self, documents: Sequence[JsonNode]) -> bool:
        """Return whether the last two documents are lines of their own, and objects or arrays."""
        one, two = documents[-2:]
        text = self._text
        broken = any(text.find("\n", each.start, each.stop) >= 0 for each in (one, two))
        return not broken and text.find("\n", one.stop, two.start) >= 0 and text[two.start] in "{["

    def _add(self, stack: Sequence[JsonNode], node: JsonNode) -> None:
        """Add a value that was read to what it is in; a small one to the one before it."""
        size, inner, is_document = node.stop - node.start, stack[-1].inner, len(stack) == 1
        if size <= self._small or len(stack) > _DEEPEST:
            node.inner = []
        elif self._text[node.value] == '"' and size > self._long:
            node.lines = TextParts(self._text, longest=self._long, span=(node.value + 1, node.stop - 1))
        last = inner[-1] if inner else node
        if (
            not node.divided
            and not last.divided
            and node.stop - last.start <= self._small
            and not is_document
            and inner
        ):
            last.stop = node.stop
            last.size += 1
        else:
            inner.append(node)
