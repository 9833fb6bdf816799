"""A store in one SQLite file.

Every commit reaches the disk before it is acknowledged. Where the linked SQLite has the WAL-reset bug, which can lose
pages when two connections write and checkpoint at the same moment, the file is kept in a rollback journal instead of
a write-ahead log: slower, but safe. The journal stays on the disk with its head wiped, so that a commit needs the
fewest syncs.
"""

from __future__ import annotations

import os
import sqlite3
import time
import zlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from brim.errors import StoreError
from brim.store.body import decode_text
from brim.store.sql import UNKEPT, SqlStore
from brim.store.words import text_words

_OLDEST = (3, 35, 0)
"""The first version that has everything the store uses."""
_FIXED = {(3, 44): (3, 44, 6), (3, 50): (3, 50, 7)}
"""Older release lines with a fix of the WAL-reset bug, and the first fixed version of each."""
_FIXED_SINCE = (3, 51, 3)

BUSY_SECONDS = 10.0
"""Seconds that a writer waits for another."""
_POLL_SECONDS = 0.002
_JOURNAL_BYTES = 4_000_000
"""Bytes of a journal that stay on the disk after a big transaction."""

_ADVICE = {
    "SQLITE_BUSY": f"another program has been writing for more than {BUSY_SECONDS:g} s: end it, or try again",
    "SQLITE_LOCKED": "another statement holds the table: try again",
    "SQLITE_FULL": "the disk is full: free some space; nothing was written",
    "SQLITE_READONLY": "it is read-only: you need the right to write the file and its folder",
    "SQLITE_CANTOPEN": "it cannot be opened: does the folder exist, and may you write there?",
    "SQLITE_CORRUPT": "the file is damaged: restore a copy, or save what is left with `sqlite3 FILE .recover`",
    "SQLITE_NOTADB": "it is neither a brim store nor a SQLite file: name another file",
    "SQLITE_IOERR": "the disk cannot be read or written: see the system's log",
    "SQLITE_TOOBIG": "a text is larger than SQLite can store (1,000,000,000 bytes): cut it first",
}
_MOVED = "its file was removed or replaced while it was open: open the store again, or restart the program"


def has_wal_bug(version: tuple[int, int, int]) -> bool:
    """Return whether this version of SQLite has the WAL-reset bug."""
    return version < _FIXED.get(version[:2], _FIXED_SINCE)


class Sqlite(SqlStore):
    """A store in one file."""

    _kind = "sqlite"
    _rank = "-bm25(brim_words)"
    _matching = "brim_words JOIN brim_texts t ON t.id = brim_words.rowid WHERE brim_words MATCH ?"

    def __init__(self, path: str, clock: Callable[[], float] | None = None) -> None:
        self._path = path
        self._place = os.path.abspath(path)
        """The path for a program that changes its folder."""
        self._fresh = False
        self._wary = False
        """Whether this SQLite has the WAL-reset bug, and the file must have no write-ahead log."""
        self._file: tuple[int, int] | None = None
        """The device and the number of the file that is open; `None` in memory."""
        super().__init__(f"sqlite:///{path}", clock)

    def _connect(self) -> sqlite3.Connection:
        if sqlite3.sqlite_version_info < _OLDEST:
            needed = ".".join(map(str, _OLDEST))
            raise StoreError(self.url, f"this Python has SQLite {sqlite3.sqlite_version}, and {needed} is needed")
        self._fresh = self._path != ":memory:" and _create(self._path, self.url)
        self._file = self._found()
        try:
            return sqlite3.connect(
                self._path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False, cached_statements=64
            )
        except sqlite3.Error as error:
            raise self._error(error) from error

    def _set_up(self) -> None:
        for pragma in (
            "synchronous = EXTRA",
            "fullfsync = ON",
            "checkpoint_fullfsync = ON",
            "secure_delete = ON",
            f"journal_size_limit = {_JOURNAL_BYTES}",
        ):
            self._rows(f"PRAGMA {pragma}")
        mode = str(self._rows("PRAGMA journal_mode")[0][0])
        if mode == "memory":
            return
        safe = not has_wal_bug(sqlite3.sqlite_version_info)
        if safe and mode == "wal":
            return
        # A file that is not new stays without a log: a SQLite with the bug may have it open.
        self._try_mode("wal" if safe and self._fresh else "persist")
        self._wary = not safe
        self._refuse_log()

    def _refuse_log(self) -> None:
        """Raise an error if the file has a write-ahead log that this SQLite may damage."""
        if self._wary and self._rows("PRAGMA journal_mode") == [("wal",)]:
            problem = f"another program uses a write-ahead log, and SQLite {sqlite3.sqlite_version} may damage the file"
            raise StoreError(self.url, f"{problem} (WAL-reset bug): close the other, or use SQLite 3.51.3 or later")

    def _try_mode(self, mode: str) -> str:
        """Set the journal mode if no other program locks the file, and return the mode."""
        try:
            return str(self._connection.execute(f"PRAGMA journal_mode = {mode}").fetchone()[0])
        except sqlite3.OperationalError as error:
            if _name(error) != "SQLITE_BUSY":
                raise self._error(error) from error
            return str(self._rows("PRAGMA journal_mode")[0][0])

    def _found(self) -> tuple[int, int] | None:
        """Return the device and the number of the file at the path of the store; `None` if there is none."""
        try:
            found = os.stat(self._place)
        except (OSError, ValueError):
            return None
        return found.st_dev, found.st_ino

    def _begin(self, *, alone: bool) -> None:  # noqa: ARG002  # a writer is always alone
        """Begin a transaction that is going to write.

        With a write-ahead log, SQLite writes to a file that was removed without an error, and all of it is lost.
        SQLite polls for a lock ever less often, and next to a program that writes without a pause it may never get it.
        Polling every few milliseconds does.
        """
        if self._file != self._found():
            raise StoreError(self.url, _MOVED)
        limit = time.monotonic() + BUSY_SECONDS
        self._connection.execute("PRAGMA busy_timeout = 0")
        try:
            while not self._try_begin(waiting=time.monotonic() < limit):
                time.sleep(_POLL_SECONDS)
        finally:
            self._connection.execute(f"PRAGMA busy_timeout = {int(BUSY_SECONDS * 1_000)}")
        try:
            self._refuse_log()
        except StoreError:
            self._rows("ROLLBACK")
            raise

    def _try_begin(self, *, waiting: bool) -> bool:
        """Return whether the lock was free; raise an error if there is no time left."""
        try:
            self._connection.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            if waiting and _name(error) == "SQLITE_BUSY":
                return False
            raise self._error(error) from error
        return True

    def _commit(self) -> None:
        self._rows("COMMIT")

    def _run(self, statement: str, values: Sequence[Any]) -> sqlite3.Cursor:
        try:
            return self._connection.execute(statement, values)  # type: ignore[no-any-return]
        except (sqlite3.Error, OverflowError) as error:
            raise self._error(error) from error

    def _inside(self) -> bool:
        return bool(self._connection.in_transaction)

    def _version(self) -> int:
        names = {name for (name,) in self._rows("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if "brim_store" in names:
            return int(self._rows("SELECT version FROM brim_store")[0][0])
        if names:
            tables = ", ".join(sorted(names)[:3])
            raise StoreError(self.url, f"it is not a brim store: it has tables of another program ({tables})")
        return 0

    def _each(self, statement: str, values: Iterable[Sequence[Any]]) -> None:
        try:
            self._connection.executemany(statement, values)
        except (sqlite3.Error, OverflowError) as error:
            raise self._error(error) from error

    def _index(self, texts: Sequence[tuple[int, list[str]]]) -> None:
        rows = [(text_id, " ".join(words)) for text_id, words in texts]
        self._each("INSERT INTO brim_words (rowid, words) VALUES (?, ?)", rows)
        checksums = [(_checksum(words), text_id) for text_id, words in rows]
        self._each("UPDATE brim_texts SET words = ? WHERE id = ?", checksums)

    def _query(self, words: list[str]) -> str:
        return " OR ".join('"' + word.replace('"', '""') + '"' for word in words)

    def _drop_unkept(self) -> int:
        found = self._rows(f"SELECT id, words, body FROM brim_texts WHERE id IN ({UNKEPT})")
        known = {text_id: self._words(body) for text_id, _, body in found}
        gone = super()._drop_unkept()
        if any(_checksum(known[text_id]) != checksum for text_id, checksum, _ in found):
            self._index_again()
        elif gone:
            take_out = "INSERT INTO brim_words (brim_words, rowid, words) VALUES ('delete', ?, ?)"
            self._each(take_out, known.items())
            # An index forgets a word when it is merged; until then the word can be read in the file.
            self._rows("INSERT INTO brim_words (brim_words) VALUES ('optimize')")
        return gone

    def _words(self, body: bytes) -> str:
        return " ".join(text_words(decode_text(self.url, body)))

    def _index_again(self) -> None:
        """Index all texts anew: another version of Python or brim may have found other words in some of them."""
        self._rows("INSERT INTO brim_words (brim_words) VALUES ('delete-all')")
        for (text_id,) in self._rows("SELECT id FROM brim_texts"):
            ((body,),) = self._rows("SELECT body FROM brim_texts WHERE id = ?", [text_id])
            self._index([(text_id, text_words(decode_text(self.url, body)))])

    def _tidy(self) -> None:
        """Empty the journal, which has the deleted pages."""
        if self._rows("PRAGMA journal_mode") == [("wal",)]:
            self._rows("PRAGMA wal_checkpoint(TRUNCATE)")
        elif self._try_mode("delete") == "delete":
            self._try_mode("persist")

    def _error(self, error: Exception) -> StoreError:
        """Return an error with advice."""
        advice = _ADVICE.get(_name(error)) if self._file == self._found() else _MOVED
        return StoreError(self.url, f"{advice} ({error})" if advice else f"SQLite says: {error}")


class MemoryStore(Sqlite):
    """A store in the memory of the process, for tests; it is gone when it is closed."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        """Open an empty store.

        Args:
            clock: returns the time in seconds since 1970.
        """
        super().__init__(":memory:", clock)


def _checksum(words: str) -> int:
    return zlib.crc32(words.encode("utf-8", "surrogatepass"))


def _name(error: Exception) -> str:
    """Return the name of an error, without its extended code."""
    return "_".join(str(getattr(error, "sqlite_errorname", "")).split("_")[:2])


def _create(path: str, url: str) -> bool:
    """Create the file if it is missing, readable only by its owner, and return whether it is empty."""
    try:
        try:
            descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
        except FileExistsError:
            return os.path.getsize(path) == 0
        os.close(descriptor)
        if os.name == "posix":
            folder = os.open(os.path.dirname(path) or ".", os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
    except (OSError, ValueError) as error:
        problem = (getattr(error, "strerror", None) or str(error)).lower()
        raise StoreError(
            url, f"it cannot be created: {problem}; does the folder exist, and may you write there?"
        ) from error
    return True
