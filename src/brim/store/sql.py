"""The methods of a store, in SQL that SQLite and PostgreSQL share.

Each method is one transaction, or a savepoint inside `transaction()`, so a call that fails changes nothing.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from brim.errors import Conflict, InvalidValue, StoreError
from brim.store.base import Body, LogEntry, Purged, Saved, SearchHit, SessionRow
from brim.store.database import LOG, RARE, Database, Row
from brim.store.texts import (
    DROPPED,
    HANDLE,
    INDEXED,
    SHORTEST,
    SHOWN,
    best_hits,
    handle_of,
    index_words,
    sent_message,
    texts_of,
    turn_text,
)
from brim.store.values import check_name, check_time, check_whole, decode_body
from brim.store.words import RANKED, query_words, rarest

_ALL = 2**62
_ROWS = 500
"""Entries that one statement reads; databases limit the number of values in a statement."""

_FREQUENT = frozenset(("message", "prompt", "usage"))

Range = tuple[int, int]
"""The first and the last place of a log, or of all."""


class SqlStore(Database):
    """A store over one connection to a database, shared by the threads of a process."""

    def append(
        self,
        session: str,
        entries: Iterable[tuple[str, Body]],
        *,
        after: int | None = None,
        since: float | None = None,
        at: float | None = None,
        meta: Body | None = None,
    ) -> int:
        """Write entries at the end of a session's log, all or none, and return the last number."""
        check_name("session", session)
        if after is not None:
            check_whole("after", after)
        given = [
            (check_name(f"entries[{i}].kind", kind), self._written(f"entries[{i}].body", body), body)
            for i, (kind, body) in enumerate(entries)
        ]
        about = None if meta is None else self._written("meta", meta)
        with self.transaction():
            if not given and about is None:
                found = self._rows("SELECT last FROM brim_sessions WHERE id = ?", [session])
                return self._check_last(session, after, int(found[0][0]) if found else 0)
            now = self._now()
            key, last, created = self._touch(session, now)
            if since is not None and created != since:  # It was purged, and another one begun.
                raise Conflict(self.url, f"the log of session {session!r}", expected=after or 0, found=last)
            self._check_last(session, after, last)
            first, when = key * LOG + last + 1, now if at is None else at
            self._each(
                "INSERT INTO brim_entries (place, kind, at, body) VALUES (?, ?, ?, ?)",
                [(place, kind, when, written) for place, (kind, written, _) in enumerate(given, start=first)],
            )
            self._index([(place, kind, body) for place, (kind, _, body) in enumerate(given, start=first)])
            last += len(given)
            if about is None:
                self._rows("UPDATE brim_sessions SET last = ? WHERE key = ?", (last, key))
            else:
                self._rows("UPDATE brim_sessions SET last = ?, meta = ? WHERE key = ?", (last, about, key))
            return last

    def _touch(self, session: str, now: float) -> tuple[int, int, float]:
        """Create a session if needed and lock its row; return its key, last number and time of creation."""
        # UPDATE first: in PostgreSQL, an INSERT on conflict wastes a key.
        told = "RETURNING key, last, created"
        found = self._rows(f"UPDATE brim_sessions SET updated = ? WHERE id = ? {told}", (now, session))
        if not found:
            found = self._rows(
                "INSERT INTO brim_sessions (id, created, updated, last, meta) VALUES (?, ?, ?, 0, ?) "
                f"ON CONFLICT (id) DO UPDATE SET updated = excluded.updated {told}",
                (session, now, now, self._written("meta", {})),
            )
        key, last, created = found[0]
        return int(key), int(last), float(created)

    def _check_last(self, session: str, after: int | None, last: int) -> int:
        """Check that the last number is the one that the writer expects, and return it."""
        if after is not None and after != last:
            raise Conflict(self.url, f"the log of session {session!r}", expected=after, found=last)
        return last

    def _index(self, entries: Sequence[tuple[int, str, Body]]) -> None:
        """Index entries by the words of their texts, and by the handles of the texts."""
        indexed = [(place, index_words(kind, body)) for place, kind, body in entries if kind in (*INDEXED, DROPPED)]
        if indexed:
            self._add_words(indexed)

    def entries(
        self,
        session: str,
        *,
        kinds: Sequence[str] | None = None,
        after: int = 0,
        limit: int | None = None,
        newest: bool = False,
    ) -> list[LogEntry]:
        """Return the entries of a session in their order, of these kinds, with numbers above `after`."""
        check_name("session", session)
        chosen = [] if kinds is None else [check_name("kinds", kind) for kind in dict.fromkeys(kinds)]
        start = min(check_whole("after", after), LOG - 1)
        most = _ALL if limit is None else check_whole("limit", limit)
        if kinds is not None and not chosen:
            return []
        among = f" AND kind IN ({_marks(chosen)})" if chosen else ""
        if chosen and _FREQUENT.isdisjoint(chosen):
            among += f" AND {RARE}"  # Then the index of kinds is used.
        # Subqueries instead of a join, so that PostgreSQL reads in the order of places and stops at the limit.
        rows = self._read(
            "WITH s AS (SELECT key FROM brim_sessions WHERE id = ?) SELECT place, kind, at, body FROM brim_entries "
            f"WHERE place > (SELECT key * {LOG} FROM s) + ? AND place < (SELECT (key + 1) * {LOG} FROM s)"
            f"{among} ORDER BY place {'DESC' if newest else 'ASC'} LIMIT ?",
            [session, start, *chosen, most],
        )
        return [self._entry(session, row) for row in (rows[::-1] if newest else rows)]

    def _entry(self, session: str, row: Row) -> LogEntry:
        place, kind, at, body = row
        return LogEntry(session, place % LOG, kind, at, decode_body(self.url, body))

    def sessions(self, *, limit: int = 100) -> list[SessionRow]:
        """Return sessions, the last written first."""
        return self._session_rows(" ORDER BY updated DESC, id LIMIT ?", [check_whole("limit", limit)])

    def session(self, session: str) -> SessionRow | None:
        """Return one session, or `None`."""
        found = self._session_rows(" WHERE id = ?", [check_name("session", session)])
        return found[0] if found else None

    def _session_rows(self, which: str, values: Sequence[Any]) -> list[SessionRow]:
        rows = self._read(f"SELECT id, created, updated, last, meta FROM brim_sessions{which}", values)
        return [SessionRow(row[0], row[1], row[2], row[3], decode_body(self.url, row[4])) for row in rows]

    def text(self, handle: str, *, session: str | None = None) -> str | None:
        """Return the text of a handle in the log of a session, or of any; `None` if there is none."""
        check_name("handle", handle)
        if session is not None:
            check_name("session", session)
        if not handle.startswith(HANDLE) or len(handle) < SHORTEST:
            return None
        with self._snapshot():
            within = self._places(session)
            if within is None:
                return None
            for row in self._at(self._having(handle[:SHOWN], within, prefix=len(handle) < SHOWN)):
                for text in self._texts(row[0], self._entry("", row)):
                    if handle_of(text).startswith(handle):
                        return text
        return None

    def _texts(self, place: int, entry: LogEntry) -> Iterator[str]:
        """Yield the texts of an entry; the text of a dropped turn is built from the entries of its messages."""
        if entry.kind != DROPPED:
            yield from texts_of(entry.kind, entry.body)
            return
        log = place - entry.number
        for numbers in entry.body.get("turns", {}).values():
            rows = self._at([log + number for number in numbers])
            yield turn_text([sent_message(self._entry("", row).body) for row in rows])

    def _at(self, places: Sequence[int]) -> list[Row]:
        """Return the rows of entries, in the order of their places."""
        found: list[Row] = []
        for first in range(0, len(places), _ROWS):
            some = places[first : first + _ROWS]
            found += self._rows(f"SELECT place, kind, at, body FROM brim_entries WHERE place IN ({_marks(some)})", some)
        return sorted(found)

    def _places(self, session: str | None) -> Range | None:
        """Return the places of the log of a session, or all; `None` if there is no such session."""
        if session is None:
            return 0, _ALL
        found = self._rows("SELECT key FROM brim_sessions WHERE id = ?", [session])
        return (int(found[0][0]) * LOG, int(found[0][0]) * LOG + LOG - 1) if found else None

    def search(self, query: str, *, session: str | None = None, limit: int = 20) -> list[SearchHit]:
        """Return the messages and texts that share words with a query, the best first.

        Entries with the rarest words are read, and ranked by BM25.
        """
        if session is not None:
            check_name("session", session)
        words = query_words(query)
        if not words or not check_whole("limit", limit):
            return []
        with self._snapshot():
            within = self._places(session)
            if within is None:
                return []
            which, own = (" WHERE id = ?", [session]) if session is not None else ("", [])
            total = int(self._rows(f"SELECT COALESCE(sum(last), 0) FROM brim_sessions{which}", own)[0][0])
            having = {word: self._having(word, within) for word in words}
            chosen, rarity = rarest(having, total, max(limit, RANKED))
            rows = self._at(chosen)
            keys = sorted({row[0] // LOG for row in rows})
            named = self._rows(f"SELECT key, id FROM brim_sessions WHERE key IN ({_marks(keys)})", keys) if keys else []
            names: dict[int, str] = dict(named)
        found = [self._entry(names[row[0] // LOG], row) for row in rows]
        return best_hits(sorted(found, key=lambda entry: (entry.at, entry.session)), rarity, limit)

    def save(self, kind: str, id: str, body: Body, *, version: int) -> int:
        """Write a document that was at `version`, 0 for a new one, and return its new version."""
        check_name("kind", kind)
        check_name("id", id)
        check_whole("version", version)
        content = self._written("body", body)
        with self.transaction():
            now = self._now()
            if version:
                statement = "UPDATE brim_documents SET version = version + 1, at = ?, body = ? "
                statement += "WHERE kind = ? AND id = ? AND version = ?"
                done = self._changed(statement, (now, content, kind, id, version))
            else:
                statement = "INSERT INTO brim_documents (kind, id, version, at, body) VALUES (?, ?, 1, ?, ?) "
                done = self._changed(statement + "ON CONFLICT DO NOTHING", (kind, id, now, content))
            if not done:
                found = self._rows("SELECT version FROM brim_documents WHERE kind = ? AND id = ?", (kind, id))
                at = int(found[0][0]) if found else 0
                raise Conflict(self.url, f"the {kind} {id!r}", expected=version, found=at)
            return version + 1

    def load(self, kind: str, id: str) -> Saved | None:
        """Return a document, or `None`."""
        found = self._read(
            "SELECT version, at, body FROM brim_documents WHERE kind = ? AND id = ?",
            (check_name("kind", kind), check_name("id", id)),
        )
        return Saved(kind, id, found[0][0], found[0][1], decode_body(self.url, found[0][2])) if found else None

    def ids(self, kind: str) -> list[str]:
        """Return the ids of all documents of a kind, sorted."""
        found = self._read("SELECT id FROM brim_documents WHERE kind = ? ORDER BY id", [check_name("kind", kind)])
        return [row[0] for row in found]

    def forget(self, kind: str, id: str) -> bool:
        """Remove a document; return whether there was one."""
        with self.transaction():
            statement = "DELETE FROM brim_documents WHERE kind = ? AND id = ?"
            return self._changed(statement, (check_name("kind", kind), check_name("id", id))) > 0

    def purge(
        self, *, before: float | None = None, session: str | None = None, documents: Sequence[str] = ()
    ) -> Purged:
        """Remove the sessions last written before a time, or one session, and return the counts."""
        wanted = ["id = ?"] if session is not None else []
        values: list[Any] = [check_name("session", session)] if session is not None else []
        if before is not None:
            wanted.append("updated < ?")
            values.append(check_time("before", before))
        if not wanted:
            raise InvalidValue("purge", None, "called with a time (before=) or a session (session=)")
        kinds = [check_name("documents", kind) for kind in documents]
        with self._lock:
            self._ready()
            if self._depth:
                raise StoreError(self.url, "a purge cannot be part of a transaction: purge before or after it")
        with self._transaction(alone=True):
            purged = self._purge(" AND ".join(wanted), values, before, kinds)
        with self._lock:
            self._tidy()
        return purged

    def _purge(self, which: str, values: list[Any], before: float | None, kinds: list[str]) -> Purged:
        run = self._changed
        gone = self._rows(f"SELECT key, last FROM brim_sessions WHERE {which}", values)
        for key, _ in gone:
            log = (key * LOG, (key + 1) * LOG)
            self._remove_words(*log)
            run("DELETE FROM brim_entries WHERE place > ? AND place < ?", log)
            run("DELETE FROM brim_sessions WHERE key = ?", [key])
        if gone:
            self._merge_words()
        saved = 0
        if before is not None:
            saved = sum(run("DELETE FROM brim_documents WHERE kind = ? AND at < ?", (kind, before)) for kind in kinds)
        return Purged(sessions=len(gone), entries=sum(last for _, last in gone), documents=saved)

    @abstractmethod
    def _add_words(self, entries: Sequence[tuple[int, list[str]]]) -> None:
        """Add the words of entries, given by place, to the index."""

    @abstractmethod
    def _having(self, word: str, within: Range, *, prefix: bool = False) -> list[int]:
        """Return the places of the entries with a word, or with a word that begins with it."""

    def _remove_words(self, first: int, last: int) -> None:
        """Remove the words of the entries between two places; PostgreSQL stores them in the row itself."""

    def _merge_words(self) -> None:
        """Erase removed words from the disk; PostgreSQL does so itself."""

    def _tidy(self) -> None:
        """Erase from the disk what a purge removed; PostgreSQL does so itself."""


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))
