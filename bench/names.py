"""The names in a text: paths, ids, identifiers and numbers, by which an agent reaches for what it saw before."""

from __future__ import annotations

import re

LEAST = 6
"""Characters of the shortest name."""
_WORD = re.compile(r"\w[\w./\-@#:]*\w")
_HUMP = re.compile(r"[a-z][A-Z]")


def names(text: str) -> set[str]:
    """Return the words of a text that name something: six characters, with a digit, a joint or a hump."""
    words = {word.rstrip(".:-") for word in _WORD.findall(text)}
    return {
        word
        for word in words
        if len(word) >= LEAST and (any(c.isdigit() or c in "_/#@." for c in word) or _HUMP.search(word))
    }
