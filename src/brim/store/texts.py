"""Kept texts: by their handle, and by their words.

A text is written once, whoever keeps it. One that repeats entries of a session is written as what it takes from them;
when that session is purged and another keeps the text, it is written whole.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence

from brim.errors import InvalidValue
from brim.store.base import SearchHit
from brim.store.body import (
    check_name,
    check_whole,
    decode_handle,
    decode_text,
    decode_utf8,
    encode_handle,
    encode_text,
    text_bytes,
)
from brim.store.database import Row
from brim.store.jobs import JobStore
from brim.store.packed import unpack
from brim.store.repetition import RepeatedEntries, pack_repeated, source_of, unpack_repeated
from brim.store.words import excerpt, query_words, text_words

LOG = 1 << 32
"""Places of one log: that of an entry is its number and the key of its session times this."""
OWN = "EXISTS (SELECT 1 FROM brim_kept k JOIN brim_sessions s ON s.key = k.session WHERE k.text = t.id AND s.id = ?)"
"""Whether a session keeps the text `t`."""
KEEPER = (
    "(SELECT s.id FROM brim_kept k JOIN brim_sessions s ON s.key = k.session WHERE k.text = t.id "
    "ORDER BY k.at DESC, s.id LIMIT 1)"
)
"""The session that kept the text `t` last."""
_ROWS = 200
"""Texts that one statement writes; SQLite has at most 999 values in one in old versions."""


class TextStore(JobStore):
    """The kept texts of a store."""

    def keep(
        self, session: str, texts: Mapping[str, str], *, repeating: Mapping[str, Sequence[int]] | None = None
    ) -> None:
        """Keep texts by their handles for a session."""
        check_name("session", session)
        # All writers use one order: two that wait for each other's rows would wait for ever.
        given = [(check_name("handle", handle), texts[handle]) for handle in sorted(texts)]
        if not given:
            return
        with self.transaction():
            now = self._now()
            key, _ = self._touch(session, now)
            sources = {
                handle: RepeatedEntries(key, tuple(numbers)) for handle, numbers in (repeating or {}).items() if numbers
            }
            ids: list[int] = []
            for first in range(0, len(given), _ROWS):
                ids += self._keep_some(given[first : first + _ROWS], sources)
            self._each(
                "INSERT INTO brim_kept (session, text, at) VALUES (?, ?, ?) "
                "ON CONFLICT (session, text) DO UPDATE SET at = excluded.at",
                [(key, text, now) for text in ids],
            )

    def _keep_some(self, given: Sequence[tuple[str, str]], sources: Mapping[str, RepeatedEntries]) -> Iterable[int]:
        """Write and index the texts that are new, compare the others, and return the ids of all."""
        entries = self._entries_of([sources[handle] for handle, _ in given if handle in sources])
        values = []
        for handle, text in given:
            values += [encode_handle(handle), self._written(text, sources.get(handle), entries)]
        ids = {
            decode_handle(name): int(text_id)
            for name, text_id in self._rows(
                f"INSERT INTO brim_texts (handle, body) VALUES {', '.join(['(?, ?)'] * len(given))} "
                "ON CONFLICT (handle) DO NOTHING RETURNING handle, id",
                values,
            )
        }
        self._index([(ids[handle], text_words(text)) for handle, text in given if handle in ids])
        others = {encode_handle(handle): text for handle, text in given if handle not in ids}
        if not others:
            return ids.values()
        marks = ", ".join("?" * len(others))
        found = self._rows(f"SELECT handle, body, id FROM brim_texts WHERE handle IN ({marks})", [*others])
        for (name, _, text_id), known in zip(found, self._texts([body for _, body, _ in found]), strict=True):
            handle = decode_handle(name)
            if known != others[bytes(name)]:
                raise InvalidValue("handle", handle, "the name of one text only; the store has another under it")
            ids[handle] = int(text_id)
        return ids.values()

    def _written(self, text: str, source: RepeatedEntries | None, entries: Mapping[int, bytes]) -> bytes:
        """Return a text as it is written: what it takes from the entries that it repeats, if that is shorter."""
        alone = encode_text(text)
        if source is None or any(source.session * LOG + number not in entries for number in source.numbers):
            return alone
        return min(alone, pack_repeated(text_bytes(text), source, _joined(source, entries)), key=len)

    def _entries_of(self, sources: Sequence[RepeatedEntries]) -> dict[int, bytes]:
        """Return the JSON of the entries of sources by their places."""
        places = sorted({source.session * LOG + number for source in sources for number in source.numbers})
        found: dict[int, bytes] = {}
        for first in range(0, len(places), _ROWS):
            some = places[first : first + _ROWS]
            marks = ", ".join("?" * len(some))
            for place, body in self._rows(f"SELECT place, body FROM brim_entries WHERE place IN ({marks})", some):
                found[int(place)] = unpack(self.url, body)
        return found

    def _texts(self, bodies: Sequence[bytes]) -> list[str]:
        """Return texts by how they are written."""
        sources = [source_of(bytes(body)) for body in bodies]
        entries = self._entries_of([source for source in sources if source is not None])
        made = []
        for body, source in zip(bodies, sources, strict=True):
            if source is None:
                made.append(decode_text(self.url, body))
            else:
                content = unpack_repeated(self.url, bytes(body), _joined(source, entries))
                made.append(decode_utf8(self.url, content))
        return made

    def text(self, handle: str, *, session: str | None = None) -> str | None:
        """Return the text of a handle that a session keeps, or `None`."""
        values = [encode_handle(check_name("handle", handle))]
        values += [] if session is None else [check_name("session", session)]  # type: ignore[list-item]
        own = "" if session is None else f" AND {OWN}"
        with self._snapshot():
            found = self._rows(f"SELECT t.body FROM brim_texts t WHERE t.handle = ?{own}", values)
            return self._texts([found[0][0]])[0] if found else None

    def search(self, query: str, *, session: str | None = None, limit: int = 20) -> list[SearchHit]:
        """Return the kept texts that share words with a query, the best first."""
        if session is not None:
            check_name("session", session)
        words = query_words(query)
        if not words or not check_whole("limit", limit):
            return []
        with self._snapshot():
            return [
                SearchHit(decode_handle(handle), session or keeper, excerpt(text, words), float(rank))
                for handle, text, keeper, rank in self._hits(words, session, limit)
            ]

    def _let_go(self, key: int) -> int:
        """Remove what a session keeps, and the texts that no other keeps; return how many those are.

        The entries of the session are still there.
        """
        other = "EXISTS (SELECT 1 FROM brim_kept o WHERE o.text = k.text AND o.session <> k.session)"
        kept = "FROM brim_kept k JOIN brim_texts t ON t.id = k.text WHERE k.session = ?"
        shared = self._rows(f"SELECT t.id, t.body {kept} AND {other}", [key])
        repeating = [row for row in shared if (source := source_of(bytes(row[1]))) and source.session == key]
        for (text_id, _), text in zip(repeating, self._texts([body for _, body in repeating]), strict=True):
            self._rows("UPDATE brim_texts SET body = ? WHERE id = ?", (encode_text(text), text_id))
        gone = [row[0] for row in self._rows(f"SELECT t.id {kept} AND NOT {other}", [key])]
        self._changed("DELETE FROM brim_kept WHERE session = ?", [key])
        for first in range(0, len(gone), _ROWS):
            self._remove(gone[first : first + _ROWS])
        return len(gone)

    def _remove(self, ids: Sequence[int]) -> None:
        """Remove texts and their words."""
        self._changed(f"DELETE FROM brim_texts WHERE id IN ({', '.join('?' * len(ids))})", ids)

    @abstractmethod
    def _touch(self, session: str, now: float) -> tuple[int, int]:
        """Create a session if needed and lock its row; return its key and the last number of its log."""

    @abstractmethod
    def _index(self, texts: Sequence[tuple[int, list[str]]]) -> None:
        """Index texts, by their ids, by their words."""

    @abstractmethod
    def _hits(self, words: list[str], session: str | None, limit: int) -> list[Row]:
        """Return the handles, texts, keepers and ranks of the texts that have some of the words, the best first."""


def _joined(source: RepeatedEntries, entries: Mapping[int, bytes]) -> bytes:
    """Return the JSON of the entries of a source, one after the other."""
    return b"".join(entries.get(source.session * LOG + number, b"") for number in source.numbers)
