"""What the shared store asks of a database: to run a statement, and the few things that each does in its own way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol

from brim.errors import StoreError
from brim.store.schema import VERSIONS, Version, statements

Row = tuple[Any, ...]


class Match(NamedTuple):
    """A text that has words of a query."""

    handle: str
    content: bytes
    session: str
    rank: float


class Database(Protocol):
    """One connection. The store sees to it that one thread at a time uses it."""

    kind: str
    """The name of its types in the schema: sqlite or postgres."""
    url: str
    """Its address without a password."""
    unheld: str
    """What a SELECT ends with to pass by the rows that others hold, and hold those that it read."""

    def ready(self) -> None:
        """Pass if the connection can be used; where it was lost and can be made again, make it again.

        Raises:
            StoreError: it was closed, or belongs to another process.
        """

    def begin(self, *, alone: bool) -> None:
        """Begin a transaction that is going to write; `alone`, hold off all others until it ends."""

    def commit(self) -> None:
        """End the transaction, and return when what it wrote is on the disk.

        Raises:
            StoreError: it was not written.
        """

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        """Run a statement and return its rows."""

    def changed(self, statement: str, values: Sequence[Any] = ()) -> int:
        """Run a statement and return how many rows it changed."""

    def each(self, statement: str, values: Iterable[Sequence[Any]]) -> None:
        """Run a statement once for each row of values."""

    def inside(self) -> bool:
        """Return whether a transaction is under way."""

    def now(self) -> float:
        """Return the time in seconds since 1970; that of its beginning, where a transaction is under way."""

    def version(self) -> int:
        """Return the version of the tables, 0 where there are none yet.

        Raises:
            StoreError: what is there belongs to another program.
        """

    def index(self, text_id: int, words: list[str]) -> None:
        """Make a text be found by its words."""

    def drop_unkept(self) -> int:
        """Remove the texts that no session keeps, and their words; return how many."""

    def matches(self, words: list[str], session: str | None, limit: int) -> list[Match]:
        """Return the texts that have one of the words, the best first."""

    def tidy(self) -> None:
        """Take what a purge removed from the disk, as far as the database can."""

    def close(self) -> None:
        """Close the connection."""


def migrate(database: Database, versions: tuple[Version, ...] = VERSIONS) -> None:
    """Bring the tables to the last version: all of the way or none of it.

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
        told = f"it was written by a newer brim (tables of version {found}; this one knows {len(versions)})"
        raise StoreError(database.url, f"{told}: update brim, or open another store")
    return found
