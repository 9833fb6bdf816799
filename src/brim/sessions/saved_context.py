"""The messages of a session that was opened again, read when they are first used.

A log may hold thousands of messages, and whoever opens a session to look at its settings, or to resume a loop, needs
none of them.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import Any

from brim.sessions.context import Context


class SavedContext(Context):
    """A context that is read as soon as something of it is used; from then on it is a context like any other."""

    def __init__(self, read: Callable[[], Context]) -> None:
        """Wait; `read` returns what this context is to be."""
        self._read: Callable[[], Context] | None = read
        self._lock = RLock()

    def __getattr__(self, name: str) -> Any:
        with self._lock:  # Python asks here for what is not there yet, so never again once it was read.
            if self._read is not None:
                vars(self).update(vars(self._read()))
                self._read = None
        return super().__getattribute__(name)
