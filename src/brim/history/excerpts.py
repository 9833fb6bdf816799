"""Excerpts: how the texts of a history are divided into parts that are kept or dropped whole.

Results are divided into lines or members of JSON (`brim.truncate.parts`), what people and the agent wrote
into sentences and blocks of code. A long value of a call is one part.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from brim.truncate.base import mark
from brim.truncate.json_parts import LARGEST, Parts, json_parts, members
from brim.truncate.parts import LONG_LINE, TextParts

_FENCE = "```"
_SENTENCE = 240
"""Characters of a line of prose above which it is divided into sentences, and of the longest part of one."""
_SHORT_SENTENCE = 24
"""Characters up to which a sentence forms one part with the next: `Yes.`, or the number of an item."""


def sentences(text: str) -> TextParts:
    """Return the lines of a text, long ones divided into sentences, and its blocks of code unless they are too long."""
    parts = TextParts(text, longest=_SENTENCE, shortest=_SHORT_SENTENCE)
    starts, inside = array("L", [0]), False
    for start, stop in pairwise(parts.starts):
        fence = text[start:stop].lstrip().startswith(_FENCE)
        if start and (not inside or stop - starts[-1] > LONG_LINE):
            starts.append(start)
        inside ^= fence
    starts.append(len(text))
    parts.starts = starts
    return parts


def by_importance(parts: Parts, *, quotes: bool = False) -> Iterator[int]:
    """Yield the parts of an agent's text, the most important first.

    These are the last block of code, then the first and the last sentences in turns, then other code. With `quotes`
    no block of code is the command: the text only quotes it, since its command is in a call.
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
    command = [] if quotes else opens[-1:]
    yield from command
    for found in (prose, sorted({*code, *opens})):
        ends = (end for i in range((len(found) + 1) // 2) for end in (found[i], found[-1 - i]))
        yield from (at for at in dict.fromkeys(ends) if at not in command)


def parts_of(text: str, *, own: bool = False) -> Parts:
    """Return the parts of a text: lines, members of JSON, or with `own` the sentences of what somebody wrote."""
    if own:
        return sentences(text)
    return (json_parts(text) if len(text) <= LARGEST else None) or TextParts(text)


def brief_arguments(text: str, is_long: Callable[[str], bool]) -> str | None:
    """Return the arguments of a call with marks in place of long values; `None` if it has none or is not an object."""
    shown, end = list[str](), 0
    for start, stop in members(text):
        written = text[start:stop]
        value = json.loads(written)
        if is_long(value if isinstance(value, str) else written) and (note := value_mark(value)) != value:
            shown += [text[end:start], json.dumps(note, ensure_ascii=False)]
            end = stop
    return "".join([*shown, text[end:]]) if shown else None


def value_mark(value: Any) -> Any:
    """Return the mark for a long value of a call; it describes the value and has its type."""
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
