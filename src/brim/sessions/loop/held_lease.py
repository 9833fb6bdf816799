"""A lease that is renewed while its tick runs.

A renewal that fails is tried again. If none succeeds in time, no further step is begun: by the clock of this machine,
and before the lease can expire and another worker takes the tick.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from types import TracebackType

from brim.errors import LeaseLost, StoreError
from brim.store.base import Lease, Store

_RENEWED = 3
"""A lease is renewed after one part in so many of its time; as much of it must be left to begin a step."""
_RETRIED = 12
"""A renewal that failed is tried again after one part in so many."""


class HeldLease:
    """A lease that a thread renews."""

    def __init__(
        self,
        store: Store,
        lease: Lease,
        seconds: float,
        began: float,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin.

        Args:
            store: the store of the job.
            lease: the lease as it was taken.
            seconds: how long it lasts.
            began: when it was asked for, by `timer`.
            timer: returns the time in seconds; it never jumps.
        """
        self._store, self._lease, self._seconds, self._timer = store, lease, seconds, timer
        self._until = began + seconds
        self._lost: LeaseLost | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._renew, daemon=True)

    def check(self) -> None:
        """Check that enough of the lease is left to begin a step.

        Raises:
            LeaseLost: it is lost, or could not be renewed in time.
        """
        if self._lost is not None:
            raise self._lost
        left = self._until - self._timer()
        if left < self._seconds / _RENEWED:
            told = f"job {self._lease.id!r} could not be renewed, and {max(0.0, left):.3g} s of its lease are left"
            raise LeaseLost(self._store.url, f"{told}: another worker continues it")

    def __enter__(self) -> HeldLease:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()

    def _renew(self) -> None:
        pause = self._seconds / _RENEWED
        while not self._ended.wait(pause):
            began = self._timer()
            try:
                self._lease = self._store.renew(self._lease, self._seconds)
            except LeaseLost as error:
                self._lost = error
                return
            except StoreError as error:
                logging.getLogger("brim.sessions.loop").warning("a lease was not renewed (%s); trying again", error)
                pause = self._seconds / _RETRIED
            else:
                self._until, pause = began + self._seconds, self._seconds / _RENEWED
