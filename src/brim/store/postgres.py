"""A store in PostgreSQL, for several processes and machines.

Writers of one session wait for the lock on its row. Times come from the server, so the clocks of different machines do
not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from brim.errors import StoreError
from brim.store.store import BUSY_SECONDS, Range, Row, Store
from brim.store.values import shown_url, without_secrets

if TYPE_CHECKING:
    import psycopg

_GUARD = 0x6272696D
"""The number of the advisory lock that a purge takes exclusively."""
_WORDS_BYTES = 500_000
"""Bytes of a text's distinct words that are indexed. PostgreSQL accepts at most a megabyte."""
_TIME = "SELECT extract(epoch FROM clock_timestamp())::double precision"


class Postgres(Store):
    """A store in one database of a server."""

    _kind = "postgres"

    def __init__(self, url: str, clock: Callable[[], float] | None = None) -> None:
        self._address = url
        self._began = 0.0
        shown = shown_url(url)
        try:
            import psycopg
        except ImportError as error:
            raise StoreError(shown, "PostgreSQL needs psycopg: pip install 'brim[postgres]'") from error
        self._library = psycopg
        super().__init__(shown, clock)

    def _connect(self) -> psycopg.Connection[Row]:
        """Return a new connection, whose commits return once they are on the server's disk."""
        try:
            connection = self._library.connect(
                self._address, autocommit=True, connect_timeout=int(BUSY_SECONDS), application_name="brim"
            )
            connection.execute("SET synchronous_commit = on")
        except self._library.Error as error:
            reason = without_secrets(_first_line(error), self._address)
            raise StoreError(
                self.url, f"no connection ({reason}): is the server running, and do you have access?"
            ) from error
        return connection

    def _begin(self, *, alone: bool) -> None:
        """Begin a transaction; a purge waits for all others, and all others wait for a purge.

        The statements are sent in one message, and the server answers with its time.
        """
        lock = f"pg_advisory_xact_lock{'' if alone else '_shared'}({_GUARD})"
        rows, _ = self._run(f"BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SELECT {lock}; {_TIME}", ())
        self._began = float(rows[0][0])

    def _begin_reading(self) -> None:
        self._rows("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def _commit(self) -> None:
        failed = self._connection.info.transaction_status == self._library.pq.TransactionStatus.INERROR
        self._rows("COMMIT")
        if failed:  # The server has rolled back.
            raise StoreError(self.url, "nothing was written, because an earlier statement failed: try again")

    def _each(self, statement: str, values: Iterable[Sequence[Any]]) -> None:
        """Run a statement once for each row of values, sent in one batch."""
        with self._errors(), self._connection.cursor() as cursor:
            cursor.executemany(_with_marks(statement), values)

    def _run(self, statement: str, values: Sequence[Any]) -> tuple[list[Row], int]:
        """Run a statement; outside of a transaction it is run again if the server had closed the connection."""
        beginning = not self._inside()
        try:
            return self._ran(statement, values)
        except StoreError:
            if not (beginning and self._connection.closed):
                raise
        self._connection = self._connect()
        return self._ran(statement, values)

    def _ran(self, statement: str, values: Sequence[Any]) -> tuple[list[Row], int]:
        """Run a statement once; of several statements, return the rows of the last one."""
        with self._errors():
            cursor = self._connection.execute(_with_marks(statement), values or None)
            while cursor.nextset():
                pass
            return cursor.fetchall() if cursor.description else [], cursor.rowcount

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Raise every error of the server or the connection as a `StoreError`."""
        try:
            yield
        except self._library.Error as error:
            raise self._error(error) from error

    def _inside(self) -> bool:
        idle = (self._library.pq.TransactionStatus.IDLE, self._library.pq.TransactionStatus.UNKNOWN)
        return self._connection.info.transaction_status not in idle

    def _now(self) -> float:
        """Return the server's time in seconds since 1970; inside a transaction, the time when it began."""
        if self._clock is not None:
            return self._clock()
        return self._began if self._inside() else float(self._rows(_TIME)[0][0])

    def _is_store(self) -> bool:
        return self._rows("SELECT to_regclass('brim_store')")[0][0] is not None

    def _column(self, text: str) -> str | bytes:
        return text.encode("utf-8", "surrogatepass")

    def _add_words(self, entries: Sequence[tuple[int, list[str]]]) -> None:
        rows = [(_vector(words), place) for place, words in entries]
        self._each("UPDATE brim_entries SET words = ?::tsvector WHERE place = ?", rows)

    def _having(self, word: str, within: Range, *, prefix: bool = False) -> list[int]:
        statement = "SELECT place FROM brim_entries WHERE words @@ ?::tsquery AND place BETWEEN ? AND ?"
        return [int(row[0]) for row in self._rows(statement, (_quoted(word) + ":*" * prefix, *within))]

    def _error(self, error: Exception) -> StoreError:
        """Return an error with advice."""
        reason = _first_line(error)
        errors = self._library.errors
        if self._connection.closed:
            return StoreError(self.url, f"the connection was lost ({reason}): try again")
        if isinstance(error, errors.DiskFull):
            return StoreError(self.url, f"the server's disk is full ({reason}): nothing was written")
        if isinstance(error, errors.InsufficientPrivilege):
            return StoreError(self.url, f"permission denied ({reason}): grant the user rights on the schema")
        if isinstance(error, errors.DeadlockDetected | errors.LockNotAvailable | errors.SerializationFailure):
            return StoreError(self.url, f"another program locked the rows ({reason}): try again")
        if isinstance(error, errors.UndefinedTable | errors.UndefinedColumn):
            return StoreError(self.url, f"it is not a brim store, or tables were removed ({reason})")
        return StoreError(self.url, f"PostgreSQL says: {reason}")


def _with_marks(statement: str) -> Any:
    """Return a statement with psycopg's marks for values."""
    return statement.replace("?", "%s")


def _vector(words: Iterable[str]) -> str:
    """Return words as PostgreSQL writes them, as many as it accepts."""
    size, found = 0, []
    for word in dict.fromkeys(words):
        size += len(word.encode())
        if size > _WORDS_BYTES:
            break
        found.append(_quoted(word))
    return " ".join(found)


def _quoted(word: str) -> str:
    escaped = word.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
