"""A store in one SQLite file.

Every commit reaches the disk before it is acknowledged. Where the linked SQLite has the WAL-reset bug, which can lose
pages when two connections write and checkpoint at the same moment, the file is kept in a rollback journal instead of
a write-ahead log: slower, and right. The journal stays on the disk with its head wiped, which is how a commit needs
the fewest syncs.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from brim.errors import StoreError
from brim.store.database import Match, Row

_OLDEST = (3, 35, 0)
"""The first SQLite that has everything the store uses."""
_FIXED = {(3, 44): (3, 44, 6), (3, 50): (3, 50, 7)}
"""Older lines of SQLite into which the fix of the WAL-reset bug was brought, and since when."""
_FIXED_SINCE = (3, 51, 3)

BUSY_SECONDS = 10.0
"""How long a writer waits for another."""
_LOOK_SECONDS = 0.002
_JOURNAL_BYTES = 4_000_000
"""How much of a journal stays on the disk after a big transaction."""

_ADVICE = {
    "SQLITE_BUSY": f"another program has been writing for more than {BUSY_SECONDS:g} s: end it, or try again",
    "SQLITE_LOCKED": "another statement holds the table: try again",
    "SQLITE_FULL": "the disk is full: free some space; nothing was written",
    "SQLITE_READONLY": "it may not be written: give yourself the right to write the file and its folder",
    "SQLITE_CANTOPEN": "it cannot be opened: does the folder exist, and may you write there?",
    "SQLITE_CORRUPT": "the file is damaged: bring back a copy, or save what is left with `sqlite3 FILE .recover`",
    "SQLITE_NOTADB": "it is not a brim store, nor any SQLite file: name another file",
    "SQLITE_IOERR": "the disk cannot be read or written: look at the system's log",
    "SQLITE_TOOBIG": "a text is bigger than SQLite can hold (1,000,000,000 bytes): cut it first",
}


def has_wal_bug(version: tuple[int, int, int]) -> bool:
    """Return whether this version of SQLite has the WAL-reset bug."""
    return version < _FIXED.get(version[:2], _FIXED_SINCE)


class Sqlite:
    """One connection to one file."""

    kind = "sqlite"
    unheld = ""

    def __init__(self, path: str, clock: Callable[[], float] | None = None) -> None:
        self.url = f"sqlite:///{path}"
        self.now: Callable[[], float] = clock or time.time
        self._process = os.getpid()
        self._closed = False
        self._wary = False
        """Whether this SQLite has the WAL-reset bug, and the file must have no write-ahead log."""
        if sqlite3.sqlite_version_info < _OLDEST:
            needed = ".".join(map(str, _OLDEST))
            raise StoreError(self.url, f"this Python has SQLite {sqlite3.sqlite_version}, and {needed} is needed")
        fresh = path == ":memory:" or _made(path, self.url)
        try:
            self._connection = sqlite3.connect(
                path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False, cached_statements=64
            )
        except sqlite3.Error as error:
            raise self._told(error) from error
        try:
            self._set_up(fresh=fresh and path != ":memory:")
        except BaseException:
            self._connection.close()
            raise

    def _set_up(self, *, fresh: bool) -> None:
        for pragma in (
            "synchronous = EXTRA",
            "fullfsync = ON",
            "checkpoint_fullfsync = ON",
            "secure_delete = ON",
            f"journal_size_limit = {_JOURNAL_BYTES}",
        ):
            self.rows(f"PRAGMA {pragma}")
        mode = str(self.rows("PRAGMA journal_mode")[0][0])
        if mode == "memory":
            return
        safe = not has_wal_bug(sqlite3.sqlite_version_info)
        if safe and mode == "wal":
            return
        # A file that is not new stays without a log: a SQLite with the bug may have it open.
        self._try_mode("wal" if safe and fresh else "persist")
        self._wary = not safe
        self._refuse_log()

    def _refuse_log(self) -> None:
        """Pass unless the file has a write-ahead log that this SQLite may damage."""
        if self._wary and self.rows("PRAGMA journal_mode") == [("wal",)]:
            told = f"another program uses a write-ahead log, and SQLite {sqlite3.sqlite_version} may damage the file"
            raise StoreError(self.url, f"{told} (WAL-reset bug): close the other, or use SQLite 3.51.3 or later")

    def _try_mode(self, mode: str) -> str:
        """Return the journal mode after asking for one; somebody else's lock leaves it as it was."""
        try:
            return str(self._connection.execute(f"PRAGMA journal_mode = {mode}").fetchone()[0])
        except sqlite3.OperationalError as error:
            if _name(error) != "SQLITE_BUSY":
                raise self._told(error) from error
            return str(self.rows("PRAGMA journal_mode")[0][0])

    def ready(self) -> None:
        """Pass if the file is open and was opened by this process."""
        if self._closed:
            raise StoreError(self.url, "the store is closed: open it again")
        if os.getpid() != self._process:
            raise StoreError(self.url, "it was opened by the parent of this process: open it again in the child")

    def begin(self, *, alone: bool) -> None:  # noqa: ARG002  # whoever writes is always alone
        """Begin a transaction that is going to write.

        SQLite looks ever less often whether a lock is free, and beside somebody who writes without a pause it may never
        see it free. Looking every few milliseconds it does.
        """
        limit = time.monotonic() + BUSY_SECONDS
        self._connection.execute("PRAGMA busy_timeout = 0")
        try:
            while not self._begun(hopeful=time.monotonic() < limit):
                time.sleep(_LOOK_SECONDS)
        finally:
            self._connection.execute(f"PRAGMA busy_timeout = {int(BUSY_SECONDS * 1_000)}")
        try:
            self._refuse_log()
        except StoreError:
            self.rows("ROLLBACK")
            raise

    def _begun(self, *, hopeful: bool) -> bool:
        """Return whether the lock was free; where there is no hope left, an error says so."""
        try:
            self._connection.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            if hopeful and _name(error) == "SQLITE_BUSY":
                return False
            raise self._told(error) from error
        return True

    def commit(self) -> None:
        """End the transaction, and return when what it wrote is on the disk."""
        self.rows("COMMIT")

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        """Run a statement and return its rows."""
        try:
            return self._connection.execute(statement, values).fetchall()
        except (sqlite3.Error, OverflowError) as error:
            raise self._told(error) from error

    def changed(self, statement: str, values: Sequence[Any] = ()) -> int:
        """Run a statement and return how many rows it changed."""
        try:
            return self._connection.execute(statement, values).rowcount
        except (sqlite3.Error, OverflowError) as error:
            raise self._told(error) from error

    def each(self, statement: str, values: Iterable[Sequence[Any]]) -> None:
        """Run a statement once for each row of values."""
        try:
            self._connection.executemany(statement, values)
        except (sqlite3.Error, OverflowError) as error:
            raise self._told(error) from error

    def inside(self) -> bool:
        """Return whether a transaction is under way."""
        return self._connection.in_transaction

    def version(self) -> int:
        """Return the version of the tables, 0 for an empty file."""
        names = {name for (name,) in self.rows("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if "brim_store" in names:
            return int(self.rows("SELECT version FROM brim_store")[0][0])
        if names:
            told = ", ".join(sorted(names)[:3])
            raise StoreError(self.url, f"it is not a brim store: it holds tables of something else ({told})")
        return 0

    def index(self, text_id: int, words: list[str]) -> None:
        """Make a text be found by its words."""
        self.rows("INSERT INTO brim_words (rowid, words) VALUES (?, ?)", (text_id, " ".join(words)))

    def drop_unkept(self) -> int:
        """Remove the texts that no session keeps, and their words."""
        unkept = "SELECT id FROM brim_texts t WHERE NOT EXISTS (SELECT 1 FROM brim_kept k WHERE k.handle = t.handle)"
        self.rows(f"DELETE FROM brim_words WHERE rowid IN ({unkept})")
        gone = self.changed(f"DELETE FROM brim_texts WHERE id IN ({unkept})")
        if gone:
            # An index forgets a word when it is merged; until then the word can be read in the file.
            self.rows("INSERT INTO brim_words (brim_words) VALUES ('optimize')")
        return gone

    def matches(self, words: list[str], session: str | None, limit: int) -> list[Match]:
        """Return the texts that have one of the words, the best first."""
        query = " OR ".join('"' + word.replace('"', '""') + '"' for word in words)
        found = self.rows(
            "SELECT t.handle, t.body, coalesce(?, (SELECT k.session FROM brim_kept k WHERE k.handle = t.handle "
            "ORDER BY k.at DESC, k.session LIMIT 1)), -bm25(brim_words) AS score "
            "FROM brim_words JOIN brim_texts t ON t.id = brim_words.rowid WHERE brim_words MATCH ? "
            "AND (? IS NULL OR EXISTS (SELECT 1 FROM brim_kept k WHERE k.handle = t.handle AND k.session = ?)) "
            "ORDER BY score DESC, t.handle LIMIT ?",
            (session, query, session, session, limit),
        )
        return [Match(*row) for row in found]

    def tidy(self) -> None:
        """Empty the journal, which has the pages as they were before."""
        if self.rows("PRAGMA journal_mode") == [("wal",)]:
            self.rows("PRAGMA wal_checkpoint(TRUNCATE)")
        elif self._try_mode("delete") == "delete":
            self._try_mode("persist")

    def close(self) -> None:
        """Close the file, unless it belongs to the parent of this process."""
        self._closed = True
        if os.getpid() == self._process:
            self._connection.close()

    def _told(self, error: Exception) -> StoreError:
        """Return an error that says what to do."""
        advice = _ADVICE.get(_name(error))
        return StoreError(self.url, f"{advice} ({error})" if advice else f"SQLite says: {error}")


def _name(error: Exception) -> str:
    """Return what SQLite calls an error, without its finer kinds."""
    whole = str(getattr(error, "sqlite_errorname", ""))
    return "_".join(whole.split("_")[:2])


def _made(path: str, url: str) -> bool:
    """Make the file if it is missing, for its owner alone, and return whether it has nothing in it."""
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
            url, f"it cannot be made: {problem}; does the folder exist, and may you write there?"
        ) from error
    return True
