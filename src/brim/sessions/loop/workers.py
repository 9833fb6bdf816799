"""Workers, on one machine or many, that run the ticks of many loops from one store.

A tick is leased once. The lease of a worker that died expires, and another continues the tick after its last step:
steps are in the loop's own log, so one that is done is never repeated. A worker that lost its lease cannot write, and
one that cannot renew it begins no further step.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from brim.errors import Conflict, LeaseLost, StoreError
from brim.sessions.loop.held_lease import HeldLease
from brim.sessions.loop.loop import Act, Loop
from brim.store.base import Lease, Store

QUEUE = "brim.ticks"
LOG = logging.getLogger("brim.sessions.loop")
_TRIES = 4
"""How often something is tried while the store fails."""
_PART = 12
"""The part of a lease, one in so many, after which it is tried again; at most a second."""

ActOf = Callable[[str], Act]
"""Returns the `act` of a loop, by the loop's id."""
T = TypeVar("T")


def submit(loop: Loop, store: Store, queue: str = QUEUE) -> str:
    """Queue the next tick of a loop for the workers, and return the id of the tick.

    A tick that failed, or that a limit ended before its iteration did, is queued again under another id. It continues
    after the last step that was made.
    """
    iteration, again = loop.progress.iterations + 1, 1
    tick = first = f"{loop.id}:{iteration}"
    while (done := store.result(queue, tick)) is not None and done.get("ended") not in ("paused", "goal"):
        again += 1
        tick = f"{first}/{again}"
    store.enqueue(queue, tick, {"loop": loop.id, "iteration": iteration})
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
    """Run ticks, one after the other, and return how many were completed.

    Args:
        store: the store that all workers share.
        worker: the name of this worker.
        act_of: returns the `act` of a loop, by its id.
        queue: the queue of the ticks.
        seconds: how long a lease lasts; it is renewed while the tick runs.
        most: the most ticks; by default there is no limit.
        idle: seconds to wait if the queue is empty or the store fails; by default the work ends then.
        attempts: how often a tick that fails is tried before it is given up.
        sleep: waits for some seconds.
        resumed: further arguments of `Loop.resume`: `system`, `tools`, `meter`, `clock`, `observers`, limits.

    Raises:
        StoreError: the store cannot be read, and `idle` is `None`.
    """
    done = 0
    while most is None or done < most:
        try:
            began = time.monotonic()
            lease = store.lease(queue, worker, seconds)
            if lease is not None:
                tick = _TickRun(store, lease, seconds, sleep)
                done += tick.run(act_of, resumed, began=began, attempts=attempts)
                continue
        except StoreError:
            if idle is None:
                raise
            LOG.exception("the store failed; worker %s goes on", worker)
        if idle is None:
            return done
        sleep(idle)
    return done


class _TickRun:
    """One tick that is leased."""

    def __init__(self, store: Store, lease: Lease, seconds: float, sleep: Callable[[float], Any]) -> None:
        self._store, self._lease, self._seconds, self._sleep = store, lease, seconds, sleep
        self._loop: Loop | None = None

    def run(self, act_of: ActOf, resumed: Mapping[str, Any], *, began: float, attempts: int) -> bool:
        """Run it, and return whether it is completed; if not, it is taken again when its lease expires."""
        lease = self._lease
        try:
            try:
                with HeldLease(self._store, lease, self._seconds, began) as held:
                    result = self._tried(lambda: self._made(act_of, resumed, held))
            except (Conflict, LeaseLost):
                raise
            except Exception as error:  # The caller's act may raise anything; other loops continue.
                LOG.exception("tick %s failed", lease.id)
                if lease.attempt < attempts:
                    return False
                result = {"ended": "failed", "error": f"{type(error).__name__}: {error}"}
            return self._tried(lambda: self._completed(result))
        except (Conflict, LeaseLost):
            return False  # Another worker has it.

    def _made(self, act_of: ActOf, resumed: Mapping[str, Any], held: HeldLease) -> dict[str, Any]:
        """Make the steps of the tick, and return its result."""
        name = self._lease.body["loop"]
        if self._loop is None:
            self._loop = Loop.resume(name, act=act_of(name), store=self._store, **resumed)
            self._loop.guard = held.check
        left = self._lease.body["iteration"] - self._loop.progress.iterations
        if left > 0 or self._loop.unwritten:
            self._loop.run(ticks=max(0, left))
        return self._loop.outcome().to_dict()

    def _completed(self, result: Mapping[str, Any]) -> bool:
        """Write the result, and queue the next tick."""
        store, lease = self._store, self._lease
        try:
            with store.transaction():
                store.complete(lease, result)
                if self._loop is not None and result["ended"] == "paused":
                    submit(self._loop, store, lease.queue)
        except LeaseLost:  # It may be lost because it is done: the answer to an earlier try did not arrive.
            if store.result(lease.queue, lease.id) != json.loads(json.dumps(result)):
                raise
        return True

    def _tried(self, call: Callable[[], T]) -> T:
        """Return what a call returns, which is tried again while the store fails."""
        for _ in range(_TRIES - 1):
            try:
                return call()
            except (Conflict, LeaseLost):
                raise
            except StoreError as error:
                LOG.warning("tick %s: the store failed (%s); trying again", self._lease.id, error)
                self._sleep(min(1.0, self._seconds / _PART))
        return call()
