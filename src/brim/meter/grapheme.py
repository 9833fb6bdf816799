"""Finds positions at which a text can be cut without splitting a grapheme.

Whether a position is a boundary depends on the text before it and one character after it, so looking back a short way
is enough unless the cluster is longer.
"""

from __future__ import annotations

from functools import cache
from typing import Any

_LOOK_BACK = 64
_LAST_PLAIN = "\u02ff"
"""The last character before the combining ones; of the characters up to here, only CR and LF join."""

_FLAG_HALVES = "".join(map(chr, range(0x1F1E6, 0x1F200)))


def boundary_before(text: str, index: int) -> int:
    """Return the last grapheme boundary at or before `index`."""
    if index <= 0:
        return 0
    if index >= len(text):
        return len(text)
    if _part_plainly(text[index - 1], text[index]):
        return index
    look = _LOOK_BACK
    while True:
        start = max(0, index - look)
        if text[start] in _FLAG_HALVES:
            start -= _flag_halves(text, start) % 2
        last = 0
        for cluster in _clusters().finditer(text, start, index + 1):
            if cluster.end() > index:
                break
            last = cluster.end()
        if last:
            return last
        if start == 0:
            return 0
        look *= 4


def boundary_after(text: str, index: int) -> int:
    """Return the first grapheme boundary at or after `index`."""
    if index <= 0:
        return 0
    if index >= len(text):
        return len(text)
    start = boundary_before(text, index)
    if start == index:
        return index
    cluster = _clusters().match(text, start)
    return int(cluster.end()) if cluster else index


def _part_plainly(left: str, right: str) -> bool:
    return left <= _LAST_PLAIN and right <= _LAST_PLAIN and not (left == "\r" and right == "\n")


def _flag_halves(text: str, index: int) -> int:
    """Return the number of regional indicators directly before `index`: each pair is one flag."""
    before = text[:index]
    return len(before) - len(before.rstrip(_FLAG_HALVES))


@cache
def _clusters() -> Any:
    """Return the compiled pattern of one extended grapheme cluster."""
    import regex

    return regex.compile(r"\X")
