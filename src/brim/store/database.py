"""The connection of a store: statements, transactions and the version of its tables.

`Sqlite` and `Postgres` implement the abstract methods; everything above them is the same for both.
"""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import RLock
from types import TracebackType
from typing import Any, Self

from brim.errors import StoreError
from brim.store.schema import VERSIONS, Version, statements

Row = tuple[Any, ...]


class Database(ABC):
    """One connection, which the threads of a process share."""

    _kind: str
    """The name of its types in the schema: sqlite or postgres."""
    _reading: str
    """The statement that begins a transaction which reads."""

    def __init__(self, url: str, clock: Callable[[], float] | None = None) -> None:
        self.url = url
        """The address of the store, without a password."""
        self._clock = clock
        self._lock = RLock()
        self._depth = 0
        """How many transactions and savepoints are open; guarded by the lock."""
        self._process = os.getpid()
        self._closed = False
        self._connection: Any = self._connect()
        try:
            self._set_up()
            self._migrate()
        except BaseException:  # Nothing is left open, whatever the error.
            self._connection.close()
            raise

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
        """Run a transaction; with `alone`, all others wait until it ends."""
        self._ready()
        self._begin(alone=alone)
        try:
            yield
            self._commit()
        except BaseException:  # Nothing half-written stays, whatever the error.
            if self._inside():
                self._rows("ROLLBACK")
            raise

    @contextmanager
    def _savepoint(self) -> Iterator[None]:
        """Run a part of a transaction that can fail alone."""
        if not self._inside():
            raise StoreError(self.url, "an earlier error has ended the transaction: begin it again")
        point = f"brim_{self._depth}"
        self._rows(f"SAVEPOINT {point}")
        try:
            yield
        except BaseException:  # Nothing half-written stays, whatever the error.
            if self._inside():
                self._rows(f"ROLLBACK TO SAVEPOINT {point}")
                self._rows(f"RELEASE SAVEPOINT {point}")
            raise
        self._rows(f"RELEASE SAVEPOINT {point}")

    def _ready(self) -> None:
        """Check that the connection can be used, and roll back a transaction that was interrupted.

        Raises:
            StoreError: it was closed, or belongs to another process.
        """
        if self._depth:
            return
        if self._closed:
            raise StoreError(self.url, "the store is closed: open it again")
        if os.getpid() != self._process:
            raise StoreError(self.url, "it was opened by the parent of this process: open it again in the child")
        if self._inside():
            self._rows("ROLLBACK")

    @contextmanager
    def _snapshot(self) -> Iterator[None]:
        """Read the store as it is at one moment, whatever others write meanwhile."""
        with self._lock:
            self._ready()
            if self._depth:
                yield
                return
            self._rows(self._reading)
            try:
                yield
            finally:
                if self._inside():
                    self._rows("COMMIT")

    def _read(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        """Return the rows of one reading statement, which may be outside of a transaction."""
        with self._lock:
            self._ready()
            return self._rows(statement, values)

    def _rows(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        """Run a statement and return its rows."""
        cursor = self._run(statement, values)
        return cursor.fetchall() if cursor.description else []

    def _changed(self, statement: str, values: Sequence[Any] = ()) -> int:
        """Run a statement and return how many rows it changed."""
        return int(self._run(statement, values).rowcount)

    def _each(self, statement: str, values: Iterable[Sequence[Any]]) -> None:
        """Run a statement once for each row of values."""
        for row in values:
            self._run(statement, row)

    def _migrate(self, versions: tuple[Version, ...] = VERSIONS) -> None:
        """Bring the tables to the last version, in one transaction.

        Raises:
            StoreError: they are of a newer version, or of another program.
        """
        if self._known_version(versions) == len(versions):
            return
        with self._transaction(alone=True):
            # Another process may have done it while this one waited.
            for version in range(self._known_version(versions) + 1, len(versions) + 1):
                for statement in statements(version, self._kind, versions):
                    self._rows(statement)

    def _known_version(self, versions: tuple[Version, ...]) -> int:
        found = self._version()
        if found > len(versions):
            problem = f"it was written by a newer brim (tables of version {found}; this one knows {len(versions)})"
            raise StoreError(self.url, f"{problem}: update brim, or open another store")
        return found

    def _now(self) -> float:
        """Return the time in seconds since 1970; in a transaction it may be the time of its beginning."""
        return (self._clock or time.time)()

    def close(self) -> None:
        """Close the file or the connection, unless it belongs to the parent of this process."""
        with self._lock:
            self._closed = True
            if os.getpid() == self._process:
                self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @abstractmethod
    def _connect(self) -> Any:
        """Return a new connection.

        Raises:
            StoreError: there is none; the message says what to do.
        """

    def _set_up(self) -> None:  # noqa: B027 - PostgreSQL needs nothing
        """Prepare a new connection."""

    @abstractmethod
    def _run(self, statement: str, values: Sequence[Any]) -> Any:
        """Run a statement and return its cursor.

        Raises:
            StoreError: the database refuses it; the message says what to do.
        """

    @abstractmethod
    def _begin(self, *, alone: bool) -> None:
        """Begin a transaction that is going to write; with `alone`, all others wait until it ends."""

    @abstractmethod
    def _commit(self) -> None:
        """End the transaction, and return when what it wrote is on the disk.

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
