"""A store in PostgreSQL, for several processes and machines.

Writers of one session wait for each other on its row; workers pass by the jobs that others hold. Leases run by the
clock of the server, so machines whose clocks differ agree on when one expires.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from brim.errors import StoreError
from brim.store.database import Match, Row

if TYPE_CHECKING:
    import psycopg

_GUARD = 0x6272696D
"""The number of the lock that purges and changes of the tables take alone."""
_WORDS_BYTES = 500_000
"""Bytes of the different words of one text. PostgreSQL takes no more than a megabyte, places and all."""
_PLACES = 16
"""How often a word of a text is noted; more does not make it rank higher by much."""
_LAST_PLACE = 16_383
_CONNECT_SECONDS = 10
_TIME = "SELECT extract(epoch FROM clock_timestamp())::double precision"


class Postgres:
    """One connection to one database."""

    kind = "postgres"
    unheld = " FOR UPDATE SKIP LOCKED"

    def __init__(self, url: str, clock: Callable[[], float] | None = None) -> None:
        self.url = _without_password(url)
        self._address = url
        self._clock = clock
        self._process = os.getpid()
        self._closed = False
        self._began = 0.0
        try:
            import psycopg
        except ImportError as error:
            raise StoreError(self.url, "PostgreSQL needs psycopg: pip install 'brim[postgres]'") from error
        self._library = psycopg
        self._connection = self._connected()

    def _connected(self) -> psycopg.Connection[Row]:
        """Return a new connection, on which a commit is acknowledged when it is on the server's disk."""
        try:
            connection = self._library.connect(
                self._address, autocommit=True, connect_timeout=_CONNECT_SECONDS, application_name="brim"
            )
            connection.execute("SET synchronous_commit = on")
        except self._library.Error as error:
            told = _first_line(error)
            raise StoreError(self.url, f"no connection ({told}): does the server run, and may you use it?") from error
        return connection

    def ready(self) -> None:
        """Pass if the store is open and was opened by this process; connect again where the server hung up."""
        if self._closed:
            raise StoreError(self.url, "the store is closed: open it again")
        if os.getpid() != self._process:
            raise StoreError(self.url, "it was opened by the parent of this process: open it again in the child")
        if self._connection.closed:
            self._connection = self._connected()

    def begin(self, *, alone: bool) -> None:
        """Begin a transaction; a purge waits for all others, and all others wait for a purge.

        All of it goes to the server in one message, which answers with its time.
        """
        lock = f"pg_advisory_xact_lock{'' if alone else '_shared'}({_GUARD})"
        cursor = self._run(f"BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SELECT {lock}; {_TIME}", ())
        while cursor.nextset():
            pass
        self._began = float(cursor.fetchall()[0][0])

    def commit(self) -> None:
        """End the transaction, and return when what it wrote is on the server's disk."""
        if self._run("COMMIT", ()).statusmessage != "COMMIT":
            raise StoreError(self.url, "nothing was written, since a statement before had failed: try again")

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        """Run a statement and return its rows."""
        cursor = self._run(statement, values)
        return cursor.fetchall() if cursor.description else []

    def changed(self, statement: str, values: Sequence[Any] = ()) -> int:
        """Run a statement and return how many rows it changed."""
        return self._run(statement, values).rowcount

    def each(self, statement: str, values: Iterable[Sequence[Any]]) -> None:
        """Run a statement once for each row of values."""
        try:
            with self._connection.cursor() as cursor:
                cursor.executemany(_spoken(statement), values)
        except self._library.Error as error:
            raise self._told(error) from error

    def _run(self, statement: str, values: Sequence[Any]) -> psycopg.Cursor[Row]:
        """Run a statement; one that begins something is run again on a new connection, if the server had hung up."""
        beginning = not self.inside()
        try:
            return self._connection.execute(_spoken(statement), values or None)
        except self._library.Error as error:
            if not (beginning and self._connection.closed):
                raise self._told(error) from error
        self._connection = self._connected()
        try:
            return self._connection.execute(_spoken(statement), values or None)
        except self._library.Error as error:
            raise self._told(error) from error

    def inside(self) -> bool:
        """Return whether a transaction is under way."""
        idle = (self._library.pq.TransactionStatus.IDLE, self._library.pq.TransactionStatus.UNKNOWN)
        return self._connection.info.transaction_status not in idle

    def now(self) -> float:
        """Return the server's time in seconds since 1970; inside of a transaction, the time when it began."""
        if self._clock is not None:
            return self._clock()
        return self._began if self.inside() else float(self.rows(_TIME)[0][0])

    def version(self) -> int:
        """Return the version of the tables, 0 where there are none yet."""
        if self.rows("SELECT to_regclass('brim_store')")[0][0] is None:
            return 0
        found = self.rows("SELECT version FROM brim_store")
        if len(found) != 1:
            raise StoreError(self.url, "it is not a brim store: its table brim_store is of something else")
        return int(found[0][0])

    def index(self, text_id: int, words: list[str]) -> None:
        """Make a text be found by its words."""
        self.rows("UPDATE brim_texts SET words = ?::tsvector WHERE id = ?", (_vector(words), text_id))

    def drop_unkept(self) -> int:
        """Remove the texts that no session keeps, and their words."""
        unkept = "NOT EXISTS (SELECT 1 FROM brim_kept k WHERE k.handle = t.handle)"
        return self.changed(f"DELETE FROM brim_texts t WHERE {unkept}")

    def matches(self, words: list[str], session: str | None, limit: int) -> list[Match]:
        """Return the texts that have one of the words, the best first."""
        query = " | ".join(map(_quoted, words))
        own = (
            ""
            if session is None
            else "AND EXISTS (SELECT 1 FROM brim_kept k WHERE k.handle = t.handle AND k.session = ?) "
        )
        found = self.rows(
            "SELECT t.handle, t.body, coalesce(?::text, (SELECT k.session FROM brim_kept k WHERE k.handle = t.handle "
            "ORDER BY k.at DESC, k.session LIMIT 1)), ts_rank(t.words, ?::tsquery, 1) AS score "
            f"FROM brim_texts t WHERE t.words @@ ?::tsquery {own}ORDER BY score DESC, t.handle LIMIT ?",
            (session, query, query, *([] if session is None else [session]), limit),
        )
        return [Match(*row) for row in found]

    def tidy(self) -> None:
        """Do nothing: the server's own vacuum takes what was removed from the disk."""

    def close(self) -> None:
        """Close the connection, unless it belongs to the parent of this process."""
        self._closed = True
        if os.getpid() == self._process:
            self._connection.close()

    def _told(self, error: Exception) -> StoreError:
        """Return an error that says what to do."""
        told = _first_line(error)
        errors = self._library.errors
        if self._connection.closed:
            return StoreError(self.url, f"the connection was lost ({told}): try again")
        if isinstance(error, errors.DiskFull):
            return StoreError(self.url, f"the server's disk is full ({told}): nothing was written")
        if isinstance(error, errors.InsufficientPrivilege):
            return StoreError(self.url, f"the user may not do this ({told}): grant it the rights on the schema")
        if isinstance(error, errors.DeadlockDetected | errors.LockNotAvailable | errors.SerializationFailure):
            return StoreError(self.url, f"another program was in the way ({told}): try again")
        if isinstance(error, errors.UndefinedTable | errors.UndefinedColumn):
            return StoreError(self.url, f"it is not a brim store, or tables were taken away ({told})")
        return StoreError(self.url, f"PostgreSQL says: {told}")


def _spoken(statement: str) -> Any:
    """Return a statement with the marks for values that psycopg knows."""
    return statement.replace("?", "%s")


def _vector(words: list[str]) -> str:
    """Return words as PostgreSQL writes them with their places, as many as it takes."""
    places: dict[str, list[int]] = {}
    size = 0
    for place, word in enumerate(words, start=1):
        if word not in places:
            size += len(word.encode()) + 2 * _PLACES
            if size > _WORDS_BYTES:
                break
        noted = places.setdefault(word, [])
        if len(noted) < _PLACES:
            noted.append(min(place, _LAST_PLACE))
    return " ".join(f"{_quoted(word)}:{','.join(map(str, noted))}" for word, noted in places.items())


def _quoted(word: str) -> str:
    escaped = word.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _without_password(url: str) -> str:
    """Return an address without the password, and without the options, where one may stand too."""
    try:
        parts = urlsplit(url)
        user, host = parts.username, parts.netloc.rpartition("@")[2]
    except ValueError:
        return "postgresql://"
    return f"postgresql://{user + '@' if user else ''}{host}{parts.path}"
