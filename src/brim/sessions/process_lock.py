"""A lock for the threads of one process: a child that was forked while it was held finds it free."""

from __future__ import annotations

import os
import threading
from types import TracebackType


class ProcessLock:
    """A lock that one thread holds, as often as it asks for it."""

    def __init__(self) -> None:
        self._free()

    def _free(self) -> None:
        self._lock, self._process, self._depth = threading.RLock(), os.getpid(), 0

    @property
    def held(self) -> bool:
        """Whether a thread holds it."""
        return self._depth > 0

    def __enter__(self) -> None:
        if self._process != os.getpid():  # Whoever held it in the parent is not here.
            self._free()
        self._lock.acquire()
        self._depth += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._depth -= 1
        self._lock.release()
