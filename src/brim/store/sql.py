"""The store that SQLite and PostgreSQL share: what is written, and what is refused.

Each method is one transaction, and inside of `transaction()` a savepoint of it, so that a refused call leaves nothing
behind.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import RLock
from types import TracebackType
from typing import Any, Self

from brim.errors import Conflict, InvalidValue, StoreError
from brim.store import jobs
from brim.store.base import META, Body, Lease, LogEntry, Purged, Saved, SearchHit, SessionRow
from brim.store.body import (
    check_name,
    check_seconds,
    check_time,
    check_whole,
    decode_body,
    decode_text,
    encode_body,
    encode_text,
)
from brim.store.database import Database, Row, migrate
from brim.store.words import excerpt, query_words, text_words

_NO_META = encode_body("meta", {})
_ALL = 2**62


class SqlStore:
    """A store over one connection to a database, shared by the threads of a process."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = RLock()
        self._depth = 0
        """How many transactions and savepoints are open; guarded by the lock."""
        migrate(database)

    @property
    def url(self) -> str:
        """The address of the store, without a password."""
        return self._database.url

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Write everything inside together, or nothing of it. Other threads wait."""
        with self._lock, self._savepoint() if self._depth else self._transaction(alone=False):
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1

    @contextmanager
    def _transaction(self, *, alone: bool) -> Iterator[None]:
        """Run a transaction."""
        self._ready()
        self._database.begin(alone=alone)
        try:
            yield
            self._database.commit()
        except BaseException:  # Nothing half-written stays, whatever the error.
            if self._database.inside():
                self._database.rows("ROLLBACK")
            raise

    @contextmanager
    def _savepoint(self) -> Iterator[None]:
        """Run a part of a transaction that can fail alone."""
        if not self._database.inside():
            raise StoreError(self.url, "an earlier error has ended the transaction: begin it again")
        point = f"brim_{self._depth}"
        self._database.rows(f"SAVEPOINT {point}")
        try:
            yield
        except BaseException:  # Nothing half-written stays, whatever the error.
            if self._database.inside():
                self._database.rows(f"ROLLBACK TO SAVEPOINT {point}")
                self._database.rows(f"RELEASE SAVEPOINT {point}")
            raise
        self._database.rows(f"RELEASE SAVEPOINT {point}")

    def _ready(self) -> None:
        """Check that the database can be used, and roll back a transaction that was interrupted."""
        if self._depth:
            return
        self._database.ready()
        if self._database.inside():
            self._database.rows("ROLLBACK")

    def _rows(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        """Return the rows of one reading statement."""
        with self._lock:
            self._ready()
            return self._database.rows(statement, values)

    def append(self, session: str, entries: Iterable[tuple[str, Body]], *, after: int | None = None) -> int:
        """Write entries at the end of a session's log, all or none, and return the last number."""
        check_name("session", session)
        if after is not None:
            check_whole("after", after)
        written = [
            (check_name(f"entries[{i}].kind", kind), encode_body(f"entries[{i}].body", body))
            for i, (kind, body) in enumerate(entries)
        ]
        with self.transaction():
            if not written:
                found = self._database.rows("SELECT last FROM brim_sessions WHERE id = ?", [session])
                return self._check_last(session, after, int(found[0][0]) if found else 0)
            now = self._database.now()
            last = self._check_last(session, after, self._touch(session, now))
            self._database.each(
                "INSERT INTO brim_entries (session, number, kind, at, body) VALUES (?, ?, ?, ?, ?)",
                [(session, last + i, kind, now, body) for i, (kind, body) in enumerate(written, start=1)],
            )
            last += len(written)
            self._database.rows("UPDATE brim_sessions SET last = ? WHERE id = ?", (last, session))
            metas = [body for kind, body in written if kind == META]
            if metas:
                self._database.rows("UPDATE brim_sessions SET meta = ? WHERE id = ?", (metas[-1], session))
            return last

    def _touch(self, session: str, now: float) -> int:
        """Create a session if needed and lock its row, so that others wait; return the last number of its log."""
        found = self._database.rows(
            "INSERT INTO brim_sessions (id, created, updated, last, meta) VALUES (?, ?, ?, 0, ?) "
            "ON CONFLICT (id) DO UPDATE SET updated = excluded.updated RETURNING last",
            (session, now, now, _NO_META),
        )
        return int(found[0][0])

    def _check_last(self, session: str, after: int | None, last: int) -> int:
        """Return the last number, if it is the one that the writer expects."""
        if after is not None and after != last:
            raise Conflict(self.url, f"the log of session {session!r}", expected=after, found=last)
        return last

    def entries(
        self, session: str, *, kinds: Sequence[str] | None = None, after: int = 0, limit: int | None = None
    ) -> list[LogEntry]:
        """Return the entries of a session in their order, of these kinds, with numbers above `after`."""
        check_name("session", session)
        chosen = None if kinds is None else [check_name("kinds", kind) for kind in dict.fromkeys(kinds)]
        if chosen == []:
            return []
        among = "" if chosen is None else f" AND kind IN ({', '.join('?' * len(chosen))})"
        rows = self._rows(
            f"SELECT number, kind, at, body FROM brim_entries WHERE session = ? AND number > ?{among} "
            "ORDER BY number LIMIT ?",
            (
                session,
                check_whole("after", after),
                *(chosen or ()),
                _ALL if limit is None else check_whole("limit", limit),
            ),
        )
        return [LogEntry(session, number, kind, at, decode_body(self.url, body)) for number, kind, at, body in rows]

    def sessions(self, *, limit: int = 100, before: float | SessionRow | None = None) -> list[SessionRow]:
        """Return sessions, the last written first."""
        where, values = "", ()  # type: tuple[str, tuple[Any, ...]]
        if isinstance(before, SessionRow):
            where = " WHERE updated < ? OR (updated = ? AND id > ?)"
            values = (before.updated, before.updated, before.id)
        elif before is not None:
            where, values = " WHERE updated < ?", (check_time("before", before),)
        rows = self._rows(
            f"SELECT id, created, updated, last, meta FROM brim_sessions{where} ORDER BY updated DESC, id LIMIT ?",
            (*values, check_whole("limit", limit)),
        )
        return [SessionRow(row[0], row[1], row[2], row[3], decode_body(self.url, row[4])) for row in rows]

    def keep(self, session: str, texts: Mapping[str, str]) -> None:
        """Keep texts by their handles for a session."""
        check_name("session", session)
        # All writers use one order: two that wait for each other's rows would wait for ever.
        given = [(check_name("handle", handle), texts[handle], encode_text(texts[handle])) for handle in sorted(texts)]
        if not given:
            return
        with self.transaction():
            now = self._database.now()
            self._touch(session, now)
            for handle, text, content in given:
                self._keep_one(handle, text, content)
            self._database.each(
                "INSERT INTO brim_kept (session, handle, at) VALUES (?, ?, ?) "
                "ON CONFLICT (session, handle) DO UPDATE SET at = excluded.at",
                [(session, handle, now) for handle, _, _ in given],
            )

    def _keep_one(self, handle: str, text: str, content: bytes) -> None:
        made = self._database.rows(
            "INSERT INTO brim_texts (handle, body) VALUES (?, ?) ON CONFLICT (handle) DO NOTHING RETURNING id",
            (handle, content),
        )
        if made:
            self._database.index(made[0][0], text_words(text))
            return
        known = self._database.rows("SELECT body FROM brim_texts WHERE handle = ?", [handle])
        if bytes(known[0][0]) != content:
            raise InvalidValue("handle", handle, "the name of one text only; the store has another under it")

    def text(self, handle: str) -> str | None:
        """Return the text of a handle, or `None`."""
        found = self._rows("SELECT body FROM brim_texts WHERE handle = ?", [check_name("handle", handle)])
        return decode_text(found[0][0]) if found else None

    def search(self, query: str, *, session: str | None = None, limit: int = 20) -> list[SearchHit]:
        """Return the kept texts that share words with a query, the best first."""
        if session is not None:
            check_name("session", session)
        words = query_words(query)
        if not words or not check_whole("limit", limit):
            return []
        with self._lock:
            self._ready()
            found = self._database.matches(words, session, limit)
        return [
            SearchHit(each.handle, each.session, excerpt(decode_text(each.content), words), float(each.rank))
            for each in found
        ]

    def save(self, kind: str, id: str, body: Body, *, version: int) -> int:
        """Write a document that was at `version`, 0 for a new one, and return its new version."""
        check_name("kind", kind)
        check_name("id", id)
        check_whole("version", version)
        content = encode_body("body", body)
        with self.transaction():
            now = self._database.now()
            if version:
                statement = "UPDATE brim_documents SET version = version + 1, at = ?, body = ? "
                statement += "WHERE kind = ? AND id = ? AND version = ?"
                done = self._database.changed(statement, (now, content, kind, id, version))
            else:
                statement = "INSERT INTO brim_documents (kind, id, version, at, body) VALUES (?, ?, 1, ?, ?) "
                done = self._database.changed(statement + "ON CONFLICT DO NOTHING", (kind, id, now, content))
            if not done:
                found = self._database.rows("SELECT version FROM brim_documents WHERE kind = ? AND id = ?", (kind, id))
                at = int(found[0][0]) if found else 0
                raise Conflict(self.url, f"the {kind} {id!r}", expected=version, found=at)
            return version + 1

    def load(self, kind: str, id: str) -> Saved | None:
        """Return a document, or `None`."""
        found = self._rows(
            "SELECT version, at, body FROM brim_documents WHERE kind = ? AND id = ?",
            (check_name("kind", kind), check_name("id", id)),
        )
        return Saved(kind, id, found[0][0], found[0][1], decode_body(self.url, found[0][2])) if found else None

    def ids(self, kind: str) -> list[str]:
        """Return the ids of all documents of a kind, sorted."""
        found = self._rows("SELECT id FROM brim_documents WHERE kind = ? ORDER BY id", [check_name("kind", kind)])
        return [row[0] for row in found]

    def forget(self, kind: str, id: str) -> bool:
        """Remove a document; return whether there was one."""
        with self.transaction():
            statement = "DELETE FROM brim_documents WHERE kind = ? AND id = ?"
            return self._database.changed(statement, (check_name("kind", kind), check_name("id", id))) > 0

    def enqueue(self, queue: str, id: str, body: Body) -> bool:
        """Add a job, and return whether it is new."""
        content = encode_body("body", body)
        with self.transaction():
            return jobs.enqueue(self._database, check_name("queue", queue), check_name("id", id), content)

    def lease(self, queue: str, worker: str, seconds: float) -> Lease | None:
        """Lease the oldest free job for some seconds."""
        check_name("queue", queue)
        check_name("worker", worker)
        check_seconds("seconds", seconds)
        with self._lock:
            self._ready()
            # Workers poll far more often than there is work, and should not block writers.
            if not jobs.is_waiting(self._database, queue):
                return None
            with self.transaction():
                return jobs.lease(self._database, queue, worker, seconds)

    def renew(self, lease: Lease, seconds: float) -> Lease:
        """Extend a lease by some seconds from now on."""
        check_seconds("seconds", seconds)
        with self.transaction():
            return jobs.renew(self._database, lease, seconds)

    def complete(self, lease: Lease, result: Body) -> None:
        """Write the result of a job. It never runs again."""
        content = encode_body("result", result)
        with self.transaction():
            jobs.complete(self._database, lease, content)

    def result(self, queue: str, id: str) -> Body | None:
        """Return the result of a job, or `None` as long as it is not done."""
        statement = "SELECT result FROM brim_jobs WHERE queue = ? AND id = ? AND done IS NOT NULL"
        found = self._rows(statement, (check_name("queue", queue), check_name("id", id)))
        return decode_body(self.url, found[0][0]) if found else None

    def purge(
        self, *, before: float | None = None, session: str | None = None, documents: Sequence[str] = ()
    ) -> Purged:
        """Remove the sessions last written before a time, or one session, and return the counts."""
        wanted = ["id = ?"] if session is not None else []
        values: list[Any] = [check_name("session", session)] if session is not None else []
        if before is not None:
            wanted.append("updated < ?")
            values.append(check_time("before", before))
        if not wanted:
            raise InvalidValue("purge", None, "given a time (before=) or a session (session=)")
        kinds = [check_name("documents", kind) for kind in documents]
        with self._lock:
            if self._depth:
                raise StoreError(self.url, "a purge cannot be part of a transaction: purge before or after it")
            with self._transaction(alone=True):
                purged = self._purge(" AND ".join(wanted), values, before, kinds)
            self._database.tidy()
        return purged

    def _purge(self, which: str, values: list[Any], before: float | None, kinds: list[str]) -> Purged:
        run = self._database.changed
        rows = self._database.rows(f"SELECT id FROM brim_sessions WHERE {which}", values)
        entries = sum(run("DELETE FROM brim_entries WHERE session = ?", row) for row in rows)
        for row in rows:
            run("DELETE FROM brim_kept WHERE session = ?", row)
            run("DELETE FROM brim_sessions WHERE id = ?", row)
        texts = self._database.drop_unkept()
        saved = done = 0
        if before is not None:
            saved = sum(run("DELETE FROM brim_documents WHERE kind = ? AND at < ?", (kind, before)) for kind in kinds)
            done = run("DELETE FROM brim_jobs WHERE done < ?", [before])
        return Purged(sessions=len(rows), entries=entries, texts=texts, documents=saved, jobs=done)

    def close(self) -> None:
        """Close the file or the connection."""
        with self._lock:
            self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
