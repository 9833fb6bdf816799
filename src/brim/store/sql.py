"""The store that SQLite and PostgreSQL share: what is written, and what is refused.

Each method is one transaction, and inside of `transaction()` a savepoint of it, so that a refused call leaves nothing
behind.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from brim.errors import Conflict, InvalidValue, StoreError
from brim.store.base import META, Body, LogEntry, Purged, Saved, SearchHit, SessionRow
from brim.store.body import check_name, check_time, check_whole, decode_body, decode_text, encode_body, encode_text
from brim.store.jobs import JobStore
from brim.store.words import excerpt, query_words, text_words

UNKEPT = "SELECT id FROM brim_texts t WHERE NOT EXISTS (SELECT 1 FROM brim_kept k WHERE k.handle = t.handle)"
"""The texts that no session keeps."""
_KEPT = "brim_kept k WHERE k.handle = t.handle"
_OWN = f"EXISTS (SELECT 1 FROM {_KEPT} AND k.session = ?)"
"""Whether a session keeps the text `t`."""
_NO_META = encode_body("meta", {})
_ALL = 2**62
_ROWS = 200
"""Texts that one statement writes; SQLite has at most 999 values in one in old versions."""


class SqlStore(JobStore):
    """A store over one connection to a database, shared by the threads of a process."""

    _rank: str
    """The expression that ranks a text `t` by a query: higher is better."""
    _matching: str
    """The tables and the condition of the texts `t` that match a query, which is its one value."""

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
            last = self._check_last(session, after, self._touch(session, now))
            self._each(
                "INSERT INTO brim_entries (session, number, kind, at, body) VALUES (?, ?, ?, ?, ?)",
                [(session, last + i, kind, now, body) for i, (kind, body) in enumerate(written, start=1)],
            )
            last += len(written)
            self._rows("UPDATE brim_sessions SET last = ? WHERE id = ?", (last, session))
            metas = [body for kind, body in written if kind == META]
            if metas:
                self._rows("UPDATE brim_sessions SET meta = ? WHERE id = ?", (metas[-1], session))
            return last

    def _touch(self, session: str, now: float) -> int:
        """Create a session if needed and lock its row, so that others wait; return the last number of its log."""
        found = self._rows(
            "INSERT INTO brim_sessions (id, created, updated, last, meta) VALUES (?, ?, ?, 0, ?) "
            "ON CONFLICT (id) DO UPDATE SET updated = excluded.updated RETURNING last",
            (session, now, now, _NO_META),
        )
        return int(found[0][0])

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
    ) -> list[LogEntry]:
        """Return the entries of a session in their order, of these kinds, with numbers above `after`.

        Of more than `limit` the first are returned, or the last if `newest`.
        """
        check_name("session", session)
        chosen = None if kinds is None else [check_name("kinds", kind) for kind in dict.fromkeys(kinds)]
        if chosen == []:
            return []
        among = "" if chosen is None else f" AND kind IN ({', '.join('?' * len(chosen))})"
        rows = self._read(
            f"SELECT number, kind, at, body FROM brim_entries WHERE session = ? AND number > ?{among} "
            f"ORDER BY number {'DESC' if newest else 'ASC'} LIMIT ?",
            (
                session,
                check_whole("after", after),
                *(chosen or ()),
                _ALL if limit is None else check_whole("limit", limit),
            ),
        )
        found = [LogEntry(session, number, kind, at, decode_body(self.url, body)) for number, kind, at, body in rows]
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

    def keep(self, session: str, texts: Mapping[str, str]) -> None:
        """Keep texts by their handles for a session."""
        check_name("session", session)
        # All writers use one order: two that wait for each other's rows would wait for ever.
        given = [(check_name("handle", handle), texts[handle]) for handle in sorted(texts)]
        if not given:
            return
        with self.transaction():
            now = self._now()
            self._touch(session, now)
            for first in range(0, len(given), _ROWS):
                self._keep_some(given[first : first + _ROWS])
            self._each(
                "INSERT INTO brim_kept (session, handle, at) VALUES (?, ?, ?) "
                "ON CONFLICT (session, handle) DO UPDATE SET at = excluded.at",
                [(session, handle, now) for handle, _ in given],
            )

    def _keep_some(self, given: Sequence[tuple[str, str]]) -> None:
        """Write and index the texts that are new, and compare the others."""
        made: dict[str, int] = dict(
            self._rows(
                f"INSERT INTO brim_texts (handle, body) VALUES {', '.join(['(?, ?)'] * len(given))} "
                "ON CONFLICT (handle) DO NOTHING RETURNING handle, id",
                [value for handle, text in given for value in (handle, encode_text(text))],
            )
        )
        self._index([(made[handle], text_words(text)) for handle, text in given if handle in made])
        others = {handle: text for handle, text in given if handle not in made}
        if not others:
            return
        marks = ", ".join("?" * len(others))
        for handle, body in self._rows(f"SELECT handle, body FROM brim_texts WHERE handle IN ({marks})", [*others]):
            if decode_text(self.url, body) != others[handle]:
                raise InvalidValue("handle", handle, "the name of one text only; the store has another under it")

    def text(self, handle: str, *, session: str | None = None) -> str | None:
        """Return the text of a handle that a session keeps, or `None`."""
        values = [check_name("handle", handle)] + ([] if session is None else [check_name("session", session)])
        own = "" if session is None else f" AND {_OWN}"
        found = self._read(f"SELECT t.body FROM brim_texts t WHERE t.handle = ?{own}", values)
        return decode_text(self.url, found[0][0]) if found else None

    def search(self, query: str, *, session: str | None = None, limit: int = 20) -> list[SearchHit]:
        """Return the kept texts that share words with a query, the best first."""
        if session is not None:
            check_name("session", session)
        words = query_words(query)
        if not words or not check_whole("limit", limit):
            return []
        own = "" if session is None else f"AND {_OWN} "
        found = self._read(
            f"SELECT t.handle, t.body, (SELECT k.session FROM {_KEPT} ORDER BY k.at DESC, k.session LIMIT 1), "
            f"{self._rank} AS score FROM {self._matching} {own}"
            "ORDER BY score DESC, t.handle LIMIT ?",
            (self._query(words), *([] if session is None else [session]), limit),
        )
        return [
            SearchHit(handle, session or keeper, excerpt(decode_text(self.url, content), words), float(rank))
            for handle, content, keeper, rank in found
        ]

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
        rows = self._rows(f"SELECT id FROM brim_sessions WHERE {which}", values)
        entries = sum(run("DELETE FROM brim_entries WHERE session = ?", row) for row in rows)
        for row in rows:
            run("DELETE FROM brim_kept WHERE session = ?", row)
            run("DELETE FROM brim_sessions WHERE id = ?", row)
        texts = self._drop_unkept()
        saved = done = 0
        if before is not None:
            saved = sum(run("DELETE FROM brim_documents WHERE kind = ? AND at < ?", (kind, before)) for kind in kinds)
            done = run("DELETE FROM brim_jobs WHERE done < ?", [before])
        return Purged(sessions=len(rows), entries=entries, texts=texts, documents=saved, jobs=done)

    def _drop_unkept(self) -> int:
        """Remove the texts that no session keeps, and their words; return how many."""
        return self._changed(f"DELETE FROM brim_texts WHERE id IN ({UNKEPT})")

    def _tidy(self) -> None:
        """Remove what a purge deleted from the disk; PostgreSQL does so itself."""

    @abstractmethod
    def _index(self, texts: Sequence[tuple[int, list[str]]]) -> None:
        """Index texts, by their ids, by their words."""

    @abstractmethod
    def _query(self, words: list[str]) -> str:
        """Return the query for the texts that have one of the words."""
