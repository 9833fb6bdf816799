"""A store in the memory of one process, for tests."""

from __future__ import annotations

import time
from collections.abc import Callable

from brim.store.sqlite import Sqlite


class MemoryStore(Sqlite):
    """A store that is gone when it is closed: SQLite without a file."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        """Open an empty store.

        Args:
            clock: returns the time in seconds since 1970.
        """
        super().__init__(":memory:", clock)
