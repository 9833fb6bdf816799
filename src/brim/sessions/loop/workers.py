"""Several workers, on one machine or many, take the ticks of many loops from one store.

A tick is leased once. The lease of a worker that died expires and another takes the tick up where its last step left
it: steps are in the loop's own log, so one that is done is never made again. What a worker writes after it lost its
lease is refused.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from brim.errors import Conflict, LeaseLost
from brim.sessions.loop.loop import Act, Loop
from brim.store.base import Lease, Store

QUEUE = "brim.ticks"

ActOf = Callable[[str], Act]
"""Returns what acts for a loop, by the loop's id."""


def submit(loop: Loop, store: Store, queue: str = QUEUE) -> str:
    """Have workers run a loop, and return the id of its next tick."""
    return _enqueue(loop, store, queue)


def _enqueue(loop: Loop, store: Store, queue: str) -> str:
    tick = f"{loop.id}:{loop.progress.iterations + 1}"
    store.enqueue(queue, tick, {"loop": loop.id, "iteration": loop.progress.iterations + 1})
    return tick


def work(
    store: Store,
    worker: str,
    act_of: ActOf,
    *,
    queue: str = QUEUE,
    seconds: float = 60.0,
    most: int | None = None,
    idle: float | None = None,
    attempts: int = 3,
    sleep: Callable[[float], Any] = time.sleep,
    **resumed: Any,
) -> int:
    """Take ticks and run them, one after the other, and return how many were done.

    Args:
        store: the store that all workers share.
        worker: the name of this worker.
        act_of: returns what acts for a loop, by its id.
        queue: where the ticks are.
        seconds: how long a tick stays this worker's without a sign of life; it gives one by itself.
        most: ticks to take; without it there is no limit.
        idle: seconds to wait when there is nothing to do; without it the work ends then.
        attempts: how often a tick that fails is taken up again before it is given up.
        sleep: what waits.
        resumed: what `Loop.resume` takes beside: `system`, `tools`, `meter`, `clock`, `observers`, limits.
    """
    done = 0
    while most is None or done < most:
        lease = store.lease(queue, worker, seconds)
        if lease is None:
            if idle is None:
                return done
            sleep(idle)
            continue
        run = _Run(store, lease, act_of, seconds, attempts, resumed)
        done += run.done()
    return done


class _Run(NamedTuple):
    """One tick that a worker has taken."""

    store: Store
    lease: Lease
    act_of: ActOf
    seconds: float
    attempts: int
    resumed: Mapping[str, Any]

    def done(self) -> bool:
        """Run it, and return whether it is done."""
        store, lease = self.store, self.lease
        try:
            with _Alive(store, lease, self.seconds):
                told, loop = self._told()
            with store.transaction():
                store.complete(lease, told)
                if loop is not None and told["ended"] == "paused":
                    _enqueue(loop, store, lease.queue)
        except (Conflict, LeaseLost):
            return False  # Another worker has it.
        except _Failed:
            return False  # Its lease expires, and it is taken up again.
        return True

    def _told(self) -> tuple[dict[str, Any], Loop | None]:
        """Return what became of the tick's loop."""
        name, iteration = self.lease.body["loop"], self.lease.body["iteration"]
        try:
            loop = Loop.resume(name, act=self.act_of(name), store=self.store, **self.resumed)
            if loop.progress.iterations < iteration:
                loop.run(ticks=1)
            return loop.outcome().to_dict(), loop
        except (Conflict, LeaseLost):
            raise
        except Exception as error:  # A caller's own act: the other loops go on.
            logging.getLogger("brim.sessions.loop").exception("tick %s failed", self.lease.id)
            if self.lease.attempt < self.attempts:
                raise _Failed from error
            return {"ended": "failed", "error": f"{type(error).__name__}: {error}"}, None


class _Failed(Exception):
    """A tick that is to be taken up again."""


class _Alive:
    """Renews a lease as long as its tick runs."""

    def __init__(self, store: Store, lease: Lease, seconds: float) -> None:
        self._store = store
        self._lease = lease
        self._seconds = seconds
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._renew, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _renew(self) -> None:
        while not self._over.wait(self._seconds / 3):
            try:
                self._lease = self._store.renew(self._lease, self._seconds)
            except LeaseLost:
                return
