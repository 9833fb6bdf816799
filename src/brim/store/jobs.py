"""Jobs that run once: a worker leases one for a while, and only that worker may complete it.

A lease is identified by the number of its attempt. A worker that takes a job whose lease expired raises that number,
so the worker before it is refused if it comes back.
"""

from __future__ import annotations

from typing import Any

from brim.errors import LeaseLost
from brim.store.base import Body, Lease
from brim.store.database import Database
from brim.store.values import check_name, check_seconds, decode_body

_FREE = "queue = ? AND done IS NULL AND (until IS NULL OR until <= ?)"


class JobStore(Database):
    """The jobs of a store."""

    _skip_locked = ""
    """The end of a SELECT that skips the rows which others have locked, and locks those that it reads."""

    def enqueue(self, queue: str, id: str, body: Body) -> bool:
        """Add a job, and return whether it is new."""
        content = self._written("body", body)
        with self.transaction():
            added = self._changed(
                "INSERT INTO brim_jobs (queue, id, body, added, attempt) VALUES (?, ?, ?, ?, 0) ON CONFLICT DO NOTHING",
                (check_name("queue", queue), check_name("id", id), content, self._now()),
            )
            return added > 0

    def lease(self, queue: str, worker: str, seconds: float) -> Lease | None:
        """Lease the oldest free job for some seconds; `None` if there is none."""
        check_name("queue", queue)
        check_name("worker", worker)
        check_seconds("seconds", seconds)
        with self._lock:
            self._ready()
            now = self._now()
        # Workers poll far more often than there is work, and should not block writers.
        if not self._read(f"SELECT 1 FROM brim_jobs WHERE {_FREE} LIMIT 1", (queue, now)):
            return None
        with self.transaction():
            return self._lease(queue, worker, seconds)

    def _lease(self, queue: str, worker: str, seconds: float) -> Lease | None:
        now = self._now()
        found = self._rows(
            f"SELECT id, attempt, body FROM brim_jobs WHERE {_FREE} ORDER BY number LIMIT 1{self._skip_locked}",
            (queue, now),
        )
        if not found:
            return None
        job, attempt, body = found[0]
        taken = Lease(queue, job, worker, attempt + 1, now + seconds, decode_body(self.url, body))
        self._rows(
            "UPDATE brim_jobs SET worker = ?, attempt = ?, until = ? WHERE queue = ? AND id = ?",
            (worker, taken.attempt, taken.until, queue, job),
        )
        return taken

    def renew(self, lease: Lease, seconds: float) -> Lease:
        """Extend a lease by some seconds from now on."""
        check_seconds("seconds", seconds)
        with self.transaction():
            until = self._now() + seconds
            self._update(lease, "until = ?", until)
        return lease._replace(until=until)

    def complete(self, lease: Lease, result: Body) -> None:
        """Write the result of a job. It never runs again."""
        content = self._written("result", result)
        with self.transaction():
            self._update(lease, "done = ?, result = ?", self._now(), content)

    def _update(self, lease: Lease, change: str, *values: Any) -> None:
        """Change the row of a lease.

        Raises:
            LeaseLost: another worker has the job, or it is done.
        """
        where = "WHERE queue = ? AND id = ? AND worker = ? AND attempt = ? AND done IS NULL"
        key = (lease.queue, lease.id, lease.worker, lease.attempt)
        if self._changed(f"UPDATE brim_jobs SET {change} {where}", (*values, *key)):
            return
        job = f"job {lease.id!r} of {lease.queue!r} (attempt {lease.attempt} of worker {lease.worker!r})"
        found = self._rows("SELECT worker, attempt, done FROM brim_jobs WHERE queue = ? AND id = ?", key[:2])
        if not found:
            raise LeaseLost(self.url, f"{job} does not exist any more: discard its result")
        worker, attempt, done = found[0]
        state = "is leased" if done is None else "is done"
        raise LeaseLost(self.url, f"{job} {state} by worker {worker!r} at attempt {attempt}: discard this result")

    def result(self, queue: str, id: str) -> Body | None:
        """Return the result of a job, or `None` as long as it is not done."""
        statement = "SELECT result FROM brim_jobs WHERE queue = ? AND id = ? AND done IS NOT NULL"
        found = self._read(statement, (check_name("queue", queue), check_name("id", id)))
        return decode_body(self.url, found[0][0]) if found else None
