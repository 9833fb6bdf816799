"""Workers, on one machine or many, that run the ticks of many loops from one store.

A tick is leased once. The lease of a worker that died expires, and another continues the tick after its last step:
steps are in the loop's own log, so one that is done is never repeated. A worker that lost its lease cannot write.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from brim.errors import Conflict, LeaseLost
from brim.sessions.loop.loop import Act, Loop
from brim.store.base import Lease, Store

QUEUE = "brim.ticks"

ActOf = Callable[[str], Act]
"""Returns the `act` of a loop, by the loop's id."""


def submit(loop: Loop, store: Store, queue: str = QUEUE) -> str:
    """Queue the next tick of a loop for the workers, and return the id of the tick."""
    iteration = loop.progress.iterations + 1
    tick = f"{loop.id}:{iteration}"
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
        idle: seconds to wait if the queue is empty; by default the work ends then.
        attempts: how often a tick that fails is tried before it is given up.
        sleep: waits for some seconds.
        resumed: further arguments of `Loop.resume`: `system`, `tools`, `meter`, `clock`, `observers`, limits.
    """
    done = 0
    while most is None or done < most:
        lease = store.lease(queue, worker, seconds)
        if lease is not None:
            done += _run(store, lease, act_of, resumed, seconds=seconds, attempts=attempts)
        elif idle is None:
            return done
        else:
            sleep(idle)
    return done


def _run(
    store: Store, lease: Lease, act_of: ActOf, resumed: Mapping[str, Any], *, seconds: float, attempts: int
) -> bool:
    """Run one tick, and return whether it is completed; if not, it is taken again when its lease expires."""
    name, loop = lease.body["loop"], None
    try:
        try:
            with _renewing(store, lease, seconds):
                loop = Loop.resume(name, act=act_of(name), store=store, **resumed)
                if loop.progress.iterations < lease.body["iteration"]:
                    loop.run(ticks=1)
                result = loop.outcome().to_dict()
        except (Conflict, LeaseLost):
            raise
        except Exception as error:  # The caller's act may raise anything; other loops continue.
            logging.getLogger("brim.sessions.loop").exception("tick %s failed", lease.id)
            if lease.attempt < attempts:
                return False
            result = {"ended": "failed", "error": f"{type(error).__name__}: {error}"}
        with store.transaction():
            store.complete(lease, result)
            if loop is not None and result["ended"] == "paused":
                submit(loop, store, lease.queue)
    except (Conflict, LeaseLost):
        return False  # Another worker has it.
    return True


@contextmanager
def _renewing(store: Store, lease: Lease, seconds: float) -> Iterator[None]:
    """Renew a lease while its tick runs."""
    ended = threading.Event()

    def renew(lease: Lease) -> None:
        while not ended.wait(seconds / 3):
            try:
                lease = store.renew(lease, seconds)
            except LeaseLost:
                return

    thread = threading.Thread(target=renew, args=[lease], daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
