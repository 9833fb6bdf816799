"""A store: a log for each session, and small documents, in SQL that SQLite and PostgreSQL share.

A session is an append-only log; everything else is derived from it. A write is durable before its method returns. Each
method is one transaction, or a savepoint inside `transaction()`, so a call that fails changes nothing.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock, RLock
from types import TracebackType
from typing import Any, Self
from weakref import WeakSet

from brim.errors import Conflict, InvalidValue, StoreError
from brim.store.base import Body, LogEntry, Purged, Saved, SearchHit, SessionRow
from brim.store.schema import LOG, RARE, VERSION, statements
from brim.store.texts import (
    DROPPED,
    HANDLE,
    INDEXED,
    SHORTEST,
    SHOWN,
    best_hits,
    handle_of,
    index_words,
    sent_message,
    texts_of,
    turn_text,
)
from brim.store.values import check_name, check_time, check_whole, decode_body, encode_body
from brim.store.words import RANKED, query_words, rarest

_ALL = 2**62
_ROWS = 500
"""Entries that one statement reads; databases limit the number of values in a statement."""

_FREQUENT = frozenset(("message", "prompt", "usage"))

Row = tuple[Any, ...]
Range = tuple[int, int]
"""The first and the last place of a log, or of all."""


BUSY_SECONDS = 10.0
"""Seconds that a call waits for another program, unless `patience` is shorter."""
_POLL_SECONDS = 0.002
"""Seconds between two attempts. SQLite's own waits grow longer, so it may never get the lock if another program writes
often.
"""

_TELL_SECONDS = 1.0
"""Seconds of waiting after which a warning is logged."""

_patience: ContextVar[float] = ContextVar("brim_store_patience", default=float("inf"))


@contextmanager
def patience(seconds: float) -> Iterator[None]:
    """Return a context manager in which no call waits longer than this for another program."""
    token = _patience.set(seconds)
    try:
        yield
    finally:
        _patience.reset(token)


def longest_wait() -> float:
    """Return the seconds that a call waits for another program."""
    return min(BUSY_SECONDS, _patience.get())


_NEVER = float("-inf")

_stores: WeakSet[Store] = WeakSet()
"""The stores of this process."""
_forking = Lock()
"""Held during a fork, so that no store is opened."""
_waiting: list[Store] = []
"""The stores that wait for a fork to end."""


def _before_fork() -> None:
    """Wait until no thread uses a store.

    Otherwise the child would inherit half a transaction, and a lock that nobody releases. Its copy of SQLite would
    believe that it holds the lock on the file, and would wait for ever, or read without a lock while the parent writes.
    """
    _forking.acquire()
    _waiting.extend(store for store in list(_stores) if store._lock.acquire(timeout=BUSY_SECONDS))


def _after_fork() -> None:
    while _waiting:
        _waiting.pop()._lock.release()
    _forking.release()


def _in_child() -> None:
    for store in list(_stores):
        if store not in _waiting:  # A thread of the parent has its lock.
            store._lock = RLock()
    _after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_in_child)


class StoreBusy(StoreError):
    """Another program locks the database."""


class Store(ABC):
    """Sessions and documents. Threads may share a store; each process, forked children included, must open its own.

    Every method raises `StoreError` if the store cannot be read or written, is locked for too long, or is closed.
    `Sqlite` and `Postgres` implement the abstract methods; all other code is shared.
    """

    _kind: str
    """Selects the column types of the schema: sqlite or postgres."""

    def __init__(self, url: str, clock: Callable[[], float] | None = None) -> None:
        self.url = url
        """The address of the store, without a password."""
        self._clock = clock
        self._lock = RLock()
        self._depth = 0
        """How many transactions and savepoints are open; guarded by the lock."""
        self._task: object = None
        """The task of the open transaction, since the tasks of a thread share the thread's lock."""
        self._locked = _NEVER, _NEVER
        """When the database was first and last found locked by another program, since a call got through."""
        self._process = os.getpid()
        self._closed = False
        with _forking:
            _stores.add(self)
        with self._lock:  # A fork waits for it, because SQLite's own locks would stay locked in the child.
            self._connection: Any = self._connect()
        try:
            self._acquire(self._set_up)
            self._lock.release()
            self._create_tables()
        except BaseException:  # Nothing is left open, whatever the error.
            self._closed = True
            self._connection.close()
            raise

    def append(
        self,
        session: str,
        entries: Iterable[tuple[str, Body]],
        *,
        after: int | None = None,
        since: float | None = None,
        at: float | None = None,
        meta: Body | None = None,
    ) -> int:
        """Append entries, each a kind and a body, to a session's log, all or none; return the last number.

        With `after`, they are written only if that is the last number so far (0 for a new session). With `since`, only
        if the session was created at that time, and not purged and created again. `at` is the time of the entries in
        seconds since 1970, if they were recorded earlier. `meta` replaces what `sessions` shows for the session.
        Messages, turns and texts are indexed by their words and hashes.

        Raises:
            Conflict: `after` is not the last number, or `since` not the time of creation.
            InvalidValue: a name or a body is invalid.
            StoreError: the store cannot be written.
        """
        check_name("session", session)
        if after is not None:
            check_whole("after", after)
        given = [
            (check_name(f"entries[{i}].kind", kind), self._written(f"entries[{i}].body", body), body)
            for i, (kind, body) in enumerate(entries)
        ]
        about = None if meta is None else self._written("meta", meta)
        with self.transaction():
            if not given and about is None:
                found = self._rows("SELECT last FROM brim_sessions WHERE id = ?", [session])
                return self._check_last(session, after, int(found[0][0]) if found else 0)
            now = self._now()
            key, last, created = self._touch(session, now)
            if since is not None and created != since:  # It was purged, and another one begun.
                raise Conflict(self.url, f"the log of session {session!r}", expected=after or 0, found=last)
            self._check_last(session, after, last)
            first, when = key * LOG + last + 1, now if at is None else at
            self._each(
                "INSERT INTO brim_entries (place, kind, at, body) VALUES (?, ?, ?, ?)",
                [(place, kind, when, written) for place, (kind, written, _) in enumerate(given, start=first)],
            )
            self._index([(place, kind, body) for place, (kind, _, body) in enumerate(given, start=first)])
            last += len(given)
            if about is None:
                self._rows("UPDATE brim_sessions SET last = ? WHERE key = ?", (last, key))
            else:
                self._rows("UPDATE brim_sessions SET last = ?, meta = ? WHERE key = ?", (last, about, key))
            return last

    def _touch(self, session: str, now: float) -> tuple[int, int, float]:
        """Create a session if needed and lock its row; return its key, last number and time of creation."""
        # UPDATE first: in PostgreSQL, an INSERT on conflict wastes a key.
        told = "RETURNING key, last, created"
        found = self._rows(f"UPDATE brim_sessions SET updated = ? WHERE id = ? {told}", (now, session))
        if not found:
            found = self._rows(
                "INSERT INTO brim_sessions (id, created, updated, last, meta) VALUES (?, ?, ?, 0, ?) "
                f"ON CONFLICT (id) DO UPDATE SET updated = excluded.updated {told}",
                (session, now, now, self._written("meta", {})),
            )
        key, last, created = found[0]
        return int(key), int(last), float(created)

    def _check_last(self, session: str, after: int | None, last: int) -> int:
        """Check that the last number is the one that the writer expects, and return it."""
        if after is not None and after != last:
            raise Conflict(self.url, f"the log of session {session!r}", expected=after, found=last)
        return last

    def _index(self, entries: Sequence[tuple[int, str, Body]]) -> None:
        """Index entries by the words of their texts, and by the handles of the texts."""
        indexed = [(place, index_words(kind, body)) for place, kind, body in entries if kind in (*INDEXED, DROPPED)]
        if indexed:
            self._add_words(indexed)

    def entries(
        self,
        session: str,
        *,
        kinds: Sequence[str] | None = None,
        after: int = 0,
        limit: int | None = None,
        newest: bool = False,
    ) -> list[LogEntry]:
        """Return the entries of a session in their order, of these kinds, with numbers above `after`.

        If there are more than `limit`, the first are returned, or with `newest` the last.
        """
        check_name("session", session)
        chosen = [] if kinds is None else [check_name("kinds", kind) for kind in dict.fromkeys(kinds)]
        start = min(check_whole("after", after), LOG - 1)
        most = _ALL if limit is None else check_whole("limit", limit)
        if kinds is not None and not chosen:
            return []
        among = f" AND kind IN ({_marks(chosen)})" if chosen else ""
        if chosen and _FREQUENT.isdisjoint(chosen):
            among += f" AND {RARE}"  # Then the index of kinds is used.
        # Subqueries instead of a join, so that PostgreSQL reads in the order of places and stops at the limit.
        rows = self._read(
            "WITH s AS (SELECT key FROM brim_sessions WHERE id = ?) SELECT place, kind, at, body FROM brim_entries "
            f"WHERE place > (SELECT key * {LOG} FROM s) + ? AND place < (SELECT (key + 1) * {LOG} FROM s)"
            f"{among} ORDER BY place {'DESC' if newest else 'ASC'} LIMIT ?",
            [session, start, *chosen, most],
        )
        return [self._entry(session, row) for row in (rows[::-1] if newest else rows)]

    def _entry(self, session: str, row: Row) -> LogEntry:
        place, kind, at, body = row
        return LogEntry(session, place % LOG, kind, at, decode_body(self.url, body))

    def sessions(self, *, limit: int = 100) -> list[SessionRow]:
        """Return sessions, the last written first."""
        return self._session_rows(" ORDER BY updated DESC, id LIMIT ?", [check_whole("limit", limit)])

    def session(self, session: str) -> SessionRow | None:
        """Return one session, or `None`."""
        found = self._session_rows(" WHERE id = ?", [check_name("session", session)])
        return found[0] if found else None

    def _session_rows(self, which: str, values: Sequence[Any]) -> list[SessionRow]:
        rows = self._read(f"SELECT id, created, updated, last, meta FROM brim_sessions{which}", values)
        return [SessionRow(row[0], row[1], row[2], row[3], decode_body(self.url, row[4])) for row in rows]

    def text(self, handle: str, *, session: str | None = None) -> str | None:
        """Return the text of a handle, from the log of one session or of any; `None` if there is none.

        A handle is `b2:` and the hash of the text, or at least its first five digits. The text is that of a message,
        of one of its results, of an entry of kind `text`, or of a dropped turn as JSON.
        """
        check_name("handle", handle)
        if session is not None:
            check_name("session", session)
        if not handle.startswith(HANDLE) or len(handle) < SHORTEST:
            return None
        with self._snapshot():
            within = self._places(session)
            if within is None:
                return None
            for row in self._at(self._having(handle[:SHOWN], within, prefix=len(handle) < SHOWN)):
                for text in self._texts(row[0], self._entry("", row)):
                    if handle_of(text).startswith(handle):
                        return text
        return None

    def _texts(self, place: int, entry: LogEntry) -> Iterator[str]:
        """Yield the texts of an entry; the text of a dropped turn is built from the entries of its messages."""
        if entry.kind != DROPPED:
            yield from texts_of(entry.kind, entry.body)
            return
        log = place - entry.number
        for numbers in entry.body.get("turns", {}).values():
            rows = self._at([log + number for number in numbers])
            yield turn_text([sent_message(self._entry("", row).body) for row in rows])

    def _at(self, places: Sequence[int]) -> list[Row]:
        """Return the rows of entries, in the order of their places."""
        found: list[Row] = []
        for first in range(0, len(places), _ROWS):
            some = places[first : first + _ROWS]
            found += self._rows(f"SELECT place, kind, at, body FROM brim_entries WHERE place IN ({_marks(some)})", some)
        return sorted(found)

    def _places(self, session: str | None) -> Range | None:
        """Return the places of the log of a session, or all; `None` if there is no such session."""
        if session is None:
            return 0, _ALL
        found = self._rows("SELECT key FROM brim_sessions WHERE id = ?", [session])
        return (int(found[0][0]) * LOG, int(found[0][0]) * LOG + LOG - 1) if found else None

    def search(self, query: str, *, session: str | None = None, limit: int = 20) -> list[SearchHit]:
        """Return the messages and texts that share words with a query, the best first; each text once.

        A query may have any characters.
        """
        if session is not None:
            check_name("session", session)
        words = query_words(query)
        if not words or not check_whole("limit", limit):
            return []
        with self._snapshot():
            within = self._places(session)
            if within is None:
                return []
            which, own = (" WHERE id = ?", [session]) if session is not None else ("", [])
            total = int(self._rows(f"SELECT COALESCE(sum(last), 0) FROM brim_sessions{which}", own)[0][0])
            having = {word: self._having(word, within) for word in words}
            chosen, rarity = rarest(having, total, max(limit, RANKED))
            rows = self._at(chosen)
            keys = sorted({row[0] // LOG for row in rows})
            named = self._rows(f"SELECT key, id FROM brim_sessions WHERE key IN ({_marks(keys)})", keys) if keys else []
            names: dict[int, str] = dict(named)
        found = [self._entry(names[key], row) for row in rows if (key := row[0] // LOG) in names]
        return best_hits(sorted(found, key=lambda entry: (entry.at, entry.session)), rarity, limit)

    def save(self, kind: str, id: str, body: Body, *, version: int) -> int:
        """Write a document whose last known version is `version` (0 for a new one), and return its new version.

        Raises:
            Conflict: its version is a different one.
        """
        check_name("kind", kind)
        check_name("id", id)
        check_whole("version", version)
        content = self._written("body", body)
        with self.transaction():
            now = self._now()
            if version:
                statement = "UPDATE brim_documents SET version = version + 1, at = ?, body = ? "
                statement += "WHERE kind = ? AND id = ? AND version = ?"
                done = self._changed(statement, (now, content, kind, id, version))
            else:
                statement = "INSERT INTO brim_documents (kind, id, version, at, body) VALUES (?, ?, 1, ?, ?) "
                done = self._changed(statement + "ON CONFLICT DO NOTHING", (kind, id, now, content))
            if not done:
                found = self._rows("SELECT version FROM brim_documents WHERE kind = ? AND id = ?", (kind, id))
                at = int(found[0][0]) if found else 0
                raise Conflict(self.url, f"the {kind} {id!r}", expected=version, found=at)
            return version + 1

    def load(self, kind: str, id: str) -> Saved | None:
        """Return a document, or `None`."""
        found = self._read(
            "SELECT version, at, body FROM brim_documents WHERE kind = ? AND id = ?",
            (check_name("kind", kind), check_name("id", id)),
        )
        return Saved(kind, id, found[0][0], found[0][1], decode_body(self.url, found[0][2])) if found else None

    def ids(self, kind: str) -> list[str]:
        """Return the ids of all documents of a kind, sorted."""
        found = self._read("SELECT id FROM brim_documents WHERE kind = ? ORDER BY id", [check_name("kind", kind)])
        return [row[0] for row in found]

    def forget(self, kind: str, id: str) -> bool:
        """Remove a document; return whether there was one."""
        with self.transaction():
            statement = "DELETE FROM brim_documents WHERE kind = ? AND id = ?"
            return self._changed(statement, (check_name("kind", kind), check_name("id", id))) > 0

    def purge(
        self, *, before: float | None = None, session: str | None = None, documents: Sequence[str] = ()
    ) -> Purged:
        """Remove the sessions last written before a time, or one session; return what was removed.

        With `before`, documents of the given kinds are removed too.

        Raises:
            InvalidValue: neither a time nor a session is given.
            StoreError: it is part of a transaction.
        """
        wanted = ["id = ?"] if session is not None else []
        values: list[Any] = [check_name("session", session)] if session is not None else []
        if before is not None:
            wanted.append("updated < ?")
            values.append(check_time("before", before))
        if not wanted:
            raise InvalidValue("purge", None, "called with a time (before=) or a session (session=)")
        kinds = [check_name("documents", kind) for kind in documents]
        with self._lock:
            self._ready()
            if self._depth:
                raise StoreError(self.url, "a purge cannot be part of a transaction: purge before or after it")
        with self._transaction(alone=True):
            purged = self._purge(" AND ".join(wanted), values, before, kinds)
        with self._lock:
            self._tidy()
        return purged

    def _purge(self, which: str, values: list[Any], before: float | None, kinds: list[str]) -> Purged:
        run = self._changed
        gone = self._rows(f"SELECT key, last FROM brim_sessions WHERE {which}", values)
        self._forget_words([(key * LOG, (key + 1) * LOG) for key, _ in gone])
        for key, _ in gone:
            log = (key * LOG, (key + 1) * LOG)
            run("DELETE FROM brim_entries WHERE place > ? AND place < ?", log)
            run("DELETE FROM brim_sessions WHERE key = ?", [key])
        saved = 0
        if before is not None:
            saved = sum(run("DELETE FROM brim_documents WHERE kind = ? AND at < ?", (kind, before)) for kind in kinds)
        return Purged(sessions=len(gone), entries=sum(last for _, last in gone), documents=saved)

    @abstractmethod
    def _add_words(self, entries: Sequence[tuple[int, list[str]]]) -> None:
        """Add the words of entries, given by place, to the index."""

    @abstractmethod
    def _having(self, word: str, within: Range, *, prefix: bool = False) -> list[int]:
        """Return the places of the entries with a word, or with a word that begins with it."""

    def _forget_words(self, logs: Sequence[Range]) -> None:  # noqa: B027
        """Erase the words of whole logs from the index; PostgreSQL stores them in the rows."""

    def _tidy(self) -> None:  # noqa: B027
        """Erase from the disk what a purge removed; PostgreSQL does so itself."""

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Return a context manager: all writes of this thread inside it are written together, or none.

        Another task of the same thread cannot use the store meanwhile, so do not await inside.
        """
        with self._lock:
            self._ready()
            if self._depth:
                with self._savepoint():
                    yield
                return
        with self._transaction(alone=False):
            yield

    @contextmanager
    def _transaction(self, *, alone: bool) -> Iterator[None]:
        """Run a transaction; with `alone`, all others wait until it ends."""
        self._acquire(lambda: self._begin(alone=alone))
        try:
            self._task, self._depth = _current_task(), 1
            try:
                yield
                self._check_process()
                self._commit()
            except BaseException:  # Nothing half-written stays, whatever the error.
                if self._process == os.getpid() and self._inside():
                    self._rows("ROLLBACK")
                raise
            finally:
                self._depth = 0
                self._ended()
        finally:
            self._lock.release()

    def _acquire(self, begin: Callable[[], object]) -> None:
        """Take the lock and begin to read or write; while another program locks the database, wait without the lock.

        Raises:
            StoreError: the database cannot be used, or was locked for too long.
        """
        began, told = time.monotonic(), False
        while True:
            self._lock.acquire()
            try:
                self._ready()
                begin()
            except StoreBusy:
                now = time.monotonic()
                first, last = self._locked
                first = first if now < last + BUSY_SECONDS else now
                self._locked = first, now
                self._lock.release()
                # Calls do not wait one after the other for a database that stays locked.
                if self._depth or now > min(began, first) + longest_wait():
                    raise
                if not told and now > began + _TELL_SECONDS:
                    told = True
                    logging.getLogger("brim.store").warning("%s is locked by another program; waiting", self.url)
            except BaseException:
                self._lock.release()
                raise
            else:
                self._locked = _NEVER, _NEVER
                return
            time.sleep(_POLL_SECONDS)

    @contextmanager
    def _savepoint(self) -> Iterator[None]:
        """Run a part of a transaction that can fail without ending it."""
        if not self._inside():
            raise StoreError(self.url, "an earlier error ended the transaction: start it again")
        point = f"brim_{self._depth}"
        self._rows(f"SAVEPOINT {point}")
        self._depth += 1
        try:
            yield
        except BaseException:  # Nothing half-written stays, whatever the error.
            if self._inside():
                self._rows(f"ROLLBACK TO SAVEPOINT {point}")
                self._rows(f"RELEASE SAVEPOINT {point}")
            raise
        finally:
            self._depth -= 1
        self._rows(f"RELEASE SAVEPOINT {point}")

    def _ready(self) -> None:
        """Check that the connection can be used here, and roll back a transaction that was interrupted.

        Raises:
            StoreError: it was closed, belongs to another process, or is in a transaction of another task.
        """
        self._check_process()
        if self._depth:
            if self._task is not _current_task():
                problem = "another task of this thread is in a transaction: do not await inside `transaction()`"
                raise StoreError(self.url, problem)
            return
        if self._closed:
            raise StoreError(self.url, "the store is closed: open it again")
        if self._inside():
            self._rows("ROLLBACK")

    def _check_process(self) -> None:
        """Check that this process opened the connection; two processes on one connection would damage the data.

        Raises:
            StoreError: it belongs to the parent.
        """
        if os.getpid() != self._process:
            raise StoreError(self.url, "the parent process opened it: open it again in the child")

    @contextmanager
    def _snapshot(self) -> Iterator[None]:
        """Read the store as it is at one moment, regardless of concurrent writes."""
        self._acquire(lambda: None if self._depth else self._begin_reading())
        try:
            yield
        finally:
            if not self._depth and self._inside():
                self._rows("COMMIT")
            self._lock.release()

    def _read(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        """Return the rows of one reading statement, inside a transaction or not."""
        rows: list[Row] = []
        self._acquire(lambda: rows.extend(self._rows(statement, values)))
        self._lock.release()
        return rows

    def _rows(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        """Run a statement and return its rows."""
        return self._run(statement, values)[0]

    def _changed(self, statement: str, values: Sequence[Any] = ()) -> int:
        """Run a statement and return how many rows it changed."""
        return self._run(statement, values)[1]

    def _written(self, place: str, body: object) -> str | bytes:
        """Return a JSON object as the value of a column.

        Raises:
            InvalidValue: it is not a mapping, or has values that JSON cannot represent.
        """
        return self._column(encode_body(place, body))

    def _create_tables(self) -> None:
        """Create the tables of a new store, in one transaction.

        Raises:
            StoreError: there are tables of another version, or of another program.
        """
        found: list[bool] = []
        self._acquire(lambda: found.append(self._has_tables()))
        self._lock.release()
        if found[0]:
            return
        with self._transaction(alone=True):
            if not self._has_tables():  # Another process may have created them meanwhile.
                for statement in statements(self._kind):
                    self._rows(statement)

    def _has_tables(self) -> bool:
        if not self._is_store():
            return False
        found = self._rows("SELECT version FROM brim_store")
        if len(found) != 1 or type(found[0][0]) is not int:
            problem = f"its table brim_store should have one row with a version, and has {len(found):,} rows"
            raise StoreError(self.url, f"{problem}: it is damaged, or of another program; open another store")
        if (version := found[0][0]) != VERSION:
            problem = f"another version of brim wrote it (tables of version {version}; this one reads {VERSION})"
            raise StoreError(self.url, f"{problem}: update brim, or open another store")
        return True

    def _now(self) -> float:
        """Return the time in seconds since 1970; in a transaction, it may be the time when the transaction began."""
        return (self._clock or time.time)()

    def close(self) -> None:
        """Close the file or the connection. Closing twice does nothing."""
        with self._lock:
            closed, self._closed = self._closed, True
            if not closed and os.getpid() == self._process:
                self._disconnect()

    def _disconnect(self) -> None:
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_connection", None) is not None and not self._closed:
            self.close()

    @abstractmethod
    def _connect(self) -> Any:
        """Return a new connection.

        Raises:
            StoreError: there is none; the message says what to do.
        """

    def _set_up(self) -> None:  # noqa: B027 - PostgreSQL needs nothing
        """Prepare a new connection."""

    def _ended(self) -> None:  # noqa: B027 - PostgreSQL needs nothing
        """Clean up after a transaction."""

    @abstractmethod
    def _column(self, text: str) -> str | bytes:
        """Return a text of any characters as the value of a column."""

    @abstractmethod
    def _run(self, statement: str, values: Sequence[Any]) -> tuple[list[Row], int]:
        """Run a statement, and return all its rows and how many it changed.

        Raises:
            StoreError: the database refuses it, or cannot return a row; the message says what to do.
        """

    @abstractmethod
    def _each(self, statement: str, values: Iterable[Sequence[Any]]) -> None:
        """Run a statement once for each row of values."""

    @abstractmethod
    def _begin(self, *, alone: bool) -> None:
        """Begin a transaction that will write; with `alone`, all others wait until it ends.

        Raises:
            StoreBusy: another program writes.
        """

    @abstractmethod
    def _begin_reading(self) -> None:
        """Begin a transaction that reads the database as it is now."""

    @abstractmethod
    def _commit(self) -> None:
        """End the transaction, and return once its writes are on disk.

        Raises:
            StoreError: it was not written.
        """

    @abstractmethod
    def _inside(self) -> bool:
        """Return whether a transaction is under way."""

    @abstractmethod
    def _is_store(self) -> bool:
        """Return whether the database has the table `brim_store`; a new one does not.

        Raises:
            StoreError: its tables belong to another program.
        """


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))


def _current_task() -> object:
    """Return the task of the running event loop; `None` outside of one."""
    asyncio = sys.modules.get("asyncio")
    try:
        return None if asyncio is None else asyncio.current_task()
    except RuntimeError:  # No event loop is running in this thread.
        return None
