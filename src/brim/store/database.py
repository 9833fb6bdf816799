"""The connection of a store: its tables, statements and transactions.

`Sqlite` and `Postgres` implement the abstract methods; all other code is shared.
"""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock, RLock
from types import TracebackType
from typing import Any, Self
from weakref import WeakValueDictionary

from brim.errors import StoreError
from brim.store.values import encode_body

Row = tuple[Any, ...]

BUSY_SECONDS = 10.0
"""Seconds that a call waits for another program."""
_POLL_SECONDS = 0.002
"""Seconds between two attempts. SQLite's own waits grow longer, so it may never get the lock if another program writes
often.
"""

_open: ContextVar[tuple[object, ...]] = ContextVar("brim_open_transactions", default=())
"""The open transactions of this task. Tasks of one thread share the thread's lock, but not this variable."""


_stores: WeakValueDictionary[int, Database] = WeakValueDictionary()
"""The stores of this process."""
_forking = Lock()
"""Held during a fork, so that no store is opened."""
_waiting: list[Database] = []
"""The stores that wait for a fork to end."""


def _before_fork() -> None:
    """Wait until no thread uses a store.

    Otherwise the child would inherit half a transaction, and a lock that nobody releases. Its copy of SQLite would
    believe that it holds the lock on the file, and would wait for ever, or read without a lock while the parent writes.
    """
    _forking.acquire()
    _waiting.extend(store for store in _open_stores() if store._lock.acquire(timeout=BUSY_SECONDS))


def _after_fork() -> None:
    while _waiting:
        _waiting.pop()._lock.release()
    _forking.release()


def _in_child() -> None:
    for store in _open_stores():
        if store not in _waiting:  # A thread of the parent has its lock.
            store._lock = RLock()
    _after_fork()


def _open_stores() -> list[Database]:
    return [store for each in _stores.valuerefs() if (store := each()) is not None]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_in_child)


class StoreBusy(StoreError):
    """Another program locks the database."""


class Database(ABC):
    """One connection, shared by the threads of a process."""

    _kind: str
    """Selects the column types of the schema: sqlite or postgres."""

    def __init__(self, url: str, clock: Callable[[], float] | None = None) -> None:
        self.url = url
        """The address of the store, without a password."""
        self._clock = clock
        self._lock = RLock()
        self._depth = 0
        """How many transactions and savepoints are open; guarded by the lock."""
        self._current: object = None
        """The open transaction, to identify its task."""
        self._no_wait_until = 0.0
        """Until this time, no call waits for another program, because one has just waited in vain."""
        self._process = os.getpid()
        self._closed = False
        with _forking:
            _stores[id(self)] = self
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

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Write everything inside the block, or nothing. Other threads wait."""
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
            self._current = object()
            self._depth = 1
            opened = _open.set((*_open.get(), self._current))
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
                _open.reset(opened)
                self._ended()
        finally:
            self._lock.release()

    def _acquire(self, begin: Callable[[], object]) -> None:
        """Take the lock and begin to read or write; while another program locks the database, wait without the lock.

        Raises:
            StoreError: the database cannot be used, or was locked for too long.
        """
        until = time.monotonic() + BUSY_SECONDS
        while True:
            self._lock.acquire()
            try:
                self._ready()
                begin()
            except StoreBusy:
                self._lock.release()
                now = time.monotonic()
                if now > until:
                    self._no_wait_until = now + BUSY_SECONDS
                if self._depth or now < self._no_wait_until:
                    raise
            except BaseException:
                self._lock.release()
                raise
            else:
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
            if self._current not in _open.get():
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
        cursor = self._run(statement, values)
        return cursor.fetchall() if cursor.description else []

    def _changed(self, statement: str, values: Sequence[Any] = ()) -> int:
        """Run a statement and return how many rows it changed."""
        return int(self._run(statement, values).rowcount)

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
        found = self._version()
        if found not in (0, VERSION):
            problem = f"another version of brim wrote it (tables of version {found}; this one reads {VERSION})"
            raise StoreError(self.url, f"{problem}: update brim, or open another store")
        return found > 0

    def _now(self) -> float:
        """Return the time in seconds since 1970; in a transaction, it may be the time when the transaction began."""
        return (self._clock or time.time)()

    def close(self) -> None:
        """Close the file or the connection, unless it belongs to the parent of this process."""
        with self._lock:
            if not self._closed and os.getpid() == self._process:
                self._disconnect()
            self._closed = True

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
    def _run(self, statement: str, values: Sequence[Any]) -> Any:
        """Run a statement and return its cursor.

        Raises:
            StoreError: the database refuses it; the message says what to do.
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
    def _version(self) -> int:
        """Return the version of the tables, 0 if there are none yet.

        Raises:
            StoreError: the tables belong to another program.
        """


VERSION = 1

LOG = 1 << 32
"""The size of a log's range of places: the place of an entry is its session's key times this, plus its number."""

RARE = "kind NOT IN ('message', 'prompt', 'usage')"
"""The kinds of entries that have an index by kind: all but the most frequent ones."""

_TABLES = (
    "CREATE TABLE brim_store (version {whole} NOT NULL)",
    f"INSERT INTO brim_store (version) VALUES ({VERSION})",
    "CREATE TABLE brim_sessions (key {serial} PRIMARY KEY, id {name} NOT NULL UNIQUE, created {real} NOT NULL, "
    "updated {real} NOT NULL, last {whole} NOT NULL, meta {body} NOT NULL)",
    "CREATE INDEX brim_sessions_updated ON brim_sessions (updated, id)",
    "CREATE TABLE brim_entries (place {whole} PRIMARY KEY, kind {name} NOT NULL, at {real} NOT NULL, "
    "body {body} NOT NULL)",
    f"CREATE INDEX brim_entries_kind ON brim_entries (kind, place) WHERE {RARE}",
    "CREATE TABLE brim_documents (kind {name} NOT NULL, id {name} NOT NULL, version {whole} NOT NULL, "
    "at {real} NOT NULL, body {body} NOT NULL, PRIMARY KEY (kind, id))",
    # For people: the log of each session by its name.
    f"CREATE VIEW brim_log AS SELECT s.id AS session, e.place - s.key * {LOG} AS number, e.kind AS kind, "
    "{moment} AS at, {shown} AS body "
    f"FROM brim_entries e JOIN brim_sessions s ON s.key = e.place / {LOG}",
)
_OWN = {
    "sqlite": (
        # Only which entries have a word or a handle, without a second copy of the text: brim ranks them itself.
        "CREATE VIRTUAL TABLE brim_words USING fts5 (words, content = '', detail = none, columnsize = 0, "
        """tokenize = "unicode61 remove_diacritics 0 categories 'L* N* P* S* M* Co'")""",
    ),
    "postgres": (
        "ALTER TABLE brim_entries ADD COLUMN words tsvector",
        "CREATE INDEX brim_entries_words ON brim_entries USING gin (words)",
    ),
}
_TYPES = {
    "sqlite": {
        "name": "TEXT",
        "whole": "INTEGER",
        "real": "REAL",
        "body": "TEXT",
        "serial": "INTEGER",
        "moment": "datetime(e.at, 'unixepoch')",
        "shown": "e.body",
    },
    "postgres": {
        "name": 'TEXT COLLATE "C"',
        "whole": "BIGINT",
        "real": "DOUBLE PRECISION",
        "body": "BYTEA",  # A text of PostgreSQL cannot hold half of a surrogate pair.
        "serial": "BIGINT GENERATED ALWAYS AS IDENTITY",
        "moment": "to_timestamp(e.at)",
        "shown": "convert_from(e.body, 'UTF8')",
    },
}
"""The types of each database; names are compared byte by byte in both."""


def statements(database: str) -> list[str]:
    """Return the statements that make the tables of a new store."""
    return [*(statement.format(**_TYPES[database]) for statement in _TABLES), *_OWN[database]]
