"""A store of plain dictionaries, which the databases are compared with."""

from __future__ import annotations

import copy
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import log
from threading import RLock
from types import TracebackType
from typing import Self

from brim.errors import Conflict, InvalidValue, StoreError
from brim.store.base import Body, LogEntry, Purged, Saved, SearchHit, SessionRow
from brim.store.texts import entry_handle, handle_of, said, texts_of
from brim.store.values import check_name, check_time, check_whole, decode_body, encode_body
from brim.store.words import excerpt, query_words, text_words


@dataclass(slots=True)
class _Log:
    """One session."""

    created: float
    updated: float
    entries: list[tuple[str, float, str]] = field(default_factory=list)
    meta: str = "{}"


@dataclass(slots=True)
class _Tables:
    """Everything that is stored."""

    logs: dict[str, _Log] = field(default_factory=dict)
    documents: dict[tuple[str, str], tuple[int, float, str]] = field(default_factory=dict)


class DictionaryStore:
    """The oracle."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self.url = "memory"
        self._clock = clock
        self._lock = RLock()
        self._tables = _Tables()
        self._closed = False
        self._depth = 0

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Write everything inside together, or nothing of it."""
        with self._lock:
            self._ready()
            before = copy.deepcopy(self._tables)
            self._depth += 1
            try:
                yield
            except BaseException:
                self._tables = before
                raise
            finally:
                self._depth -= 1

    def _ready(self) -> None:
        if self._closed:
            raise StoreError(self.url, "the store is closed: open it again")

    def append(
        self,
        session: str,
        entries: Iterable[tuple[str, Body]],
        *,
        after: int | None = None,
        since: float | None = None,
        meta: Body | None = None,
    ) -> int:
        """Write entries at the end of a session's log, all or none, and return the last number."""
        check_name("session", session)
        given = [
            (check_name(f"entries[{i}].kind", kind), encode_body(f"entries[{i}].body", body))
            for i, (kind, body) in enumerate(entries)
        ]
        with self._lock:
            self._ready()
            known = self._tables.logs.get(session)
            last = len(known.entries) if known else 0
            if since is not None and (known is None or known.created != since):
                raise Conflict(self.url, f"the log of session {session!r}", expected=after or 0, found=last)
            if after is not None and check_whole("after", after) != last:
                raise Conflict(self.url, f"the log of session {session!r}", expected=after, found=last)
            if given or meta is not None:
                now = self._clock()
                written = self._touched(session, now)
                written.entries += [(kind, now, body) for kind, body in given]
                written.meta = written.meta if meta is None else encode_body("meta", meta)
            return last + len(given)

    def _touched(self, session: str, now: float) -> _Log:
        """Return a session that is written now."""
        found = self._tables.logs.setdefault(session, _Log(now, now))
        found.updated = now
        return found

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
        start = check_whole("after", after)
        most = None if limit is None else check_whole("limit", limit)
        with self._lock:
            self._ready()
            known = self._tables.logs.get(session)
            rows = list(enumerate(known.entries[start:], start=start + 1)) if known else []
        found = [
            LogEntry(session, number, kind, at, decode_body(self.url, body))
            for number, (kind, at, body) in rows
            if kinds is None or kind in kinds
        ]
        if newest and most is not None:
            return found[max(0, len(found) - most) :]
        return found[:most]

    def sessions(self, *, limit: int = 100, before: float | SessionRow | None = None) -> list[SessionRow]:
        """Return sessions, the last written first."""
        with self._lock:
            self._ready()
            rows = [
                SessionRow(session, row.created, row.updated, len(row.entries), decode_body(self.url, row.meta))
                for session, row in self._tables.logs.items()
            ]
        rows.sort(key=_order)
        if isinstance(before, SessionRow):
            rows = [row for row in rows if _order(row) > _order(before)]
        elif before is not None:
            rows = [row for row in rows if row.updated < check_time("before", before)]
        return rows[: check_whole("limit", limit)]

    def session(self, session: str) -> SessionRow | None:
        """Return one session, or `None`."""
        check_name("session", session)
        return next((row for row in self.sessions(limit=10**9) if row.id == session), None)

    def _said(self, session: str | None) -> list[LogEntry]:
        """Return the entries of a session, or of all, the oldest first."""
        rows = self.sessions(limit=10**9)
        found = [entry for row in rows if session in (None, row.id) for entry in self.entries(row.id)]
        return sorted(found, key=lambda entry: (entry.at, entry.session))

    def text(self, handle: str, *, session: str | None = None) -> str | None:
        """Return the text of a handle, or `None`."""
        check_name("handle", handle)
        if len(handle) < 8 or not handle.startswith("b2:"):
            return None
        found = (text for entry in self._said(session) for text in texts_of(entry.kind, entry.body))
        return next((text for text in found if text and handle_of(text).startswith(handle)), None)

    def search(self, query: str, *, session: str | None = None, limit: int = 20) -> list[SearchHit]:
        """Return the entries that share words with a query, the best first."""
        words = query_words(query)
        if session is not None:
            check_name("session", session)
        texts = {entry: said(entry.kind, entry.body) for entry in map(_hashable, self._said(session))}
        counts = {entry: Counter(text_words(text)) for entry, text in texts.items()}
        rare = {word: log(1 + len(counts) / (1 + sum(word in count for count in counts.values()))) for word in words}
        found = {
            entry_handle(entry.kind, entry.body): SearchHit(
                entry_handle(entry.kind, entry.body),
                entry.session,
                entry.number,
                entry.kind,
                excerpt(texts[entry], words),
                rank,
            )
            for entry, count in counts.items()
            if (rank := sum(rare[word] * count[word] / (1 + count[word]) for word in words)) > 0
        }
        return sorted(found.values(), key=lambda each: (-each.rank, each.handle))[: check_whole("limit", limit)]

    def save(self, kind: str, id: str, body: Body, *, version: int) -> int:
        """Write a document that was at `version`, 0 for a new one, and return its new version."""
        key, content = (check_name("kind", kind), check_name("id", id)), encode_body("body", body)
        with self._lock:
            self._ready()
            found = self._tables.documents[key][0] if key in self._tables.documents else 0
            if check_whole("version", version) != found:
                raise Conflict(self.url, f"the {kind} {id!r}", expected=version, found=found)
            self._tables.documents[key] = (version + 1, self._clock(), content)
            return version + 1

    def load(self, kind: str, id: str) -> Saved | None:
        """Return a document, or `None`."""
        with self._lock:
            self._ready()
            found = self._tables.documents.get((check_name("kind", kind), check_name("id", id)))
        return Saved(kind, id, found[0], found[1], decode_body(self.url, found[2])) if found else None

    def ids(self, kind: str) -> list[str]:
        """Return the ids of all documents of a kind, sorted."""
        with self._lock:
            self._ready()
            return sorted(key for found, key in self._tables.documents if found == check_name("kind", kind))

    def forget(self, kind: str, id: str) -> bool:
        """Remove a document; return whether there was one."""
        with self._lock:
            self._ready()
            return self._tables.documents.pop((check_name("kind", kind), check_name("id", id)), None) is not None

    def purge(
        self, *, before: float | None = None, session: str | None = None, documents: Sequence[str] = ()
    ) -> Purged:
        """Remove the sessions last written before a moment, or one session, and return what went."""
        if before is None and session is None:
            raise InvalidValue("purge", None, "called with a time (before=) or a session (session=)")
        if session is not None:
            check_name("session", session)
        line = check_time("before", before) if before is not None else float("inf")
        with self._lock:
            self._ready()
            if self._depth:
                raise StoreError(self.url, "a purge cannot be part of a transaction: purge before or after it")
            tables = self._tables
            rows = tables.logs.items()
            gone = {each: row for each, row in rows if session in (None, each) and row.updated < line}
            for dead in gone:
                del tables.logs[dead]
            saved = self._purge_rest(before, documents)
        return Purged(len(gone), sum(len(row.entries) for row in gone.values()), saved)

    def _purge_rest(self, before: float | None, kinds: Sequence[str]) -> int:
        if before is None:
            return 0
        tables = self._tables
        old = [key for key, found in tables.documents.items() if key[0] in kinds and found[1] < before]
        for key in old:
            del tables.documents[key]
        return len(old)

    def close(self) -> None:
        """Refuse whatever comes after."""
        self._closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _order(row: SessionRow) -> tuple[float, str]:
    return -row.updated, row.id


def _hashable(entry: LogEntry) -> _Entry:
    return _Entry(entry)


class _Entry(LogEntry):
    """An entry that is the key of a dictionary."""

    def __new__(cls, entry: LogEntry) -> Self:
        return super().__new__(cls, *entry)

    def __hash__(self) -> int:
        return hash(self[:2])
