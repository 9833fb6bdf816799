"""Memory that a large request has used goes back to the system.

The C library keeps freed memory for the next request. After a body of many megabytes that is most of what the process
holds, and it would never shrink.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
from concurrent.futures import Executor

from brim.gateway.guard import IncomingRequest

_LARGE = 256 * 1024
"""Bytes of a body after which memory is given back."""
_PAUSE = 1.0
"""Seconds until then, so that many requests share one go."""
_APART = 4 * 1024 * 1024
"""Bytes of an allocation that is made apart from the others, and returned as soon as it is freed."""
_MMAP_THRESHOLD = -3
"""The number of that limit for the C library, which would raise it with each large allocation otherwise."""
_KEPT = 16 * 1024 * 1024
"""Bytes of freed memory that are kept for the next request until the pause is over: to get each page from the system
again takes as long as all that is done with a long body."""
_TRIM_THRESHOLD = -1
"""The number of that limit for the C library."""
_MOST_PAUSES = 10
"""Pauses while threads work: a search for cycles through a large request that is under way would hold up everybody."""


class FreedMemory:
    """Gives memory back, at most once a second."""

    def __init__(self, pool: Executor) -> None:
        self._pool = pool
        self._timer: asyncio.TimerHandle | None = None
        self._pauses = 0
        self.jobs = 0
        """Jobs that the threads have to do."""

    def after(self, incoming: IncomingRequest) -> None:
        """Give memory back soon, if the body of a request is large, or was too large to be read."""
        length = incoming.header("content-length") or ""
        if (len(incoming.raw) > _LARGE or len(length) >= len(str(_LARGE))) and self._timer is None:
            self._wait()

    def close(self) -> None:
        """Do nothing more."""
        if self._timer is not None:
            self._timer.cancel()

    def _wait(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(_PAUSE, self._submit)

    def _submit(self) -> None:
        if self.jobs and self._pauses < _MOST_PAUSES:
            self._pauses += 1
            self._wait()
            return
        self._timer, self._pauses = None, 0
        self._pool.submit(_give_back)


def allocate_apart() -> None:
    """Let the largest allocations be made apart from others, and some freed memory be kept, where the C library can.

    Otherwise they are kept among the small ones, and to give them back takes so long that others wait for memory.
    """
    choose = getattr(ctypes.CDLL(None), "mallopt", None)
    if choose is not None:
        choose(_MMAP_THRESHOLD, _APART)
        choose(_TRIM_THRESHOLD, _KEPT)


def _give_back() -> None:
    """Return freed memory to the system, where the C library can."""
    gc.collect()  # An error and its frames, which hold the body, are a cycle.
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
