"""A store in one SQLite file.

Every commit is on disk before it returns. The file uses a rollback journal, not a write-ahead log: SQLite before 3.51.3
can lose pages in WAL mode when two connections write and checkpoint at the same moment, and reading a WAL needs write
access. After a commit, the header of the journal file is overwritten instead of deleting the file, which needs the
fewest syncs.
"""

from __future__ import annotations

import os
import re
import sqlite3
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from brim.errors import StoreError
from brim.store import store
from brim.store.store import Range, Row, Store, StoreBusy
from brim.store.texts import DROPPED, INDEXED, index_words
from brim.store.values import decode_body

_OLDEST = (3, 35, 0)
"""The first version of SQLite with everything that the store uses."""
_PAGE_BYTES = 2_048
"""Page size of a new file in bytes. An empty table takes one page, and rows of a few hundred bytes must fit into a
page. 200 short turns take 5.0 times the size of their text, or 5.9 times with pages of 4,096 bytes.
"""
_LONG = 1_024
"""Longer bodies, in bytes, are compressed. Recorded agent runs take 1.2 to 1.6 times the size of their text; half this
limit gives 1.2 to 1.4, double 1.4 to 1.7 and more readable bodies.
"""
_JOURNAL_BYTES = 4_000_000
"""Bytes of the journal that are kept after a big transaction."""
_READ_ONLY = "it is read-only: you need the right to write the file and its folder"

_ADVICE = {
    "SQLITE_BUSY": "another program has been writing for more than {seconds:g} s: end it, or try again",
    "SQLITE_LOCKED": "another statement has locked the table: try again",
    "SQLITE_FULL": "the disk is full: free some space; nothing was written",
    "SQLITE_READONLY": _READ_ONLY,
    "SQLITE_CANTOPEN": "it cannot be opened: does the folder exist, and can you write to it?",
    "SQLITE_CORRUPT": "the file is damaged: restore a copy, or save what is left with `sqlite3 FILE .recover`",
    "SQLITE_NOTADB": "it is neither a brim store nor a SQLite file: name another file",
    "SQLITE_IOERR": "the disk cannot be read or written: see the system log",
    "SQLITE_TOOBIG": "a text is larger than SQLite can store (1,000,000,000 bytes): cut it first",
}
_HALF = re.compile("[\ud800-\udfff]")
_MOVED = "the file was removed or replaced while the store was open: open the store again, or restart the program"


class Sqlite(Store):
    """A store in one file."""

    _kind = "sqlite"

    def __init__(self, path: str, clock: Callable[[], float] | None = None) -> None:
        self._path = path
        self._place = os.path.abspath(path)
        """The absolute path, since the program may change its folder."""
        self._read_only = False
        self._file: tuple[int, int] | None = None
        """The device and inode of the open file; `None` in memory."""
        super().__init__(f"sqlite:///{path}", clock)

    def _connect(self) -> sqlite3.Connection:
        if sqlite3.sqlite_version_info < _OLDEST:
            needed = ".".join(map(str, _OLDEST))
            raise StoreError(self.url, f"this Python has SQLite {sqlite3.sqlite_version}, and {needed} is needed")
        name = self._path
        if name != ":memory:":
            _create(name, self.url)
            folder = os.path.dirname(self._place)
            self._read_only = not (os.access(name, os.W_OK) and os.access(folder, os.W_OK))
            name = Path(self._place).as_uri() + ("?mode=ro" if self._read_only else "")
        self._file = self._found()
        with self._errors():
            return sqlite3.connect(
                name,
                uri=name != ":memory:",
                timeout=0,
                isolation_level=None,
                check_same_thread=False,
                cached_statements=64,
            )

    def _set_up(self) -> None:
        if self._read_only:
            return
        for pragma in (
            f"page_size = {_PAGE_BYTES}",
            "synchronous = EXTRA",
            "fullfsync = ON",
            "secure_delete = ON",
            f"journal_size_limit = {_JOURNAL_BYTES}",
        ):
            self._rows(f"PRAGMA {pragma}")
        if self._rows("PRAGMA journal_mode") not in ([("memory",)], [("persist",)]):
            self._try_mode("persist")

    def _try_mode(self, mode: str) -> None:
        """Set the journal mode, unless another program locks the file."""
        with suppress(StoreBusy):
            self._rows(f"PRAGMA journal_mode = {mode}")

    def _found(self) -> tuple[int, int] | None:
        """Return the device and inode of the file at the path of the store; `None` if there is none."""
        try:
            found = os.stat(self._place)
        except (OSError, ValueError):
            return None
        return found.st_dev, found.st_ino

    def _begin(self, *, alone: bool) -> None:  # noqa: ARG002  # a writer is always alone
        if self._read_only:
            raise StoreError(self.url, _READ_ONLY)
        if self._file != self._found():
            raise StoreError(self.url, _MOVED)
        self._rows("BEGIN IMMEDIATE")
        self._wait_for_others(store.longest_wait())  # A commit waits for readers.

    def _begin_reading(self) -> None:
        self._rows("BEGIN")
        self._rows("SELECT version FROM brim_store")  # From here on nobody else can commit.

    def _wait_for_others(self, seconds: float) -> None:
        """Set how long each statement waits for a lock; outside a transaction, `Store` does the waiting."""
        self._rows(f"PRAGMA busy_timeout = {int(seconds * 1_000)}")

    def _commit(self) -> None:
        self._rows("COMMIT")

    def _ended(self) -> None:
        self._wait_for_others(0)

    def _column(self, text: str) -> str | bytes:
        """Return a text unchanged, so that people can read it, or compressed if it is long.

        SQLite rejects lone surrogates, so a text with one is written as bytes.
        """
        content = text.encode("utf-8", "surrogatepass")
        if len(content) > _LONG:
            return zlib.compress(content)
        return text if text.isascii() or _HALF.search(text) is None else content

    def _run(self, statement: str, values: Sequence[Any]) -> tuple[list[Row], int]:
        with self._errors():
            cursor = self._connection.execute(statement, values)
            return cursor.fetchall(), cursor.rowcount

    def _each(self, statement: str, values: Iterable[Sequence[Any]]) -> None:
        with self._errors():
            self._connection.executemany(statement, values)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Raise every error of SQLite as a `StoreError`; it may find damage with any row and any statement."""
        try:
            yield
        except (sqlite3.Error, OverflowError) as error:
            raise self._error(error) from error

    def _inside(self) -> bool:
        return bool(self._connection.in_transaction)

    def _is_store(self) -> bool:
        names = {name for (name,) in self._rows("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if names and "brim_store" not in names:
            tables = ", ".join(sorted(names)[:3])
            raise StoreError(self.url, f"it is not a brim store: it has tables of another program ({tables})")
        return bool(names)

    def _add_words(self, entries: Sequence[tuple[int, list[str]]]) -> None:
        rows = [(place, _line(words)) for place, words in entries]
        self._each("INSERT INTO brim_words (rowid, words) VALUES (?, ?)", rows)

    def _having(self, word: str, within: Range, *, prefix: bool = False) -> list[int]:
        quoted = '"' + word.replace('"', '""') + ('"*' if prefix else '"')
        statement = "SELECT rowid FROM brim_words WHERE brim_words MATCH ? AND rowid BETWEEN ? AND ?"
        return [row[0] for row in self._rows(statement, (quoted, *within))]

    def _forget_words(self, logs: Sequence[Range]) -> None:
        """Erase logs from the index, which needs their words, since it does not store the texts."""
        kinds = ", ".join(repr(kind) for kind in (*INDEXED, DROPPED))
        statement = f"SELECT place, kind, body FROM brim_entries WHERE place > ? AND place < ? AND kind IN ({kinds})"
        for log in logs:
            with self._errors():
                rows = self._connection.execute(statement, log)  # Read one by one: a log may be large.
                self._connection.executemany(
                    "INSERT INTO brim_words (brim_words, rowid, words) VALUES ('delete', ?, ?)",
                    ((place, _line(index_words(kind, decode_body(self.url, body)))) for place, kind, body in rows),
                )
        if logs:  # Removed words stay in the file until the index is merged.
            self._rows("INSERT INTO brim_words (brim_words) VALUES ('optimize')")

    def _tidy(self) -> None:
        """Empty the journal, which contains the deleted pages."""
        self._wait_for_others(store.longest_wait())
        self._try_mode("delete")
        self._try_mode("persist")
        self._wait_for_others(0)

    def _disconnect(self) -> None:
        """Close the file and remove its journal, which another reader of the file may not be allowed to read."""
        if not self._read_only and self._path != ":memory:" and not self._inside():
            with suppress(StoreError):
                self._try_mode("delete")
        with self._errors():
            super()._disconnect()

    def _error(self, error: Exception) -> StoreError:
        """Return an error with advice."""
        advice = _ADVICE.get(_name(error), "") if self._file == self._found() else _MOVED
        advice = advice.format(seconds=store.longest_wait())
        kind = StoreBusy if _name(error) == "SQLITE_BUSY" else StoreError
        return kind(self.url, f"{advice} ({error})" if advice else f"SQLite says: {error}")


class MemoryStore(Sqlite):
    """A store in memory, for tests."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        """Open an empty store.

        Args:
            clock: returns the time in seconds since 1970.
        """
        super().__init__(":memory:", clock)


def _line(words: Iterable[str]) -> str:
    """Return the text that is indexed: each word once, since frequencies are not indexed."""
    return " ".join(dict.fromkeys(words))


def _name(error: Exception) -> str:
    """Return the name of an error without its extended code."""
    return "_".join(str(getattr(error, "sqlite_errorname", "")).split("_")[:2])


def _create(path: str, url: str) -> None:
    """Create the file if it is missing, readable only by its owner."""
    try:
        try:
            descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
        except FileExistsError:
            return
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
            url, f"it cannot be created: {problem}; does the folder exist, and can you write to it?"
        ) from error
