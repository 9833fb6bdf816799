"""The entries of a text: its lines, where a line that wraps belongs to the one before it.

A list of lessons or memories is often passed as one text. If its first line begins with a label ("Attempt 3:", "- ",
"2. ", "[09:30] "), an entry begins at each line with a label of that kind; if not, each line is an entry. A blank line
belongs to the entry before it.
"""

from __future__ import annotations

import re

_LABEL = re.compile(r"([-*•+]|\[)(?=[ \w])|\d{1,9}([.):])|(\w{1,40}) #?\d{1,9}[.):]")


def text_entries(text: str) -> list[str]:
    """Return the entries of a text, of which each may have several lines; joined by line breaks they are the text."""
    entries: list[list[str]] = []
    kind: str | None = None
    for line in text.split("\n"):
        label = _LABEL.match(line)
        found = "" if label is None else next(group for group in label.groups() if group)
        if kind is None and line.strip():
            kind = found
        if not entries or (line.strip() and (not kind or found == kind)):
            entries.append([line])
        else:
            entries[-1].append(line)
    return ["\n".join(lines) for lines in entries]
