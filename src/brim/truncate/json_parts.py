"""A JSON document, or lines of JSON, split into members; the result stays JSON when some are omitted.

Only the offsets of values are used, so that numbers, duplicate keys and the layout stay as written. Small neighbours
form one part, such as a record. A long string is divided too: into members if it holds JSON, else into lines. What is
shown of it is quoted again.
"""

from __future__ import annotations

import json
import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain, groupby, islice

from brim.files.depth import is_deep
from brim.truncate.base import mark
from brim.truncate.failure import failure_places
from brim.truncate.parts import LONG_LINE, NEAR_END, STATUS, TextParts, from_both_ends, grain, whole_part

SMALL = 160
"""An object or array up to this many characters is one part; smaller neighbours are joined."""
_MARK = 24
"""Unchosen members up to this many characters are shown anyway: a mark would be as long."""
_FAILURES = 8
"""How many members that report a failure come before all others, taken from both ends."""
_DEEPEST = 32
"""Levels that are divided. Each nested level is parsed one more time."""
_STRING = 4
"""Levels that a string with JSON counts as, since its parts are copied."""
LARGEST = 1_000_000
"""Characters of the largest text that is parsed to find out whether it is JSON; parsing blocks other threads."""
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str)
_BLANKS = re.compile(r"[ \t\n\r]*")
_BETWEEN = re.compile(r"[ \t\n\r]*[,:]?[ \t\n\r]*")
"""The separator of two values, or of a key and its value."""
_NOUNS = {"[": "item", "{": "field"}
_ESCAPE = re.compile(r"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u....|\\.")
"""The escape of one character in a JSON string; a character outside the basic plane takes two."""
_SURROGATE = re.compile("[\ud800-\udfff]")

Member = tuple[int, int, int]
"""The offsets of a member of an object or array: its start, the start of its value, and its end."""


class JsonNode:
    """A value of a JSON document with its key, or several small neighbours."""

    __slots__ = ("before", "content", "inner", "noun", "parts", "size", "start", "stop", "value")

    def __init__(self, start: int, value: int, stop: int, noun: str, inner: Iterable[JsonNode] = ()) -> None:
        self.start, self.value, self.stop = start, value, stop
        """The offsets of its start, of its value after the key, and of its end."""
        self.noun = noun
        """The name of its members, `field` or `item`; empty if it has none."""
        self.size = 1
        """How many members of its parent it covers."""
        self.before = 0
        """How many members of its parent are before it."""
        self.inner = list(inner)
        self.content: Parts | None = None
        """The parts of a long string, without the escapes of this document."""
        self.parts = (0, 0)
        """The range of its part numbers: the first, and one past the last."""

    @property
    def divided(self) -> bool:
        """Whether it can be shown in part."""
        return bool(self.inner) or self.content is not None

    @property
    def first(self) -> int:
        """The number of its first part after its key."""
        return self.parts[0] + (self.divided and self.value > self.start)


class JsonParts:
    """A JSON document divided into members, any of which may be omitted.

    The key of a divided value is a separate part; it shows that the value exists, and its size. The parts of a divided
    string are parts of the document, at the offsets of their escaped text.
    """

    def __init__(self, text: str, root: JsonNode) -> None:
        self.text = text
        self.starts = array("L")
        """The start of each part."""
        self.stops = array("L")
        """The end of each part."""
        self._root = root
        self._nodes: list[JsonNode] = []
        self._strings: list[tuple[JsonNode, Parts]] = []
        """The divided strings, with their parts."""
        self.ranks: list[tuple[int, int]] = []
        """The rank of each part: first its place in arrays and strings, then its depth."""
        self._add(root, 0, 0)

    def _add(self, node: JsonNode, cost: int, depth: int) -> None:
        """Append the parts of a node: itself, or its key and those of its members or its text."""
        first = len(self._nodes)
        if not node.divided:
            self._append(node, node.start, node.stop, (cost, depth))
        elif node.value > node.start:
            self._append(node, node.start, node.value, (cost, depth))
        before = 0
        for index, each in enumerate(node.inner):
            each.before = before
            before += each.size
            late = _from_ends(index, len(node.inner)) if node.noun == "line" else index * (node.noun == "item")
            self._add(each, cost + late, depth + 1)
        if node.content:
            self._strings.append((node, node.content))
            edges = zip(node.content.starts, node.content.stops, strict=False)
            written = _written(self.text, node, chain.from_iterable(edges))
            for (late, deep), start, stop in zip(_ranks(node.content), written, written, strict=True):
                self._append(node, start, stop, (cost + late, depth + deep))
        node.parts = first, len(self._nodes)

    def _append(self, node: JsonNode, start: int, stop: int, rank: tuple[int, int]) -> None:
        self._nodes.append(node)
        self.starts.append(start)
        self.stops.append(stop)
        self.ranks.append(rank)

    def __len__(self) -> int:
        return len(self._nodes)

    def part_at(self, place: int) -> int:
        """Return the part at an offset of the text."""
        return max(0, bisect_right(self.starts, place) - 1)

    def size(self, part: int) -> int:
        """Return the characters of a part."""
        return self.stops[part] - self.starts[part]

    def part(self, part: int) -> str:
        """Return the text of a part; for a part of a string, without its escapes."""
        node = self._nodes[part]
        if node.content and part >= node.first:
            return node.content.part(part - node.first)
        return self.text[self.starts[part] : self.stops[part]]

    def show(self, chosen: Collection[int]) -> str:
        """Return the document with the chosen members and marks in place of the others; one mark if none is chosen."""
        last = self._root.inner[-1]
        return self.document(chosen) if chosen else mark(last.before + last.size, self._root.noun)

    def document(self, chosen: Collection[int]) -> str:
        """Return the document with the chosen members and marks in place of the others, even if all are."""
        parts = sorted({*chosen})
        return self._shown(self._root, parts) if len(parts) < len(self) else self.text

    def _shown(self, node: JsonNode, chosen: Sequence[int]) -> str:
        """Return what is shown of a value; `chosen` are parts of it, ascending."""
        text, inner, first = self.text, node.inner, node.first
        inside = chosen[bisect_left(chosen, first) :]
        if len(inside) == node.parts[1] - first:
            return text[node.start : node.stop]
        if node.content:
            return text[node.start : node.value] + self._quoted(node.content, [at - first for at in inside])
        opens, closes = text[node.start : inner[0].start], text[inner[-1].stop : node.stop]
        comma = text[inner[0].stop : inner[1].start] if len(inner) > 1 else ", "
        return opens + comma.join(self._rows(node, inside)) + closes

    def _quoted(self, content: Parts, chosen: Sequence[int]) -> str:
        """Return what is shown of a string, or its size; other letters than ASCII are escaped if the text has none."""
        sized = not chosen and isinstance(content, JsonParts)
        shown = mark(len(content.text), "character") if sized else content.show(chosen)
        return json.dumps(shown, ensure_ascii=self.text.isascii() or _SURROGATE.search(shown) is not None)

    def _rows(self, node: JsonNode, chosen: Sequence[int]) -> Iterator[str]:
        """Yield the members of a value that are shown: a mark in each gap of an array, one at the end of an object.

        If some fields are shown, and a single long text or a single field is not, its key is shown with its size.
        """
        inner, gap, at = node.inner, 0, 0
        groups = groupby(chosen, key=lambda part: bisect_right(inner, part, key=lambda each: each.parts[0]) - 1)
        shown = {index: [*parts] for index, parts in groups}
        missing = [index for index in range(len(inner)) if index not in shown]
        texts = missing if len(missing) == 1 else [index for index in missing if inner[index].content]
        lone = inner[texts[0]] if shown and node.noun == "field" and len(texts) == 1 else None
        if lone and lone.divided:
            shown = dict(sorted({**shown, texts[0]: []}.items()))
        others = (each.stop - each.start for index, each in enumerate(inner) if index not in shown)
        whole = sum(islice(others, _MARK + 1)) <= _MARK
        for index in range(len(inner)) if whole else shown:
            each = inner[index]
            gap += each.before - at
            if gap and node.noun != "field":
                yield _member(gap, node.noun)
                gap = 0
            yield self._shown(each, shown[index]) if index in shown else self.text[each.start : each.stop]
            at = each.before + each.size
        gap += inner[-1].before + inner[-1].size - at
        if gap == 1 and lone and not lone.divided and self.text[lone.value] == '"':
            note = mark(lone.stop - lone.value - 2, "character")
            yield f"{self.text[lone.start : lone.value]}{json.dumps(note)}"
        elif gap:
            yield _member(gap, node.noun)

    def ending(self) -> list[int]:
        """Return the members that show the outcome, the best first: a failure, the first member, a status.

        A document with one long text is its wrapper: the ending of the text counts as well.
        """
        own: Sequence[int] = range(len(self))
        wrapped = list[int]()
        if len(self._strings) == 1:
            node, content = self._strings[0]
            own = [*range(node.first), *range(node.parts[1], len(self))]
            wrapped = [node.first + at for at in content.ending()]
        found = self.failures()[-1:]
        found += [at for at in range(min(_DEEPEST, len(self))) if self.stops[at] != self._nodes[at].value][:1]
        found += [at for at in own if STATUS.match(self.part(at)[:40])][:NEAR_END]
        return [at for at in dict.fromkeys([*found, *wrapped]) if self.size(at) <= LONG_LINE]

    def failures(self) -> list[int]:
        """Return the members that report a failure, ascending."""
        return self._failures

    @cached_property
    def _failures(self) -> list[int]:
        found, at = list[int](), 0
        for node, content in self._strings:
            found += (self.part_at(at + place) for place in failure_places(self.text[at : node.value]))
            found += (node.first + part for part in content.failures())
            at = node.stop
        found += (self.part_at(at + place) for place in failure_places(self.text[at:]))
        return [*dict.fromkeys(found)]

    def ranked(self) -> Iterator[int]:
        """Yield the parts, the most important first: some failures, then the outermost and first ones."""
        first = dict.fromkeys([*from_both_ends(self.failures())][:_FAILURES])
        yield from first
        yield from (at for at in sorted(range(len(self)), key=self.ranks.__getitem__) if at not in first)


Parts = TextParts | JsonParts
"""A text as parts that are shown or omitted whole."""


def _from_ends(index: int, count: int) -> int:
    """Return the place of a line in the order of the first, the last, the second, the last but one, and so on."""
    return min(2 * index, 2 * (count - index) - 1)


def _ranks(parts: Parts) -> Iterable[tuple[int, int]]:
    """Return the rank of each part of a string: lines from both ends, or members."""
    lines = ((_from_ends(index, len(parts)), 0) for index in range(len(parts)))
    return parts.ranks if isinstance(parts, JsonParts) else lines


def _written(text: str, node: JsonNode, offsets: Iterable[int]) -> Iterator[int]:
    """Yield where ascending offsets of the content of a string are in the text, where some characters are escaped."""
    escapes = _ESCAPE.finditer(text, node.value + 1, node.stop - 1)
    escape, plain, at = next(escapes, None), 0, node.value + 1
    for offset in offsets:
        while escape and plain + escape.start() - at < offset:
            plain += escape.start() - at + 1
            at = escape.end()
            escape = next(escapes, None)
        yield at + offset - plain


def _member(number: int, noun: str) -> str:
    """Return a mark as an array item, an object field, or a line of JSON."""
    text = json.dumps(mark(number, noun))
    return text if noun == "item" else f"{text}: null" if noun == "field" else f"{{{text}: null}}"


def json_parts(text: str, room: int | None = None) -> Parts | None:
    """Return the parts of a JSON document, or of lines of JSON; with little room, the parts are small.

    A short document is one part. `None` if the text is neither; a string or a number alone is not a document.
    """
    return _parts(text, grain(SMALL, room), grain(LONG_LINE, room), 1)


def members(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the value of each field of a JSON object begins and ends; nothing if the text is no such object."""
    found = _documents(text)
    if len(found) == 1 and text[found[0][0]] == "{":
        yield from ((value, stop) for _, value, stop in _inner(text, *found[0]))


def _documents(text: str) -> list[tuple[int, int]]:
    """Return the document of a text, or those on its lines; nothing if there is other text."""
    first = _past(text, 0, _BLANKS)
    if text[first : first + 1] not in _NOUNS:
        return []
    whole = _document(text, first, len(text))
    if whole:
        return [whole]
    found: list[tuple[int, int]] = []
    start = 0
    while start < len(text):
        stop = text.find("\n", start) + 1 or len(text)
        if not text[start:stop].isspace():
            line = _document(text, start, stop)
            if line is None:
                return []
            found.append(line)
        start = stop
    return found


def _document(text: str, start: int, stop: int) -> tuple[int, int] | None:
    """Return the object or array between two offsets, if there is nothing else."""
    start = _past(text, start, _BLANKS)
    try:
        value, end = _DECODER.raw_decode(text, start) if text[start : start + 1] in _NOUNS else (None, stop + 1)
    except (ValueError, RecursionError):
        return None
    return (start, end) if end <= stop <= _past(text, end, _BLANKS) and not is_deep(value) else None


def _inner(text: str, start: int, stop: int) -> Iterator[Member]:
    """Yield the members of an object or array that was read."""
    keyed, at = text[start] == "{", _past(text, start + 1)
    while at < stop - 1:
        value = _past(text, _DECODER.raw_decode(text, at)[1]) if keyed else at
        end = _DECODER.raw_decode(text, value)[1]
        yield at, value, end
        at = _past(text, end)


def _past(text: str, at: int, what: re.Pattern[str] = _BETWEEN) -> int:
    """Return the offset after white space, and a comma or colon."""
    found = what.match(text, at)
    return found.end() if found else at


def _parts(text: str, small: int, long: int, level: int) -> Parts | None:
    """Return the parts of a document, or of lines of JSON, longer than `small`."""
    found = _documents(text)
    if not found:
        return None
    trees = [_tree(text, (start, start, stop), small, long, level) for start, stop in found]
    root = trees[0] if len(trees) == 1 else JsonNode(0, 0, found[-1][1], "line", trees)
    return JsonParts(text, root) if root.divided else whole_part(text)


def _tree(text: str, member: Member, small: int, long: int, level: int) -> JsonNode:
    """Return a value, with its members if it is longer than `small`; small neighbours are joined."""
    start, value, stop = member
    noun = _NOUNS.get(text[value], "")
    node = JsonNode(start, value, stop, noun)
    if stop - start <= small or level > _DEEPEST:
        return node
    if text[value] == '"' and stop - value > long:
        held: str = _DECODER.raw_decode(text, value)[0]
        document = _parts(held, small, long, level + _STRING) if len(held) <= LARGEST else None
        node.content = document or TextParts(held, longest=long, words=True)
    last: JsonNode | None = None
    for each in _inner(text, value, stop) if noun else ():
        if last and not last.divided and each[2] - last.start <= small:
            last.stop = each[2]
            last.size += 1
        else:
            last = _tree(text, each, small, long, level + 1)
            node.inner.append(last)
    return node
