"""A bounded, thread-safe cache of values by text.

The key is the text itself: Python keeps a string's hash with the string, so a hit costs one lookup. Two generations
bound the memory: a text of the old one that is used moves to the young one, and when both are full, what is left of the
old one is dropped and the older half of the young one takes its place. So texts that are used in turn all stay, as long
as both together hold them. Reads take no lock; a dictionary's single get and set are atomic.
"""

from __future__ import annotations

from itertools import islice
from threading import Lock
from typing import Generic, TypeVar

_MOST_ENTRIES = 65_536
_MOST_CHARS = 4 * 1024 * 1024
"""Of each of two generations; a longer text is counted each time, and its memory is not held."""

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

    def put(self, text: str, value: T) -> None:
        """Cache `value` for `text`, unless the text alone would fill the cache."""
        size = len(text)
        if size > _MOST_CHARS:
            return
        with self._lock:
            if text in self._young:
                return
            size = size if self._old.pop(text, None) is None else 0  # One that is used again only changes places.
            while size and self._is_full(size):
                self._age()
            self._young[text] = value
            self._chars += size

    def _is_full(self, size: int) -> bool:
        """Return whether a text of so many characters is too many, for one generation if there is no old one."""
        most = 2 if self._old else 1
        return self._chars + size > most * _MOST_CHARS or len(self) >= most * _MOST_ENTRIES

    def _age(self) -> None:
        """Drop the old generation; the older half of the young one takes its place."""
        rows, half = self._young.items(), (len(self._young) + 1) // 2
        self._old, self._young = dict(islice(rows, half)), dict(islice(rows, half, None))
        self._chars = sum(map(len, self._old)) + sum(map(len, self._young))

    def clear(self) -> None:
        """Remove all entries."""
        with self._lock:
            self._young, self._old, self._chars = {}, {}, 0
