"""Remember what holds beyond one attempt: what to avoid, what to prefer, what to keep in mind.

An entry that is learned again counts once more instead of standing twice. What is pinned is served first and takes its
part of the number and of the budget before anything else does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from brim.amounts import units
from brim.errors import InvalidType, check_choice
from brim.receipts.section import Section
from brim.truncate.text import cut

KINDS = ("banned", "preferred", "strategic")

_MOST_CHARS = 500
"""Characters of an entry: it is a sentence, not a document."""
_ENDS = re.compile(r"^[\s\-*•]+|[\s.!;,]+$")


@dataclass(frozen=True, kw_only=True, slots=True)
class Advice:
    """One thing that was learned."""

    kind: str
    """One of `KINDS`."""
    text: str
    count: int = 1
    """How often it was learned."""
    seen: int = 0
    """When it was last learned, counted over all entries."""
    pinned: bool = False


@dataclass(frozen=True, slots=True)
class Semantic:
    """What was learned, each thing once."""

    entries: tuple[Advice, ...] = ()

    def __len__(self) -> int:
        return len(self.entries)

    def learned(self, kind: str, text: str, *, pinned: bool = False) -> Semantic:
        """Return the memory with one more entry, or with one that counts once more; the newest wording stays.

        Raises:
            InvalidValue: no such kind, or no text.
        """
        check_choice("kind", kind, KINDS)
        if not isinstance(text, str) or not text.strip():
            raise InvalidType("text", text, "a text that is not empty")
        told = cut(" ".join(text.split()), _MOST_CHARS, "chars", marker="…").text
        now = max((entry.seen for entry in self.entries), default=0) + 1
        key = _key(told)
        for i, entry in enumerate(self.entries):
            if entry.kind == kind and _key(entry.text) == key:
                again = replace(entry, text=told, count=entry.count + 1, seen=now, pinned=entry.pinned or pinned)
                return Semantic((*self.entries[:i], again, *self.entries[i + 1 :]))
        return Semantic((*self.entries, Advice(kind=kind, text=told, seen=now, pinned=pinned)))

    def top(self, kind: str, most: int | None = None) -> tuple[Advice, ...]:
        """Return the entries of a kind: pinned first, then by count, then the newest.

        Raises:
            InvalidValue: no such kind.
        """
        return self._first(kind, most, lambda entry: (not entry.pinned, -entry.count, -entry.seen))

    def newest(self, kind: str, most: int | None = None) -> tuple[Advice, ...]:
        """Return the entries of a kind: pinned first, then the newest.

        Raises:
            InvalidValue: no such kind.
        """
        return self._first(kind, most, lambda entry: (not entry.pinned, -entry.seen))

    def section(self, kind: str, name: str | None = None, *, most: int | None = None, **options: Any) -> Section:
        """Return the entries of a kind as a section, which gives up the last first.

        Strategic entries are ranked by age, the others by count.

        Raises:
            InvalidValue: no such kind, or an option that a section cannot have.
        """
        ranked = self.newest(kind) if kind == "strategic" else self.top(kind)
        given: dict[str, Any] = {"keep": "best", "most": most, **options}
        return Section(name or kind, [entry.text for entry in ranked], **given)

    def _first(self, kind: str, most: int | None, rank: Any) -> tuple[Advice, ...]:
        check_choice("kind", kind, KINDS)
        ranked: Sequence[Advice] = sorted((entry for entry in self.entries if entry.kind == kind), key=rank)
        return tuple(ranked if most is None else ranked[: units("most", most)])


def _key(text: str) -> str:
    """Return what two wordings of the same thing have in common: case, spaces and marks at the ends do not count."""
    return _ENDS.sub("", " ".join(text.casefold().split()))
