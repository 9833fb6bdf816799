"""The marks that stand where text was omitted: ordinary words in brackets with a number.

A marker of a user may contain any braces, so the two fields are replaced as plain text and nothing else in it is
interpreted.
"""

from __future__ import annotations

import re

_COUNTED = re.compile(r" ?\[\{dropped[^\]]*omitted\]")
"""The brackets of a marker that say how many were dropped."""


def mark(number: int, noun: str, recall: str = "") -> str:
    """Return the mark of what is omitted; with the handle `recall` it says how to bring that back."""
    more = f"; recall {recall}" if recall else ""
    return f"[{number:,} {noun if number == 1 else noun + 's'} omitted{more}]"


def filled(marker: str, dropped: int) -> str:
    """Return `marker` with `{dropped}` and `{dropped:,}` replaced by the number, and the noun in its singular for 1.

    Without anything dropped, it has no brackets that count.
    """
    if not dropped:
        marker = _COUNTED.sub("", marker)
    text = marker.replace("{dropped:,}", f"{dropped:,}").replace("{dropped}", str(dropped))
    if dropped != 1:
        return text
    return text.replace("entries omitted]", "entry omitted]").replace("s omitted]", " omitted]")


def one_line(marker: str) -> str:
    """Return `marker` without line breaks, for a line of its own."""
    return " ".join(marker.split())
