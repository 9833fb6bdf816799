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
from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import nsmallest
from math import log as log_of
from typing import Any

from brim.errors import StoreError
from brim.store.base import RepeatedText
from brim.store.body import decode_text, encode_handle
from brim.store.repeated_text import decode_repeated
from brim.store.repeats import LOG, TextRow
from brim.store.schema import VERSIONS, Version
from brim.store.sql import SqlStore
from brim.store.texts import FoundText
from brim.store.words import ranked, text_words

_OLDEST = (3, 35, 0)
"""The first version that has everything the store uses."""
_FIXED = {(3, 44): (3, 44, 6), (3, 50): (3, 50, 7)}
"""Older release lines with a fix of the WAL-reset bug, and the first fixed version of each."""
_FIXED_SINCE = (3, 51, 3)

BUSY_SECONDS = 10.0
"""Seconds that a writer waits for another."""
_POLL_SECONDS = 0.002
_RANKED = 100
"""Texts of a search that are read to be ranked, at the least."""
_PAGE_BYTES = 1_024
"""Bytes of a page of a new file. Most rows are shorter, and a table without rows takes a page."""
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
    _reading = "BEGIN"
    _holds = "instr(texts, ?) > 0"

    def __init__(self, path: str, clock: Callable[[], float] | None = None) -> None:
        self._path = path
        self._place = os.path.abspath(path)
        """The path for a program that changes its folder."""
        self._fresh = False
        self._wary = False
        """Whether this SQLite has the WAL-reset bug, and the file must have no write-ahead log."""
        self._file: tuple[int, int] | None = None
        """The device and the number of the file that is open; `None` in memory."""
        self._stale = False
        """Whether words of texts that were removed cannot be told, so that all have to be indexed again."""
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
            f"page_size = {_PAGE_BYTES}",
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

    def _migrate(self, versions: tuple[Version, ...] = VERSIONS) -> None:
        checksums: dict[int, int] = {}

        def terms(text_id: int, body: bytes) -> str:
            words = _line(text_words(decode_text(self.url, body)))
            checksums[text_id] = _checksum(words)
            return words

        self._connection.create_function("brim_handle", 1, encode_handle)
        self._connection.create_function("brim_terms", 2, terms)
        self._connection.create_function("brim_checksum", 1, checksums.get)
        super()._migrate(versions)

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
        rows = [(text_id, _line(words)) for text_id, words in texts]
        self._each("INSERT INTO brim_words (rowid, words) VALUES (?, ?)", rows)
        checksums = [(_checksum(words), text_id) for text_id, words in rows]
        self._each("UPDATE brim_texts SET words = ? WHERE id = ?", checksums)

    def _index_repeated(self, rows: Sequence[TextRow]) -> None:
        indexed, written = [], []
        for row in rows:
            known, words = _line(row.known), _line(row.words)
            # Words are added to those of the row, unless another version of Python or brim has found others.
            had = set(row.known)
            indexed.append((row.place, _line(word for word in row.words if word not in had)))
            written.append((row.place, row.texts, _checksum(words), _checksum(known)))
        self._each("INSERT INTO brim_words (rowid, words) VALUES (?, ?)", indexed)
        self._each(
            "INSERT INTO brim_repeats (place, texts, words) VALUES (?, ?, ?) ON CONFLICT (place) DO UPDATE "
            "SET texts = excluded.texts, words = CASE words WHEN ? THEN excluded.words END",
            written,
        )

    def _hits(self, words: list[str], key: int | None, limit: int) -> list[FoundText]:
        """Choose texts by which words they have, rare ones first, and rank those by how often they have them."""
        among: list[tuple[str, list[int]]] = [("", [])]
        counts: list[tuple[str, list[int]]] = [("brim_texts", []), ("brim_repeats", [])]
        if key is not None:
            log = [key * LOG, (key + 1) * LOG]
            among = [(" AND rowid IN (SELECT text FROM brim_kept WHERE session = ?)", [key])]
            among.append((" AND rowid > ? AND rowid < ?", log))
            counts = [("brim_kept WHERE session = ?", [key]), ("brim_repeats WHERE place > ? AND place < ?", log)]
        total = sum(self._rows(f"SELECT count(*) FROM {where}", values)[0][0] for where, values in counts)
        scores, rarity = dict[int, float](), dict[str, float]()
        for word in words:
            having = [
                row[0]
                for own, values in among
                for row in self._rows(
                    f"SELECT rowid FROM brim_words WHERE brim_words MATCH ?{own}", [_quoted(word), *values]
                )
            ]
            rarity[word] = log_of(1 + (total - len(having) + 0.5) / (len(having) + 0.5))
            for text_id in having:
                scores[text_id] = scores.get(text_id, 0.0) + rarity[word]
        chosen = nsmallest(max(limit, _RANKED), scores, key=lambda text_id: (-scores[text_id], text_id))
        read = self._found_texts([text_id for text_id in chosen if text_id < LOG])
        read += self._found_repeated([text_id for text_id in chosen if text_id > LOG])
        found = [each for _, each in read]
        ranks = ranked([each.text for each in found], rarity)
        return [each._replace(rank=rank) for each, rank in zip(found, ranks, strict=True) if rank > 0]

    def _forget_repeated(self, rows: Sequence[tuple[int, Sequence[RepeatedText]]]) -> None:
        words: dict[int, list[str]] = {place: [] for place, _ in rows}
        try:
            for place, _, text in self._read_repeated(rows):
                words[place] += text_words(text)
        except StoreError:  # Another program has changed entries; the texts go all the same.
            self._stale = True
        marks = ", ".join("?" * len(rows))
        checksums: dict[int, int | None] = dict(
            self._rows(f"SELECT place, words FROM brim_repeats WHERE place IN ({marks})", [*words])
        )
        self._take_out({place: (_line(each), checksums[place]) for place, each in words.items()})

    def _remove(self, ids: Sequence[int]) -> None:
        marks = ", ".join("?" * len(ids))
        found = self._rows(f"SELECT id, words, body FROM brim_texts WHERE id IN ({marks})", ids)
        texts = self._texts([body for _, _, body in found])
        known = {row[0]: (_line(text_words(text)), row[1]) for row, text in zip(found, texts, strict=True)}
        super()._remove(ids)
        self._take_out(known)

    def _take_out(self, texts: Mapping[int, tuple[str, int | None]]) -> None:
        """Remove words from the index by the ids of their texts, each with the checksum of what was indexed."""
        self._stale = self._stale or any(_checksum(words) != checksum for words, checksum in texts.values())
        if not self._stale:
            take_out = "INSERT INTO brim_words (brim_words, rowid, words) VALUES ('delete', ?, ?)"
            self._each(take_out, [(text_id, words) for text_id, (words, _) in texts.items()])

    def _forget_words(self, texts: int) -> None:
        if self._stale:
            self._stale = False
            self._index_again()
        elif texts:
            # An index forgets a word when it is merged; until then the word can be read in the file.
            self._rows("INSERT INTO brim_words (brim_words) VALUES ('optimize')")

    def _index_again(self) -> None:
        """Index all texts anew: another version of Python or brim may have found other words in some of them."""
        self._rows("INSERT INTO brim_words (brim_words) VALUES ('delete-all')")
        for (text_id,) in self._rows("SELECT id FROM brim_texts"):
            ((body,),) = self._rows("SELECT body FROM brim_texts WHERE id = ?", [text_id])
            self._index([(text_id, text_words(self._texts([body])[0]))])
        for place, texts in self._rows("SELECT place, texts FROM brim_repeats"):
            named = [(place, decode_repeated(place % LOG, texts))]
            words = _line([word for _, _, text in self._read_repeated(named) for word in text_words(text)])
            self._rows("INSERT INTO brim_words (rowid, words) VALUES (?, ?)", (place, words))
            self._rows("UPDATE brim_repeats SET words = ? WHERE place = ?", (_checksum(words), place))

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


def _line(words: Iterable[str]) -> str:
    """Return words as they are indexed: each once, since only which texts have a word is."""
    return " ".join(dict.fromkeys(words))


def _quoted(word: str) -> str:
    return '"' + word.replace('"', '""') + '"'


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
