"""Positions at which a text can be split so that the counts of its pieces add up.

Every vocabulary with an additive engine starts a new pre-token at a space that follows another
character, so a text split there counts the same in pieces as whole. The OpenAI family also starts one at a line break
after a letter or a digit, and at a full-width stop or comma after a Chinese character. Splitting after a line
break, or inside a run of spaces, is not additive.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

PIECE = 128 * 1024
"""Characters in a piece: small enough that no library blocks the interpreter for long."""

_EDGE = 512
"""Characters at each end of a text in which a seam is searched; nearly every text has one in the first ten."""

_REACH = 2048
_TRIES = 64

_AT_SPACE = r"(?<=\S)(?= )"
_AT_LINE = r"|(?<=[A-Za-z0-9\u4e00-\u9fff])(?=\n)|(?<=[\u4e00-\u9fff])(?=[。，、])"
_HAN_STOPS = "。，、"


def pieces(text: str, *, at_lines: bool, size: int = PIECE) -> Iterator[str]:
    """Yield `text` in pieces of about `size` characters whose counts add up; a text without seams stays whole."""
    start = 0
    while len(text) - start > size:
        seam, reach = None, size
        while seam is None:
            end = min(start + reach, len(text) - 1)
            seam = _last_seam(text, start + reach // 2, end, at_lines=at_lines)
            if seam is None and end == len(text) - 1:
                seam = len(text)
            reach *= 2
        yield text[start:seam]
        start = seam
    if start < len(text) or not text:
        yield text[start:]


def seam_before(text: str, index: int, *, at_lines: bool) -> int | None:
    """Return the last seam in the few thousand characters up to `index`, or `None`."""
    return _last_seam(text, max(1, index - _REACH), index, at_lines=at_lines) if 0 < index < len(text) else None


def edges(text: str, *, at_lines: bool) -> tuple[int, int] | None:
    """Return the first and the last seam near the two ends of `text`, or `None` if there is none."""
    first = _pattern(at_lines).search(text, 1, min(len(text), _EDGE) + 1)
    if first is None or first.start() >= len(text):
        return None
    last = _last_seam(text, max(1, len(text) - _EDGE), len(text) - 1, at_lines=at_lines)
    return (first.start(), max(last, first.start())) if last else None


@cache
def _pattern(at_lines: bool) -> re.Pattern[str]:
    return re.compile(_AT_SPACE + _AT_LINE if at_lines else _AT_SPACE)


def _last_seam(text: str, low: int, high: int, *, at_lines: bool) -> int | None:
    """Return the last seam in `text[low : high + 1]`, looking at no more than a bounded number of gaps."""
    end = high + 1
    for _ in range(_TRIES):
        gap = text.rfind(" ", low, end)
        if at_lines:
            gap = max(gap, text.rfind("\n", low, end))
        if gap < 0:
            break
        run = low - 1 + len(text[low - 1 : gap].rstrip())
        if run < low:
            break
        if text[run] == " " or (at_lines and text[run] == "\n" and _is_word(text[run - 1])):
            return run
        end = run
    return _last_stop(text, low, high) if at_lines and not text.isascii() else None


def _last_stop(text: str, low: int, high: int) -> int | None:
    """Return the last full-width stop after a Chinese character in `text[low : high + 1]`."""
    found = [text.rfind(stop, low, high + 1) for stop in _HAN_STOPS]
    stop = max(found)
    return stop if stop >= low and _is_han(text[stop - 1]) else None


def _is_word(char: str) -> bool:
    return (char.isascii() and char.isalnum()) or _is_han(char)


def _is_han(char: str) -> bool:
    return "\u4e00" <= char <= "\u9fff"
