"""Jobs that run once: a worker leases one for a while, and only that worker may complete it.

A lease is identified by the number of its attempt. A worker that takes a job whose lease expired raises that number,
so the worker before it is refused if it comes back.
"""

from __future__ import annotations

from brim.errors import LeaseLost
from brim.store.base import Lease
from brim.store.body import decode_body
from brim.store.database import Database

_LEASED = "WHERE queue = ? AND id = ? AND worker = ? AND attempt = ? AND done IS NULL"
_FREE = "queue = ? AND done IS NULL AND (until IS NULL OR until <= ?)"


def enqueue(database: Database, queue: str, job: str, body: bytes) -> bool:
    """Add a job unless it exists, and return whether it was added."""
    added = database.changed(
        "INSERT INTO brim_jobs (queue, id, body, added, attempt) VALUES (?, ?, ?, ?, 0) ON CONFLICT DO NOTHING",
        (queue, job, body, database.now()),
    )
    return added > 0


def is_waiting(database: Database, queue: str) -> bool:
    """Return whether there is a job that nobody has leased, without a lock."""
    return bool(database.rows(f"SELECT 1 FROM brim_jobs WHERE {_FREE} LIMIT 1", (queue, database.now())))


def lease(database: Database, queue: str, worker: str, seconds: float) -> Lease | None:
    """Lease the oldest free job to a worker; `None` if there is none."""
    now = database.now()
    found = database.rows(
        f"SELECT id, attempt, body FROM brim_jobs WHERE {_FREE} ORDER BY number LIMIT 1{database.skip_locked}",
        (queue, now),
    )
    if not found:
        return None
    job, attempt, body = found[0]
    taken = Lease(queue, job, worker, attempt + 1, now + seconds, decode_body(database.url, body))
    database.rows(
        "UPDATE brim_jobs SET worker = ?, attempt = ?, until = ? WHERE queue = ? AND id = ?",
        (worker, taken.attempt, taken.until, queue, job),
    )
    return taken


def renew(database: Database, lease: Lease, seconds: float) -> Lease:
    """Extend a lease by some seconds from now on.

    Raises:
        LeaseLost: another worker has the job, or it is done.
    """
    until = database.now() + seconds
    if not database.changed(f"UPDATE brim_jobs SET until = ? {_LEASED}", (until, *_key(lease))):
        raise _lost(database, lease)
    return lease._replace(until=until)


def complete(database: Database, lease: Lease, result: bytes) -> None:
    """Write the result of a job.

    Raises:
        LeaseLost: another worker has the job, or it is done.
    """
    values = (database.now(), result, *_key(lease))
    if not database.changed(f"UPDATE brim_jobs SET done = ?, result = ? {_LEASED}", values):
        raise _lost(database, lease)


def _lost(database: Database, lease: Lease) -> LeaseLost:
    """Return the error of a lease that is no longer valid."""
    job = f"job {lease.id!r} of {lease.queue!r} (attempt {lease.attempt} of worker {lease.worker!r})"
    statement = "SELECT worker, attempt, done FROM brim_jobs WHERE queue = ? AND id = ?"
    found = database.rows(statement, (lease.queue, lease.id))
    if not found:
        return LeaseLost(database.url, f"{job} does not exist any more: discard its result")
    worker, attempt, done = found[0]
    state = "is leased" if done is None else "is done"
    return LeaseLost(database.url, f"{job} {state} by worker {worker!r} at attempt {attempt}: discard this result")


def _key(lease: Lease) -> tuple[str, str, str, int]:
    return lease.queue, lease.id, lease.worker, lease.attempt
