"""A store of plain dictionaries, which the databases are compared with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import log
from typing import Any

from brim.errors import Conflict, InvalidValue
from brim.store.base import Body, LogEntry, Purged, Saved, SearchHit, SessionRow
from brim.store.texts import entry_handle, handle_of, said, texts_of
from brim.store.words import excerpt, query_words, text_words


class DictionaryStore:
    """The oracle, for the calls that the property makes."""

    url = "memory"

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._rows: dict[str, SessionRow] = {}
        self._logs: dict[str, list[LogEntry]] = {}
        self._documents: dict[tuple[str, str], Saved] = {}

    def append(
        self, session: str, entries: Iterable[tuple[str, Body]], *, after: int | None = None, meta: Body | None = None
    ) -> int:
        """Write entries at the end of a session's log, all or none, and return the last number."""
        known, given, now = self._logs.get(session, []), list(entries), self._clock()
        last = len(known)
        if after not in (None, last):
            raise Conflict(self.url, f"the log of session {session!r}", expected=after or 0, found=last)
        if given or meta is not None:
            made = [LogEntry(session, last + i, kind, now, body) for i, (kind, body) in enumerate(given, start=1)]
            self._logs[session] = [*known, *made]
            row = self._rows.get(session, SessionRow(session, now, now, 0, {}))
            about = row.meta if meta is None else meta
            self._rows[session] = row._replace(updated=now, entries=last + len(given), meta=about)
        return last + len(given)

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
        found = [each for each in self._logs.get(session, [])[after:] if kinds is None or each.kind in kinds]
        return found[max(0, len(found) - limit) :] if newest and limit is not None else found[:limit]

    def sessions(self, *, limit: int) -> list[SessionRow]:
        """Return sessions, the last written first."""
        return sorted(self._rows.values(), key=lambda row: (-row.updated, row.id))[:limit]

    def session(self, session: str) -> SessionRow | None:
        """Return one session, or `None`."""
        return self._rows.get(session)

    def _entries_of(self, session: str | None) -> list[LogEntry]:
        """Return the entries of a session, or of all, the oldest first."""
        found = [each for name, entries in self._logs.items() if session in (None, name) for each in entries]
        return sorted(found, key=lambda entry: (entry.at, entry.session))

    def text(self, handle: str, *, session: str | None = None) -> str | None:
        """Return the text of a handle, or `None`."""
        found = (text for entry in self._entries_of(session) for text in texts_of(entry.kind, entry.body))
        return next((text for text in found if text and handle_of(text).startswith(handle)), None)

    def search(self, query: str, *, session: str | None = None) -> list[SearchHit]:
        """Return the entries that share words with a query, the best first."""
        words, texts = query_words(query), [(each, said(each.kind, each.body)) for each in self._entries_of(session)]
        counts = [Counter(text_words(text)) for _, text in texts]
        rare = {word: log(1 + len(counts) / (1 + sum(word in count for count in counts))) for word in words}
        found = {}
        for (entry, text), count in zip(texts, counts, strict=True):
            rank = sum(rare[word] * count[word] / (1 + count[word]) for word in words)
            if rank > 0:
                name = entry_handle(entry.kind, entry.body)
                found[name] = SearchHit(name, entry.session, entry.number, entry.kind, excerpt(text, words), rank)
        return sorted(found.values(), key=lambda each: (-each.rank, each.handle))[:20]

    def save(self, kind: str, id: str, body: Mapping[str, Any], *, version: int) -> int:
        """Write a document that was at `version`, 0 for a new one, and return its new version."""
        known = self._documents.get((kind, id))
        if version != (found := known.version if known else 0):
            raise Conflict(self.url, f"the {kind} {id!r}", expected=version, found=found)
        self._documents[kind, id] = Saved(kind, id, version + 1, self._clock(), body)
        return version + 1

    def load(self, kind: str, id: str) -> Saved | None:
        """Return a document, or `None`."""
        return self._documents.get((kind, id))

    def forget(self, kind: str, id: str) -> bool:
        """Remove a document; return whether there was one."""
        return self._documents.pop((kind, id), None) is not None

    def purge(
        self, *, before: float | None = None, session: str | None = None, documents: Sequence[str] = ()
    ) -> Purged:
        """Remove the sessions last written before a moment, or one session, and return what went."""
        if before is None and session is None:
            raise InvalidValue("purge", None, "called with a time (before=) or a session (session=)")
        line = float("inf") if before is None else before
        gone = [row for row in self._rows.values() if session in (None, row.id) and row.updated < line]
        old = [key for key in self._documents if before is not None and key[0] in documents]
        old = [key for key in old if self._documents[key].at < line]
        for row in gone:
            del self._rows[row.id], self._logs[row.id]
        for key in old:
            del self._documents[key]
        return Purged(len(gone), sum(row.entries for row in gone), len(old))
