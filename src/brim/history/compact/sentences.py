"""Split what was said into sentences, in scripts with spaces and without, line by line."""

from __future__ import annotations

import re

_END = re.compile(r"(?<=[.!?][\"')\]])\s+|(?<=[.!?])\s+(?=[^a-z\s])|(?<=[。！？；])")
"""Behind what ends a sentence; a small letter after the stop says that it was an abbreviation."""
_LONGEST = 400
"""Characters of a sentence. What is longer is no sentence: a file, a table, a line of JSON."""
_BULLET = re.compile(r"^\s*(?:[-*•>#]+|\d{1,3}[.)])\s+")


def sentences(text: str) -> list[str]:
    """Return the sentences of a text in order, without bullets; what is too long to be one is left out."""
    found = []
    for line in text.splitlines():
        bare = _BULLET.sub("", line).strip()
        if not bare:
            continue
        parts = _END.split(bare) if len(bare) <= 20 * _LONGEST else ()
        found += [part.strip() for part in parts if part.strip() and len(part) <= _LONGEST]
    return found
