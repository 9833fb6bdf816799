"""Advice that is valid beyond one attempt: banned, preferred or strategic.

Repeated advice increases a count instead of being listed twice. Pinned advice comes first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from brim.amounts import units
from brim.errors import InvalidType, check_choice
from brim.receipts.section import Section
from brim.truncate import cut

AdviceKind = Literal["banned", "preferred", "strategic"]
KINDS = get_args(AdviceKind)

_MOST_CHARS = 500
"""Maximum characters of an entry, which should be a sentence, not a document."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Advice:
    """One entry."""

    kind: AdviceKind
    text: str
    count: int = 1
    """How often it was learned."""
    seen: int = 0
    """The position of its last occurrence, counted over all entries."""
    pinned: bool = False


@dataclass(frozen=True, slots=True)
class SemanticMemory:
    """The learned advice, each entry once."""

    entries: tuple[Advice, ...] = ()

    def __len__(self) -> int:
        return len(self.entries)

    def learned(self, kind: AdviceKind, text: str, *, pinned: bool = False) -> SemanticMemory:
        """Return the memory with another entry, or with a higher count of a known one, which gets the newest wording.

        Raises:
            InvalidValue: the kind is unknown, or the text is empty.
        """
        check_choice("kind", kind, KINDS)
        if not isinstance(text, str) or not text.strip():
            raise InvalidType("text", text, "a non-empty string")
        entry_text = cut(" ".join(text.split()), _MOST_CHARS, "chars", marker="…").text
        now = max((entry.seen for entry in self.entries), default=0) + 1
        key = _key(entry_text)
        for i, entry in enumerate(self.entries):
            if entry.kind == kind and _key(entry.text) == key:
                again = replace(entry, text=entry_text, count=entry.count + 1, seen=now, pinned=entry.pinned or pinned)
                return SemanticMemory((*self.entries[:i], again, *self.entries[i + 1 :]))
        return SemanticMemory((*self.entries, Advice(kind=kind, text=entry_text, seen=now, pinned=pinned)))

    def top(self, kind: AdviceKind, most: int | None = None) -> tuple[Advice, ...]:
        """Return the entries of a kind: pinned first, then by count, then the newest.

        Raises:
            InvalidValue: the kind is unknown.
        """
        return self._first(kind, most, lambda entry: (not entry.pinned, -entry.count, -entry.seen))

    def newest(self, kind: AdviceKind, most: int | None = None) -> tuple[Advice, ...]:
        """Return the entries of a kind: pinned first, then the newest.

        Raises:
            InvalidValue: the kind is unknown.
        """
        return self._first(kind, most, lambda entry: (not entry.pinned, -entry.seen))

    def section(self, kind: AdviceKind, name: str | None = None, *, most: int | None = None, **options: Any) -> Section:
        """Return the entries of a kind as a section that drops the last ones first.

        Strategic entries are ordered by age, others by count.

        Raises:
            InvalidValue: the kind is unknown, or an option is not one of `Section`.
        """
        ranked = self.newest(kind) if kind == "strategic" else self.top(kind)
        return Section(name or kind, [entry.text for entry in ranked], **{"keep": "best", "most": most, **options})

    def _first(self, kind: AdviceKind, most: int | None, rank: Any) -> tuple[Advice, ...]:
        check_choice("kind", kind, KINDS)
        ranked: Sequence[Advice] = sorted((entry for entry in self.entries if entry.kind == kind), key=rank)
        return tuple(ranked if most is None else ranked[: units("most", most)])


def _key(text: str) -> str:
    """Return a key that ignores case, spaces, and punctuation at the ends."""
    return " ".join(text.casefold().split()).lstrip(" -*•").rstrip(" .!;,")
