"""Choose from a memory before anything is measured: the first characters, the last entries, the best entries.

Each is a section with the choice already made. What a choice leaves out is no loss: it was never meant to be there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from brim.receipts.section import Section


def first(name: str, text: str, most: int, **options: Any) -> Section:
    """Return a section of the first characters of a text.

    Raises:
        InvalidValue: an option that a section cannot have.
    """
    return Section(name, text, **{"keep": "head", "most": most, **options})


def last(name: str, entries: Sequence[str], most: int, **options: Any) -> Section:
    """Return a section of the newest entries, which stand last.

    Raises:
        InvalidValue: an option that a section cannot have.
    """
    return Section(name, entries, **{"keep": "newest", "most": most, **options})


def top(name: str, entries: Sequence[str], most: int, **options: Any) -> Section:
    """Return a section of the best entries, which stand first.

    Raises:
        InvalidValue: an option that a section cannot have.
    """
    return Section(name, entries, **{"keep": "best", "most": most, **options})
