"""The store that SQLite and PostgreSQL share: what is written, and what is refused.

Each method is one transaction, and inside of `transaction()` a savepoint of it, so that a refused call leaves nothing
behind.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from brim.errors import Conflict, InvalidValue, StoreError
from brim.store.base import CONTINUATION, META, Body, LogEntry, Purged, Saved, SessionRow
from brim.store.body import (
    LONGEST_RUN,
    LaterBodies,
    check_name,
    check_time,
    check_whole,
    decode_bodies,
    decode_body,
    encode_body,
    encode_run,
    json_bytes,
    run_length,
)
from brim.store.database import Row
from brim.store.packed import pack
from brim.store.repeats import AT_OR_BEFORE, LOG
from brim.store.texts import TextStore

_EMPTY = encode_body("meta", {})
_ALL = 2**62
_FREQUENT = frozenset(("message", "meta", "prompt", "usage"))
"""The kinds that are not indexed: of all others there are few."""
_RARE = f" AND e.kind NOT IN ({', '.join(repr(kind) for kind in sorted(_FREQUENT))})"
_ENTRIES = (
    # Subqueries, and no join: PostgreSQL then reads in the order of places, and ends at the limit.
    "WITH s AS (SELECT key, last, noted FROM brim_sessions WHERE id = ?) SELECT e.place, e.kind, e.at, e.body, "
    f"(SELECT last FROM s), (SELECT noted FROM s) FROM brim_entries e "
    f"WHERE e.place > (SELECT key * {LOG} FROM s) AND e.place < (SELECT (key + 1) * {LOG} FROM s)"
)
"""The rows of a session, each with the number of its last entry and of its newest `meta`."""
_AFTER = f" AND e.place >= {AT_OR_BEFORE.replace('?', f'(SELECT key * {LOG} FROM s) + ?')}"
"""From the row on that has an entry."""
_MESSAGE = "message"
_RUN_BYTES = 4_096
"""Bytes of the messages of one call that are written in one row."""


class SqlStore(TextStore):
    """A store over one connection to a database, shared by the threads of a process."""

    def append(self, session: str, entries: Iterable[tuple[str, Body]], *, after: int | None = None) -> int:
        """Write entries at the end of a session's log, all or none, and return the last number."""
        check_name("session", session)
        if after is not None:
            check_whole("after", after)
        written = [
            (check_name(f"entries[{i}].kind", kind), json_bytes(f"entries[{i}].body", body))
            for i, (kind, body) in enumerate(entries)
        ]
        with self.transaction():
            if not written:
                found = self._rows("SELECT last FROM brim_sessions WHERE id = ?", [session])
                return self._check_last(session, after, int(found[0][0]) if found else 0)
            now = self._now()
            key, last = self._touch(session, now)
            self._check_last(session, after, last)
            rows = [
                (key * LOG + last + at, kind, now, b"" if kind == META else encode_run(run))
                for at, kind, run in _runs(written)
            ]
            self._empty_older(key, written)
            self._each("INSERT INTO brim_entries (place, kind, at, body) VALUES (?, ?, ?, ?)", rows)
            metas = [(number, body) for number, (kind, body) in enumerate(written, start=last + 1) if kind == META]
            last += len(written)
            if metas:
                noted, meta = metas[-1]
                values = (last, noted, pack(meta), key)
                self._rows("UPDATE brim_sessions SET last = ?, noted = ?, meta = ? WHERE key = ?", values)
            else:
                self._rows("UPDATE brim_sessions SET last = ? WHERE key = ?", (last, key))
            return last

    def _empty_older(self, key: int, written: Sequence[tuple[str, bytes]]) -> None:
        """Remove the body of the last continuation, if a newer one is written."""
        if any(kind == CONTINUATION for kind, _ in written):
            self._rows(
                "UPDATE brim_entries SET body = ? WHERE place = (SELECT max(e.place) FROM brim_entries e "
                f"WHERE e.kind = '{CONTINUATION}'{_RARE} AND e.place > ? AND e.place < ?)",
                (b"", key * LOG, (key + 1) * LOG),
            )

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
        start = min(check_whole("after", after), LOG - 1)
        most = _ALL if limit is None else check_whole("limit", limit)
        if chosen == [META] and newest and most == 1:
            found = self._newest_meta(session, start)
        elif chosen is not None and META in chosen:  # Most have no row, so what they follow is read too.
            found = [entry for entry in self._logged(session, start, _ALL, later) if entry.kind in chosen]
        elif chosen is not None:
            among = f" AND e.kind IN ({', '.join('?' * len(chosen))}){_RARE if _FREQUENT.isdisjoint(chosen) else ''}"
            rows = self._ordered(session, start, most, among, chosen, newest=newest)
            found = self._unfolded(session, rows, later)
        else:
            found = self._logged(session, start, most, later, newest=newest)
        if found and found[0].number <= start:
            found = [entry for entry in found if entry.number > start]
        return found[max(0, len(found) - most) :] if newest else found[:most]

    def _ordered(
        self, session: str, start: int, most: int, among: str = "", kinds: Sequence[str] = (), *, newest: bool
    ) -> list[Row]:
        """Return the first or the newest rows of a session, and one more: the first may end before the start."""
        values = [session, *([start] if start else ()), *kinds, min(_ALL, most + 1)]
        order = f"ORDER BY e.place {'DESC' if newest else 'ASC'} LIMIT ?"
        rows = self._read(f"{_ENTRIES}{_AFTER if start else ''}{among} {order}", values)
        return rows[::-1] if newest else rows

    def _unfolded(self, session: str, rows: Sequence[Row], later: Collection[str]) -> list[LogEntry]:
        """Return the entries of rows; those without a body have an empty one."""
        told = [bytes(row[3]) for row in rows if row[3] and row[1] not in later]
        bodies = iter(decode_bodies(self.url, told))
        waiting = iter(LaterBodies(self.url, [bytes(row[3]) for row in rows if row[3] and row[1] in later]))
        return [
            LogEntry(session, number, kind, at, next(waiting if kind in later else bodies) if body else {})
            for place, kind, at, body, _, _ in rows
            for number in range(place % LOG, place % LOG + run_length(bytes(body)))
        ]

    def _logged(
        self, session: str, start: int, most: int, later: Collection[str], *, newest: bool = False
    ) -> list[LogEntry]:
        """Return entries of all kinds: an entry without a row is a `meta` that was written with the one before it."""
        rows = self._ordered(session, start, most, newest=newest)
        if not rows:
            return []
        found, (last, noted) = self._unfolded(session, rows, later), rows[0][4:]
        ends = newest or len(rows) <= most
        if len(found) < (last if ends else found[-1].number) - found[0].number + 1:
            found = _with_metas(found, last if ends else found[-1].number)
        at = noted - found[0].number
        if 0 <= at < len(found) and found[at].kind == META and not found[at].body:
            found[at] = found[at]._replace(body=self._meta(session, noted))
        return found

    def _newest_meta(self, session: str, start: int) -> list[LogEntry]:
        """Return the newest `meta` of a session, if its number is above one."""
        among = f" AND e.place <= (SELECT key * {LOG} + noted FROM s)"
        rows = self._read(f"{_ENTRIES}{among} ORDER BY e.place DESC LIMIT 1", [session])
        return [LogEntry(session, row[5], META, row[2], self._meta(session, row[5])) for row in rows if row[5] > start]

    def _meta(self, session: str, number: int) -> Body:
        """Return the body of the `meta` with a number; it is empty if there is a newer one."""
        found = self._read("SELECT meta FROM brim_sessions WHERE id = ? AND noted = ?", (session, number))
        return decode_body(self.url, found[0][0]) if found else {}

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
        gone = self._rows(f"SELECT key, last FROM brim_sessions WHERE {which}", values)
        texts = 0
        for key, _ in gone:
            texts += self._let_go(key)
            run("DELETE FROM brim_entries WHERE place > ? AND place < ?", (key * LOG, (key + 1) * LOG))
            run("DELETE FROM brim_sessions WHERE key = ?", [key])
        self._forget_words(texts)
        saved = done = 0
        if before is not None:
            saved = sum(run("DELETE FROM brim_documents WHERE kind = ? AND at < ?", (kind, before)) for kind in kinds)
            done = run("DELETE FROM brim_jobs WHERE done < ?", [before])
        entries = sum(last for _, last in gone)
        return Purged(sessions=len(gone), entries=entries, texts=texts, documents=saved, jobs=done)

    def _forget_words(self, texts: int) -> None:
        """Remove the words of so many texts that were removed from the disk; PostgreSQL does so itself."""

    def _tidy(self) -> None:
        """Remove what a purge deleted from the disk; PostgreSQL does so itself."""


def _runs(written: Sequence[tuple[str, bytes]]) -> Iterator[tuple[int, str, list[bytes]]]:
    """Yield the rows of entries: the first, counted from 1, its kind and the JSON of those in it.

    Short messages that follow each other are one row. A `meta` has none, unless it is the first.
    """
    first, size, run = 0, 0, list[bytes]()
    for at, (kind, body) in enumerate(written, start=1):
        if run and (kind != _MESSAGE or size + len(body) > _RUN_BYTES or len(run) == LONGEST_RUN):
            yield first, _MESSAGE, run
            run = []
        if kind == _MESSAGE:
            first, size = (first, size + len(body)) if run else (at, len(body))
            run.append(body)
        elif kind != META or at == 1:
            yield at, kind, [body]
    if run:
        yield first, _MESSAGE, run


def _with_metas(found: list[LogEntry], last: int) -> list[LogEntry]:
    """Return entries up to the last number, with each `meta` that has no row."""
    made, before = list[LogEntry](), found[0]
    for entry in [*found, before._replace(number=last + 1)]:
        missing = range(before.number + 1, entry.number)
        made += [LogEntry(before.session, number, META, before.at, {}) for number in missing]
        made.append(entry)
        before = entry
    return made[:-1]
