"""The store that SQLite and PostgreSQL share: what is written, and what is refused.

Each method is one transaction, and inside of `transaction()` a savepoint of it, so that a refused call leaves nothing
behind.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from brim.errors import Conflict, InvalidValue, StoreError
from brim.store.base import META, Body, LogEntry, Purged, Saved, SessionRow
from brim.store.body import (
    LaterBodies,
    check_name,
    check_time,
    check_whole,
    decode_bodies,
    decode_body,
    encode_body,
)
from brim.store.texts import LOG, TextStore

_EMPTY = encode_body("meta", {})
_ALL = 2**62
_FREQUENT = frozenset(("ahead", "message", "meta", "prompt", "usage"))
"""The kinds that are not indexed: of all others there are few."""
_RARE = f" AND e.kind NOT IN ({', '.join(repr(kind) for kind in sorted(_FREQUENT))})"
_ENTRIES = (
    # Subqueries, and no join: PostgreSQL then reads in the order of places, and ends at the limit.
    "WITH s AS (SELECT key, noted, meta FROM brim_sessions WHERE id = ?) SELECT e.place, e.kind, e.at, "
    f"CASE WHEN e.kind <> '{META}' OR length(e.body) > 0 THEN e.body "
    f"WHEN e.place = (SELECT key * {LOG} + noted FROM s) THEN (SELECT meta FROM s) END "
    f"FROM brim_entries e WHERE e.place > (SELECT key * {LOG} FROM s) + ? "
    f"AND e.place < (SELECT (key + 1) * {LOG} FROM s)"
)
"""The entries of a session after a number. The body of the newest `meta` is in the row of its session."""


class SqlStore(TextStore):
    """A store over one connection to a database, shared by the threads of a process."""

    def append(self, session: str, entries: Iterable[tuple[str, Body]], *, after: int | None = None) -> int:
        """Write entries at the end of a session's log, all or none, and return the last number."""
        check_name("session", session)
        if after is not None:
            check_whole("after", after)
        written = [
            (check_name(f"entries[{i}].kind", kind), encode_body(f"entries[{i}].body", body))
            for i, (kind, body) in enumerate(entries)
        ]
        with self.transaction():
            if not written:
                found = self._rows("SELECT last FROM brim_sessions WHERE id = ?", [session])
                return self._check_last(session, after, int(found[0][0]) if found else 0)
            now = self._now()
            key, last = self._touch(session, now)
            self._check_last(session, after, last)
            rows, noted, meta = [], 0, b""
            for number, (kind, body) in enumerate(written, start=last + 1):
                if kind == META:
                    noted, meta = number, body
                rows.append((key * LOG + number, kind, now, b"" if kind == META else body))
            self._each("INSERT INTO brim_entries (place, kind, at, body) VALUES (?, ?, ?, ?)", rows)
            last += len(written)
            self._rows("UPDATE brim_sessions SET last = ? WHERE key = ?", (last, key))
            if noted:
                self._rows("UPDATE brim_sessions SET noted = ?, meta = ? WHERE key = ?", (noted, meta, key))
            return last

    def _touch(self, session: str, now: float) -> tuple[int, int]:
        """Create a session if needed and lock its row, so that others wait; return its key and the last number."""
        # An INSERT that meets a row takes a new key in PostgreSQL, and gives it up.
        found = self._rows("UPDATE brim_sessions SET updated = ? WHERE id = ? RETURNING key, last", (now, session))
        if not found:
            found = self._rows(
                "INSERT INTO brim_sessions (id, created, updated, last, noted, meta) VALUES (?, ?, ?, 0, 0, ?) "
                "ON CONFLICT (id) DO UPDATE SET updated = excluded.updated RETURNING key, last",
                (session, now, now, _EMPTY),
            )
        return int(found[0][0]), int(found[0][1])

    def _check_last(self, session: str, after: int | None, last: int) -> int:
        """Return the last number, if it is the one that the writer expects."""
        if after is not None and after != last:
            raise Conflict(self.url, f"the log of session {session!r}", expected=after, found=last)
        return last

    def entries(
        self,
        session: str,
        *,
        kinds: Sequence[str] | None = None,
        after: int = 0,
        limit: int | None = None,
        newest: bool = False,
        later: Collection[str] = (),
    ) -> list[LogEntry]:
        """Return the entries of a session in their order, of these kinds, with numbers above `after`.

        Of more than `limit` the first are returned, or the last if `newest`. The bodies of the kinds `later` are
        decoded when one of them is used.
        """
        check_name("session", session)
        chosen = None if kinds is None else [check_name("kinds", kind) for kind in dict.fromkeys(kinds)]
        if chosen == []:
            return []
        among = ""
        if chosen is not None:
            among = f" AND e.kind IN ({', '.join('?' * len(chosen))}){_RARE if _FREQUENT.isdisjoint(chosen) else ''}"
        rows = self._read(
            f"{_ENTRIES}{among} ORDER BY e.place {'DESC' if newest else 'ASC'} LIMIT ?",
            (
                session,
                min(check_whole("after", after), LOG - 1),
                *(chosen or ()),
                _ALL if limit is None else check_whole("limit", limit),
            ),
        )
        bodies = iter(decode_bodies(self.url, [row[3] for row in rows if row[3] is not None and row[1] not in later]))
        waiting = iter(LaterBodies(self.url, [row[3] for row in rows if row[1] in later]))
        found = [
            LogEntry(session, place % LOG, kind, at, {} if body is None else next(waiting if kind in later else bodies))
            for place, kind, at, body in rows
        ]
        return found[::-1] if newest else found

    def sessions(self, *, limit: int = 100, before: float | SessionRow | None = None) -> list[SessionRow]:
        """Return sessions, the last written first."""
        where, values = "", ()  # type: tuple[str, tuple[Any, ...]]
        if isinstance(before, SessionRow):
            where = " WHERE updated < ? OR (updated = ? AND id > ?)"
            values = (before.updated, before.updated, before.id)
        elif before is not None:
            where, values = " WHERE updated < ?", (check_time("before", before),)
        rows = self._read(
            f"SELECT id, created, updated, last, meta FROM brim_sessions{where} ORDER BY updated DESC, id LIMIT ?",
            (*values, check_whole("limit", limit)),
        )
        return [SessionRow(row[0], row[1], row[2], row[3], decode_body(self.url, row[4])) for row in rows]

    def save(self, kind: str, id: str, body: Body, *, version: int) -> int:
        """Write a document that was at `version`, 0 for a new one, and return its new version."""
        check_name("kind", kind)
        check_name("id", id)
        check_whole("version", version)
        content = encode_body("body", body)
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
            raise InvalidValue("purge", None, "given a time (before=) or a session (session=)")
        kinds = [check_name("documents", kind) for kind in documents]
        with self._lock:
            if self._depth:
                raise StoreError(self.url, "a purge cannot be part of a transaction: purge before or after it")
            with self._transaction(alone=True):
                purged = self._purge(" AND ".join(wanted), values, before, kinds)
            self._tidy()
        return purged

    def _purge(self, which: str, values: list[Any], before: float | None, kinds: list[str]) -> Purged:
        run = self._changed
        keys = [int(row[0]) for row in self._rows(f"SELECT key FROM brim_sessions WHERE {which}", values)]
        entries = texts = 0
        for key in keys:
            texts += self._let_go(key)
            log = (key * LOG, (key + 1) * LOG)
            entries += run("DELETE FROM brim_entries WHERE place > ? AND place < ?", log)
            run("DELETE FROM brim_sessions WHERE key = ?", [key])
        self._forget_words(texts)
        saved = done = 0
        if before is not None:
            saved = sum(run("DELETE FROM brim_documents WHERE kind = ? AND at < ?", (kind, before)) for kind in kinds)
            done = run("DELETE FROM brim_jobs WHERE done < ?", [before])
        return Purged(sessions=len(keys), entries=entries, texts=texts, documents=saved, jobs=done)

    def _forget_words(self, texts: int) -> None:
        """Remove the words of so many texts that were removed from the disk; PostgreSQL does so itself."""

    def _tidy(self) -> None:
        """Remove what a purge deleted from the disk; PostgreSQL does so itself."""
