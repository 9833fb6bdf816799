"""What the SQL store needs of a database: a connection that runs statements, and its own way of indexing texts."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from brim.errors import StoreError
from brim.store.schema import VERSIONS, Version, statements

Row = tuple[Any, ...]


class Match(NamedTuple):
    """A text that has words of a query."""

    handle: str
    content: bytes
    session: str
    rank: float


class Database(ABC):
    """One connection. The store lets one thread at a time use it."""

    kind: str
    """The name of its types in the schema: sqlite or postgres."""
    skip_locked: str
    """The end of a SELECT that skips the rows which others have locked, and locks those that it reads."""

    def __init__(self, url: str) -> None:
        self.url = url
        """Its address without a password."""
        self._connection: Any = None
        self._process = os.getpid()
        self._closed = False

    def ready(self) -> None:
        """Check that the connection can be used.

        Raises:
            StoreError: it was closed, or belongs to another process.
        """
        if self._closed:
            raise StoreError(self.url, "the store is closed: open it again")
        if os.getpid() != self._process:
            raise StoreError(self.url, "it was opened by the parent of this process: open it again in the child")

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        """Run a statement and return its rows."""
        cursor = self.run(statement, values)
        return cursor.fetchall() if cursor.description else []

    def changed(self, statement: str, values: Sequence[Any] = ()) -> int:
        """Run a statement and return how many rows it changed."""
        return int(self.run(statement, values).rowcount)

    def tidy(self) -> None:  # noqa: B027 - PostgreSQL does so itself
        """Remove what a purge deleted from the disk."""

    def close(self) -> None:
        """Close the connection, unless it belongs to the parent of this process."""
        self._closed = True
        if os.getpid() == self._process:
            self._connection.close()

    @abstractmethod
    def run(self, statement: str, values: Sequence[Any]) -> Any:
        """Run a statement and return its cursor.

        Raises:
            StoreError: the database refuses it; the message says what to do.
        """

    @abstractmethod
    def each(self, statement: str, values: Iterable[Sequence[Any]]) -> None:
        """Run a statement once for each row of values."""

    @abstractmethod
    def begin(self, *, alone: bool) -> None:
        """Begin a transaction that is going to write; with `alone`, all others wait until it ends."""

    @abstractmethod
    def commit(self) -> None:
        """End the transaction, and return when it is on the disk.

        Raises:
            StoreError: it was not written.
        """

    @abstractmethod
    def inside(self) -> bool:
        """Return whether a transaction is under way."""

    @abstractmethod
    def now(self) -> float:
        """Return the time in seconds since 1970; in a transaction it may be the time of its beginning."""

    @abstractmethod
    def version(self) -> int:
        """Return the version of the tables, 0 if there are none yet.

        Raises:
            StoreError: the tables belong to another program.
        """

    @abstractmethod
    def index(self, text_id: int, words: list[str]) -> None:
        """Index a text by its words."""

    @abstractmethod
    def drop_unkept(self) -> int:
        """Remove the texts that no session keeps, and their words; return how many."""

    @abstractmethod
    def matches(self, words: list[str], session: str | None, limit: int) -> list[Match]:
        """Return the texts that have one of the words, the best first."""


def migrate(database: Database, versions: tuple[Version, ...] = VERSIONS) -> None:
    """Bring the tables to the last version, in one transaction.

    Raises:
        StoreError: they are of a newer version, or of another program.
    """
    if _known(database, versions) == len(versions):
        return
    database.begin(alone=True)
    try:
        # Another process may have done it while this one waited.
        for version in range(_known(database, versions) + 1, len(versions) + 1):
            for statement in statements(version, database.kind, versions):
                database.rows(statement)
        database.commit()
    except BaseException:
        if database.inside():
            database.rows("ROLLBACK")
        raise


def _known(database: Database, versions: tuple[Version, ...]) -> int:
    found = database.version()
    if found > len(versions):
        problem = f"it was written by a newer brim (tables of version {found}; this one knows {len(versions)})"
        raise StoreError(database.url, f"{problem}: update brim, or open another store")
    return found
