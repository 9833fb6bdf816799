"""Where a text can be split so that the counts of its pieces add up.

Every vocabulary that brim knows starts a new pre-token at a space that follows something else, so a text
split there counts the same in pieces as whole. The OpenAI family also starts one at a line break after a letter
or a digit. Splitting after a line break, or inside a run of spaces, is not additive.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

PIECE = 128 * 1024
"""Characters in a piece: small enough that no library holds the interpreter for long over one."""

_EDGE = 512
"""Characters at each end of a text in which a seam is looked for; nearly every text has one in the first ten."""

_TRIES = 64

_AT_SPACE = re.compile(r"(?<=\S)(?= )")
_AT_SPACE_OR_LINE = re.compile(r"(?<=\S)(?= )|(?<=[A-Za-z0-9])(?=\n)")


def pieces(text: str, *, at_lines: bool, size: int = PIECE) -> Iterator[str]:
    """Yield `text` in pieces of about `size` characters whose counts add up; a text without seams comes whole."""
    start = 0
    while len(text) - start > size:
        seam = _last_seam(text, start + size // 2, start + size, at_lines=at_lines)
        reach = size
        while seam is None:
            reach *= 2
            if start + reach >= len(text):
                seam = _last_seam(text, start + reach // 2, len(text) - 1, at_lines=at_lines) or len(text)
            else:
                seam = _last_seam(text, start + reach // 2, start + reach, at_lines=at_lines)
        yield text[start:seam]
        start = seam
    if start < len(text) or not text:
        yield text[start:]


def edges(text: str, *, at_lines: bool) -> tuple[int, int] | None:
    """Return the first and the last seam near the two ends of `text`, or `None` where there is none."""
    pattern = _AT_SPACE_OR_LINE if at_lines else _AT_SPACE
    first = pattern.search(text, 1, min(len(text), _EDGE) + 1)
    if first is None or first.start() >= len(text):
        return None
    last = None
    for last in pattern.finditer(text, max(1, len(text) - _EDGE)):  # noqa: B007 - the last match is wanted
        pass
    return (first.start(), last.start()) if last else None


def _last_seam(text: str, low: int, high: int, *, at_lines: bool) -> int | None:
    """Return the last seam in `text[low : high + 1]`, looking at no more than a bounded number of gaps."""
    end = high + 1
    for _ in range(_TRIES):
        gap = text.rfind(" ", low, end)
        if at_lines:
            gap = max(gap, text.rfind("\n", low, end))
        if gap < 0:
            return None
        run = low - 1 + len(text[low - 1 : gap].rstrip())
        if run < low:
            return None
        if text[run] == " " or (at_lines and text[run] == "\n" and text[run - 1].isascii() and text[run - 1].isalnum()):
            return run
        end = run
    return None
