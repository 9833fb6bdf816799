"""Jobs that run once: a worker holds one for a while, and only whoever holds it may say that it is done.

A lease is known by the number of its attempt. Whoever takes a job whose lease expired raises that number, so the
worker before it, should it come back, is refused.
"""

from __future__ import annotations

from brim.errors import LeaseLost
from brim.store.base import Lease
from brim.store.body import span, unpacked
from brim.store.database import Database

_HELD = "WHERE queue = ? AND id = ? AND worker = ? AND attempt = ? AND done IS NULL"
_FREE = "queue = ? AND done IS NULL AND (until IS NULL OR until <= ?)"


def add(database: Database, queue: str, job: str, body: bytes) -> bool:
    """Add a job unless it is there, and return whether it was added."""
    made = database.changed(
        "INSERT INTO brim_jobs (queue, id, body, added, attempt) VALUES (?, ?, ?, ?, 0) ON CONFLICT DO NOTHING",
        (queue, job, body, database.now()),
    )
    return made > 0


def waiting(database: Database, queue: str) -> bool:
    """Return whether there is a job that nobody holds, without being in anybody's way."""
    found = database.rows(f"SELECT 1 FROM brim_jobs WHERE {_FREE} LIMIT 1", (queue, database.now()))
    return bool(found)


def take(database: Database, queue: str, worker: str, seconds: float) -> Lease | None:
    """Give the oldest job that nobody holds to a worker."""
    now = database.now()
    until = now + span("seconds", seconds)
    found = database.rows(
        f"SELECT id, attempt, body FROM brim_jobs WHERE {_FREE} ORDER BY number LIMIT 1{database.unheld}",
        (queue, now),
    )
    if not found:
        return None
    job, attempt, body = found[0]
    database.rows(
        "UPDATE brim_jobs SET worker = ?, attempt = ?, until = ? WHERE queue = ? AND id = ?",
        (worker, attempt + 1, until, queue, job),
    )
    return Lease(queue, job, worker, attempt + 1, until, unpacked(database.url, body))


def hold(database: Database, lease: Lease, seconds: float) -> Lease:
    """Hold a job for some more seconds from now on.

    Raises:
        LeaseLost: somebody else has it, or it is done.
    """
    until = database.now() + span("seconds", seconds)
    if not database.changed(f"UPDATE brim_jobs SET until = ? {_HELD}", (until, *_key(lease))):
        raise _lost(database, lease)
    return lease._replace(until=until)


def finish(database: Database, lease: Lease, result: bytes) -> None:
    """Write the result of a job.

    Raises:
        LeaseLost: somebody else has it, or it is done.
    """
    values = (database.now(), result, *_key(lease))
    if not database.changed(f"UPDATE brim_jobs SET done = ?, result = ? {_HELD}", values):
        raise _lost(database, lease)


def told_lost(lease: Lease, found: tuple[str | None, int, bool] | None) -> str:
    """Return what became of a lease, from the worker and the attempt that the job has now, and whether it is done."""
    what = f"job {lease.id!r} of {lease.queue!r} (attempt {lease.attempt} of worker {lease.worker!r})"
    if found is None:
        return f"{what} is not there any more: throw its result away"
    worker, attempt, done = found
    state = "is done" if done else "is held"
    return f"{what} {state} by worker {worker!r} at attempt {attempt}: throw this result away"


def _lost(database: Database, lease: Lease) -> LeaseLost:
    statement = "SELECT worker, attempt, done FROM brim_jobs WHERE queue = ? AND id = ?"
    found = database.rows(statement, (lease.queue, lease.id))
    state = (found[0][0], int(found[0][1]), found[0][2] is not None) if found else None
    return LeaseLost(database.url, told_lost(lease, state))


def _key(lease: Lease) -> tuple[str, str, str, int]:
    return lease.queue, lease.id, lease.worker, lease.attempt
