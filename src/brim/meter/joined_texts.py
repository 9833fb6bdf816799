"""Texts of which some are chosen and joined: what a search for the most that fits asks for again and again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

Ends = tuple[str, str, int] | tuple[()]
"""The start and the end of a text up to its seams, and the count between them; nothing if they are not known."""


class _Counter(Protocol):
    def count(self, text: str) -> int: ...


class JoinedTexts:
    """Texts with a separator between each two of them, and the counts of choices among them."""

    def __init__(self, meter: _Counter, texts: Sequence[str], separator: str) -> None:
        self._meter = meter
        self.texts = texts
        self._separator = separator

    def size(self, index: int) -> int:
        """Return the count of one text."""
        return self._meter.count(self.texts[index])

    def sizes(self, indexes: Sequence[int]) -> list[int]:
        """Return the counts of some texts."""
        return [self.size(index) for index in indexes]

    def count(self, chosen: Sequence[int], before: str = "", after: str = "") -> int:
        """Return the count of some texts, joined, with more text before and after; at least one is chosen."""
        return self._meter.count(self.text(chosen, before, after))

    def ends(self, chosen: Sequence[int], before: str = "", after: str = "") -> Ends:  # noqa: ARG002
        """Return the ends of that text, if they are known without looking at it."""
        return ()

    def text(self, chosen: Sequence[int], before: str = "", after: str = "") -> str:
        """Return some texts, joined, with more text before and after."""
        return before + self._separator.join([self.texts[index] for index in chosen]) + after
