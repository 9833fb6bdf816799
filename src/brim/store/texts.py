"""Kept texts: by their handle, and by their words.

A text that does not repeat the log of its session is written once, whoever keeps it. Version 3 wrote those that do here
too, as what they take from the entries; when that session is purged and another keeps the text, it is written whole.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from brim.errors import InvalidValue
from brim.store.base import SearchHit
from brim.store.body import HASH_LENGTH, check_name, check_whole, decode_handle, encode_handle, encode_text, hash_range
from brim.store.repeated_text import decode_repeated, handle_of
from brim.store.repeats import LOG, ROWS, RepeatStore
from brim.store.repetition import source_of
from brim.store.words import excerpt, query_words, text_words


class FoundText(NamedTuple):
    """A text that a search found."""

    handle: str
    text: str
    session: str
    """The session that keeps it."""
    at: float
    """When it was kept."""
    rank: float


class TextStore(RepeatStore):
    """The kept texts of a store."""

    def keep(
        self, session: str, texts: Mapping[str, str], *, repeating: Mapping[str, Sequence[int]] | None = None
    ) -> None:
        """Keep texts by their handles for a session."""
        check_name("session", session)
        for handle in texts:
            check_name("handle", handle)
        if not texts:
            return
        with self.transaction():
            now = self._now()
            key, _ = self._touch(session, now)
            taken = self._keep_repeated(key, texts, repeating or {})
            # All writers use one order: two that wait for each other's rows would wait for ever.
            given = [(handle, texts[handle]) for handle in sorted(texts) if handle not in taken]
            ids: list[int] = []
            for first in range(0, len(given), ROWS):
                ids += self._keep_some(given[first : first + ROWS])
            self._each(
                "INSERT INTO brim_kept (session, text, at) VALUES (?, ?, ?) "
                "ON CONFLICT (session, text) DO UPDATE SET at = excluded.at",
                [(key, text, now) for text in ids],
            )

    def _keep_some(self, given: Sequence[tuple[str, str]]) -> Iterable[int]:
        """Write and index the texts that are new, compare the others, and return the ids of all."""
        values = [value for handle, text in given for value in (encode_handle(handle), encode_text(text))]
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

    def text(self, handle: str, *, session: str | None = None) -> str | None:
        """Return the text of a handle that a session keeps, or `None`."""
        among = hash_range(check_name("handle", handle))
        own = [] if session is None else [check_name("session", session)]
        with self._snapshot():
            found = self._kept_texts("t.handle = ?", [encode_handle(handle)], own)
            if not found and among is not None and len(handle) < HASH_LENGTH:
                named = self._kept_texts("t.handle >= ? AND t.handle <= ?", among, own)
                found = [text for text in named if handle_of(text).startswith(handle)]
            if found or among is None:
                return found[0] if found else None
            key = None if session is None else self._key(session)
            return self._find_repeated(handle, key) if session is None or key is not None else None

    def _key(self, session: str) -> int | None:
        """Return the key of a session, if there is one."""
        found = self._rows("SELECT key FROM brim_sessions WHERE id = ?", [session])
        return int(found[0][0]) if found else None

    def _kept_texts(self, which: str, values: Sequence[bytes], own: Sequence[str]) -> list[str]:
        """Return some of the texts that a session keeps, or any."""
        kept = "SELECT 1 FROM brim_kept k JOIN brim_sessions s ON s.key = k.session WHERE k.text = t.id AND s.id = ?"
        only = f" AND EXISTS ({kept})" if own else ""
        found = self._rows(f"SELECT t.body FROM brim_texts t WHERE {which}{only}", [*values, *own])
        return self._texts([body for (body,) in found])

    def search(self, query: str, *, session: str | None = None, limit: int = 20) -> list[SearchHit]:
        """Return the kept texts that share words with a query, the best first."""
        if session is not None:
            check_name("session", session)
        words = query_words(query)
        if not words or not check_whole("limit", limit):
            return []
        with self._snapshot():
            key = None if session is None else self._key(session)
            found = self._hits(words, key, limit) if session is None or key is not None else []
        # Of a text that several sessions keep, the last one of those.
        found.sort(key=lambda each: each.session, reverse=True)
        once = {each.handle: each for each in sorted(found, key=lambda each: each.at)}
        best = sorted(once.values(), key=lambda each: (-each.rank, each.handle))[:limit]
        return [SearchHit(each.handle, session or each.session, excerpt(each.text, words), each.rank) for each in best]

    def _found_texts(self, ids: Sequence[int]) -> list[tuple[int, FoundText]]:
        """Return kept texts with their ids and the sessions that kept them last, without ranks."""
        rows = []
        for first in range(0, len(ids), ROWS):
            some = ids[first : first + ROWS]
            marks = ", ".join("?" * len(some))
            rows += self._rows(
                "SELECT t.id, t.handle, t.body, s.id, k.at FROM brim_texts t JOIN brim_kept k ON k.text = t.id "
                f"JOIN brim_sessions s ON s.key = k.session WHERE t.id IN ({marks}) ORDER BY k.at, s.id DESC",
                some,
            )
        last = {row[0]: row for row in rows}
        texts = self._texts([row[2] for row in last.values()])
        return [
            (text_id, FoundText(decode_handle(name), text, session, at, 0.0))
            for (text_id, name, _, session, at), text in zip(last.values(), texts, strict=True)
        ]

    def _found_repeated(self, places: Sequence[int]) -> list[tuple[int, FoundText]]:
        """Return the texts that end at some places, each with its place, without ranks."""
        rows = []
        for first in range(0, len(places), ROWS):
            some = places[first : first + ROWS]
            marks = ", ".join("?" * len(some))
            rows += self._rows(
                "SELECT r.place, r.texts, s.id, (SELECT e.at FROM brim_entries e WHERE e.place <= r.place "
                "ORDER BY e.place DESC LIMIT 1) FROM brim_repeats r "
                f"JOIN brim_sessions s ON s.key = r.place / {LOG} WHERE r.place IN ({marks})",
                some,
            )
        kept = {int(place): (session, at) for place, _, session, at in rows}
        decoded = [(int(place), decode_repeated(place % LOG, bytes(texts))) for place, texts, _, _ in rows]
        return [
            (place, FoundText(handle_of(text), text, *kept[place], 0.0))
            for place, _, text in self._read_repeated(decoded)
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
        for first in range(0, len(gone), ROWS):
            self._remove(gone[first : first + ROWS])
        return len(gone) + self._let_repeated_go(key)

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
    def _hits(self, words: list[str], key: int | None, limit: int) -> list[FoundText]:
        """Return the texts of a session, or of any, that have some of the words; those with the best ranks, or more."""
