"""Excerpts: the whole lines of a text that stay when all of it cannot, between marks that say what is missing.

A text is divided into parts, each of which is shown or omitted as a whole: the lines of a text, the members of JSON. A
line that is too long is divided into sentences. Whatever is omitted, JSON stays JSON, and its values keep their types.
"""

from __future__ import annotations

import json
import re
from array import array
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import pairwise
from typing import Any

from brim.meter.memo import Memo
from brim.truncate.failure import last_failure

_LONG_LINE = 600
"""Characters of a line from which on it is divided: minified code, or prose without line breaks."""
_SENTENCE = 300
"""Characters after which such a line is divided at the next end of a sentence, or at a word."""
_SENTENCE_END = re.compile(r"[.!?;]\s|[。！？]")
_SPACE = re.compile(r"\s")
_SMALL = 160
"""Characters of an object or array in JSON that is shown as one: a record whose fields explain each other."""
_MOST_JSON = 400_000
"""Characters of JSON whose members are told apart; a longer text is divided into lines."""
_MARK = 24
"""Characters of members that are shown although they were not chosen: a mark in their place would be as long."""
_DEEPEST = 64
"""Levels of JSON whose members are told apart."""
_JSON_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[\[\]{}]|[^\s\[\]{},:"]++', re.DOTALL)
_WORD = re.compile(r"\w")
_TAG = re.compile(r"</?[\w:-]{1,40}>")
_STATUS = re.compile(
    r"(?:exit(?:ed)?|return|status)[ _-]{0,2}(?:with )?(?:code|status)?\W{1,3}\d{1,3}\b"
    r'|^"(?:status|state|error|errors|success|ok|code|message|result)"\s*:',
    re.IGNORECASE,
)
"""A line, or a field of JSON, that says how a call ended."""
_FENCE = "```"
_MARKED = re.compile(r"^\[([\d,]{1,12}) lines? omitted[^\]\n]{0,40}\]$", re.MULTILINE)
_SHORT_GAP = 40
"""Characters of a gap that is shown although it was not chosen: a line alone between two marks is hard to read."""
_NEAR_END = 3
"""Lines at either end of a result in which its status is looked for."""


def mark(number: int, noun: str, recall: str = "") -> str:
    """Return the mark of what is omitted; with the handle `recall` it says how to bring that back."""
    more = f"; recall {recall}" if recall else ""
    return f"[{number:,} {noun if number == 1 else noun + 's'} omitted{more}]"


class TextParts:
    """A text as lines or paragraphs, of which some may be omitted."""

    def __init__(self, text: str, *, paragraphs: bool = False) -> None:
        self.text = text
        self.starts = array("L", [0])
        """Where each part begins, and last the end of the text."""
        at = 0
        for line in text.split("\n"):
            end = min(at + len(line) + 1, len(text))
            while end - at > _LONG_LINE:
                place = (at + _SENTENCE, at + _LONG_LINE)
                found = _SENTENCE_END.search(text, *place) or _SPACE.search(text, *place)
                at = found.end() if found else at + _SENTENCE
                self.starts.append(at)
            at = end
            if self.starts[-1] < at:
                self.starts.append(at)
        if paragraphs:
            self.starts = self._joined()

    def _joined(self) -> array[int]:
        """Return where each paragraph or block of code begins, as far as they are not too long."""
        starts, inside, ends = array("L", [0]), False, False
        for start, stop in pairwise(self.starts):
            line = self.text[start:stop]
            fence = line.lstrip().startswith(_FENCE)
            opens, blank = fence and not inside, not line.strip()
            if start and (ends or opens or stop - starts[-1] > _LONG_LINE):
                starts.append(start)
            inside ^= fence
            ends = (fence and not inside) or (blank and not inside)
        starts.append(len(self.text))
        return starts

    def __len__(self) -> int:
        return len(self.starts) - 1

    def part_at(self, place: int) -> int:
        """Return the part that a place in the text belongs to."""
        return min(bisect_right(self.starts, place) - 1, len(self) - 1)

    def size(self, part: int) -> int:
        """Return the characters of a part."""
        return self.starts[part + 1] - self.starts[part]

    def part(self, part: int) -> str:
        """Return the text of a part."""
        return self.text[self.starts[part] : self.starts[part + 1]]

    def show(self, chosen: Collection[int], recall: str = "") -> str:
        """Return the chosen parts in order, with a mark for each gap that is longer than its mark."""
        shown: list[str] = []
        at = 0
        for part in [*sorted(chosen), len(self)]:
            if part > at:
                gap = self._gap(at, part, recall)
                shown.append(gap)
                recall = recall if gap == self.text[self.starts[at] : self.starts[part]] else ""
            if part < len(self):
                shown.append(self.part(part))
            at = part + 1
        return "".join(shown)

    def _gap(self, first: int, last: int, recall: str) -> str:
        """Return what stands in place of some parts: themselves, if the mark is not shorter."""
        start, stop = self.starts[first], self.starts[last]
        gap, ends = self.text[start:stop], last == len(self)
        if (start == 0 or self.text[start - 1] == "\n") and (ends or gap.endswith("\n")):
            lines = gap.count("\n") + (ends and not gap.endswith("\n")) + _omitted_before(gap)
            size = (stop - start, "character") if lines == 1 and ends and not start else (lines, "line")
            note = mark(*size, recall) + ("" if ends else "\n")
        else:
            note = ("" if start == 0 else " ") + mark(stop - start, "character", recall) + ("" if ends else " ")
        return gap if len(gap) <= max(len(note), _SHORT_GAP) else note

    def ending(self) -> list[int]:
        """Return the parts that say how it ended, the most telling first: the last line, the last failure, a status."""
        failure = last_failure(self.text)
        last = next((at for at in range(len(self) - 1, -1, -1) if self._tells(at)), None)
        found = [] if last is None else [last]
        found += [] if failure is None else [self.part_at(failure)]
        edges = {*range(min(_NEAR_END, len(self))), *range(max(0, len(self) - _NEAR_END), len(self))}
        found += [at for at in sorted(edges) if _STATUS.search(self.part(at))]
        return [at for at in dict.fromkeys(found) if self.size(at) <= _LONG_LINE]

    def _tells(self, part: int) -> bool:
        """Return whether a line says anything: tags and brackets alone do not."""
        return _WORD.search(_TAG.sub("", self.part(part))) is not None


class JsonParts:
    """A JSON document as its members, of which some may be omitted."""

    def __init__(self, text: str, root: JsonNode, leaves: list[JsonNode]) -> None:
        self.text = text
        self._root = root
        self._leaves = leaves
        self._starts = array("L", [leaf.start for leaf in leaves])

    def __len__(self) -> int:
        return len(self._leaves)

    def part_at(self, place: int) -> int:
        """Return the part that a place in the text belongs to."""
        return max(0, bisect_right(self._starts, place) - 1)

    def size(self, part: int) -> int:
        """Return the characters of a part."""
        return self._leaves[part].stop - self._leaves[part].start

    def part(self, part: int) -> str:
        """Return the text of a part."""
        return self.text[self._leaves[part].start : self._leaves[part].stop]

    def show(self, chosen: Collection[int], recall: str = "") -> str:
        """Return the document with the chosen members, and marks in place of the others; one mark if there are none."""
        if not chosen:
            return mark(sum(child.size for child in self._root.inner), self._root.noun, recall)
        return self._shown(self._root, {id(self._leaves[at]) for at in chosen}, recall) or ""

    def _shown(self, node: JsonNode, chosen: Collection[int], recall: str) -> str | None:
        """Return what is shown of a value: `None` if nothing is, and the root always is."""
        whole = self.text[node.start : node.stop]
        if not node.inner:
            return whole if id(node) in chosen or node is self._root else None
        texts = [self._shown(child, chosen, "") for child in node.inner]
        missing = [at for at, text in enumerate(texts) if text is None]
        if len(missing) == len(texts) and node is not self._root:
            return None
        if sum(node.inner[at].stop - node.inner[at].start for at in missing) <= _MARK and not recall:
            return whole
        first, last = node.inner[0], node.inner[-1]
        comma = self.text[first.stop : node.inner[1].start] if len(node.inner) > 1 else ", "
        rows = list(_with_marks(texts, [child.size for child in node.inner], node.noun, recall))
        return self.text[node.start : first.start] + comma.join(rows) + self.text[last.stop : node.stop]

    def ending(self) -> list[int]:
        """Return the members that say how it ended, the most telling first: a failure, the first member, a status."""
        failure = last_failure(self.text)
        found = [0] if failure is None else [self.part_at(failure), 0]
        found += [at for at in range(len(self)) if _STATUS.match(self.part(at)[:40])][:_NEAR_END]
        return [at for at in dict.fromkeys(found) if self.size(at) <= _LONG_LINE]


class JsonNode:
    """A value of a JSON document, with its key if it has one."""

    __slots__ = ("inner", "noun", "size", "start", "stop", "value")

    def __init__(self, start: int, noun: str = "") -> None:
        self.start = start
        self.stop = start
        self.value = start
        """Where the value begins, after its key."""
        self.noun = noun
        """What its members are called: `field` or `item`; empty if it has none."""
        self.size = 1
        """How many members of its parent it stands for."""
        self.inner: list[JsonNode] = []


def _with_marks(texts: Sequence[str | None], sizes: Sequence[int], noun: str, recall: str) -> Iterator[str]:
    """Yield the members that are shown: a mark in each gap of an array, one at the end of an object."""
    gap = 0
    for text, size in zip(texts, sizes, strict=True):
        if text is None:
            gap += size
            continue
        if gap and noun == "item":
            yield json.dumps(mark(gap, noun, recall))
            gap, recall = 0, ""
        yield text
    if gap:
        yield json.dumps(mark(gap, noun, recall)) + (": null" if noun == "field" else "")


def _json_parts(text: str) -> Parts | None:
    """Return the parts of a JSON object or array, one if it cannot be divided; `None` if the text is none."""
    top = _json_tree(text)
    if top is None:
        return whole_part(text) if _is_json(text) else None
    leaves = list(_leaves(top))
    return JsonParts(text, top, leaves) if len(text) > _SMALL and len(leaves) > 1 else whole_part(text)


def _is_json(text: str) -> bool:
    """Return whether a text is a JSON object or array."""
    if (text.lstrip()[:1], text.rstrip()[-1:]) not in (("{", "}"), ("[", "]")):
        return False
    try:
        json.loads(text, parse_int=str)  # A number may have more digits than Python reads.
    except ValueError:
        return False
    except RecursionError:
        return True
    return True


def _json_tree(text: str) -> JsonNode | None:
    """Return the values of a JSON object or array; `None` if the text is none, or is too long or too deep."""
    if len(text) > _MOST_JSON or not _is_json(text):
        return None
    root = JsonNode(0)
    stack = [root]
    key: int | None = None
    for found in _JSON_TOKEN.finditer(text):
        token, parent = found[0][0], stack[-1]
        if token in "]}":
            stack.pop()
            parent.stop = found.end()
        elif token == '"' and parent.noun == "field" and key is None:
            key = found.start()
        else:
            node = JsonNode(found.start() if key is None else key)
            node.value, node.stop, key = found.start(), found.end(), None
            parent.inner.append(node)
            if token in "[{":
                node.noun = "field" if token == "{" else "item"
                stack.append(node)
                if len(stack) > _DEEPEST:
                    return None
    return root.inner[0]


def _leaves(node: JsonNode) -> Iterator[JsonNode]:
    """Yield the values that are shown as one: small ones, and those that follow each other joined into one."""
    joined: list[JsonNode] = []
    for each in node.inner:
        if each.inner and each.stop - each.start > _SMALL:
            joined.append(each)
            continue
        last = joined[-1] if joined else each
        if last is not each and not last.inner and each.stop - last.start <= _SMALL:
            last.stop = each.stop
            last.size += 1
        else:
            each.inner = []
            joined.append(each)
    node.inner = joined
    for each in joined:
        yield from _leaves(each) if each.inner else (each,)


def _omitted_before(gap: str) -> int:
    """Return how many more lines are missing in a gap than it has, since marks in it stand for others."""
    return sum(int(number.replace(",", "")) - 1 for number in _MARKED.findall(gap))


def by_importance(parts: Parts) -> Iterator[int]:
    """Yield the parts of a text that the agent wrote, those first that say what it decided.

    These are its last block of code, then its first words and its last ones in turns, then other code.
    """
    lines = [parts.part(at) for at in range(len(parts))]
    code, prose, opens, inside = list[int](), list[int](), list[int](), False
    for at, line in enumerate(lines):
        fences = line.count(_FENCE)
        if fences:
            opens += [at] if not inside else []
            inside ^= fences % 2 == 1
        elif line.strip():
            (code if inside else prose).append(at)
    command = opens[-1:]
    yield from command
    for found in (prose, sorted({*code, *opens})):
        ends = (end for i in range((len(found) + 1) // 2) for end in (found[i], found[-1 - i]))
        yield from (at for at in dict.fromkeys(ends) if at not in command)


Parts = TextParts | JsonParts


def whole_part(text: str) -> Parts:
    """Return a text as one part, which is shown or omitted as a whole."""
    made = TextParts("")
    made.text, made.starts = text, array("L", [0, len(text)])
    return made


_PARTS: Memo[Parts] = Memo()
"""The parts of texts: a history that is fitted anew brings the same texts."""
_PARAGRAPHS: Memo[Parts] = Memo()
"""The same of texts that the agent wrote."""


def parts_of(text: str, *, own: bool = False) -> Parts:
    """Return the parts of a text: lines, members of JSON, or the paragraphs of what the agent wrote itself."""
    memo = _PARAGRAPHS if own else _PARTS
    known = memo.get(text)
    if known is None:
        known = TextParts(text, paragraphs=True) if own else _json_parts(text) or TextParts(text)
        memo.put(text, known)
    return known


def brief_arguments(text: str, is_long: Callable[[str], bool]) -> str | None:
    """Return the arguments of a call with marks for its long values; `None` if there are none, or it is no object."""
    root = _json_tree(text)
    if root is None or root.noun != "field":
        return None
    shown, end = list[str](), 0
    for member in root.inner:
        written = text[member.value : member.stop]
        value = json.loads(written)
        if is_long(value if isinstance(value, str) else written) and (note := value_mark(value)) != value:
            shown += [text[end : member.value], json.dumps(note, ensure_ascii=False)]
            end = member.stop
    return "".join([*shown, text[end:]]) if shown else None


def value_mark(value: Any) -> Any:
    """Return the mark in place of a long value of a call: it says what it was, and has its type."""
    if isinstance(value, str):
        lines = value.split("\n")
        start = next((line.strip() for line in lines if line.strip()), "")[:_START].rstrip()
        size = f"{len(lines):,} lines" if len(lines) > 1 else f"{len(value):,} characters"
        return f"[{size} omitted, beginning: {start}]"
    if isinstance(value, list):
        return [mark(len(value), "item")]
    return {mark(len(value), "field"): None} if isinstance(value, dict) else value


_START = 80
"""Characters of the first line of a value that its mark shows."""
