"""The sections that the newest prompt of each conversation has, so that the next one begins with the same bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import NamedTuple

from brim.gateway.added_sections import AddedSections


class HeldChoice(NamedTuple):
    """The sections of the newest prompt of a conversation."""

    added: AddedSections | None
    size: int
    """Tokens of the request as it came."""
    used: int
    """Tokens of what was sent."""
    target: int
    """Tokens that it was cut to at the most."""


class HeldSections:
    """The sections of conversations that were cut, by name. Safe for threads."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: OrderedDict[str, HeldChoice] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, name: str, size: int, target: int, fits: int) -> AddedSections | None:
        """Return the sections of a conversation, if what is new fits beside what was sent; `None` if not."""
        with self._lock:
            last = self._held.get(name)
        if last is None or last.target != target or not last.size <= size <= last.size + fits - last.used:
            return None
        return last.added

    def put(self, name: str, choice: HeldChoice) -> None:
        """Hold the sections of a conversation; the longest unused are forgotten."""
        with self._lock:
            self._held[name] = choice
            self._held.move_to_end(name)
            while len(self._held) > self._most:
                self._held.popitem(last=False)

    def clear(self) -> None:
        """Forget all: the settings have changed."""
        with self._lock:
            self._held.clear()
