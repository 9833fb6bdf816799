"""A reentrant lock for the threads of one process, which is free in a forked child."""

from __future__ import annotations

import os
import threading
from types import TracebackType


class ProcessLock:
    """A reentrant lock."""

    def __init__(self) -> None:
        self._free()

    def _free(self) -> None:
        self._lock, self._process, self._depth = threading.RLock(), os.getpid(), 0

    @property
    def held(self) -> bool:
        """Whether a thread holds it."""
        return self._depth > 0

    def __enter__(self) -> None:
        if self._process != os.getpid():  # The thread that held it in the parent does not exist here.
            self._free()
        self._lock.acquire()
        self._depth += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._depth -= 1
        self._lock.release()
