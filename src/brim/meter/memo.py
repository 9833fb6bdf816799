"""A bounded, thread-safe cache of values by text.

The key is the text itself: Python keeps a string's hash with the string, so a hit costs one lookup. Two generations
bound the memory: when the young one is full it becomes the old one, and entries not used since then are dropped. Reads
take no lock; a dictionary's single get and set are atomic.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import Generic, TypeVar

_MOST_ENTRIES = 65_536
_MOST_CHARS = 4 * 1024 * 1024
"""Of each generation; a longer text is counted each time, and its memory is not held."""

T = TypeVar("T")


class Memo(Generic[T]):
    """A bounded cache from texts to values."""

    __slots__ = ("_chars", "_lock", "_old", "_young")

    def __init__(self) -> None:
        self._young: dict[str, T] = {}
        self._old: dict[str, T] = {}
        self._chars = 0
        self._lock = Lock()

    def __reduce__(self) -> tuple[type[Memo[T]], tuple[()]]:
        return type(self), ()  # A copy starts empty: a cache is not part of the value that has it.

    def __len__(self) -> int:
        return len(self._young) + len(self._old)

    def get(self, text: str) -> T | None:
        """Return the value of `text`, or `None`."""
        if len(text) > _MOST_CHARS:  # Never cached, and hashing it would block the interpreter.
            return None
        value = self._young.get(text)
        if value is None:
            value = self._old.get(text)
            if value is not None:
                self.put(text, value)
        return value

    def each(self, texts: Sequence[str]) -> list[T | None]:
        """Return the value of each text, or `None`: in less time than one after the other."""
        known = self._young.get
        found = [known(text) if len(text) <= _MOST_CHARS else None for text in texts]
        return found if None not in found else [self.get(text) for text in texts]

    def put(self, text: str, value: T) -> None:
        """Cache `value` for `text`, unless the text alone would fill the cache."""
        size = len(text)
        if size > _MOST_CHARS:
            return
        with self._lock:
            if text in self._young:
                return
            if self._chars + size > _MOST_CHARS or len(self._young) >= _MOST_ENTRIES:
                self._old, self._young, self._chars = self._young, {}, 0
            self._young[text] = value
            self._chars += size

    def clear(self) -> None:
        """Remove all entries."""
        with self._lock:
            self._young, self._old, self._chars = {}, {}, 0
