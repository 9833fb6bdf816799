"""Texts that were dropped from a prompt, found again by handle or by their words.

This is the only way from a handle to a text: a handle is a hash that others may know, so a text is returned only to
the session that keeps it.

With a store they are kept there; without one in memory, so a session without a store grows with its history. Those
that a store could not take yet are in memory too, until they are written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from brim.errors import UnknownName
from brim.history.term_index import TermIndex
from brim.receipts.receipt import handle as handle_of
from brim.sessions.ahead_log import DroppedTurns, dropped_handles
from brim.store.base import SearchHit, Store
from brim.store.repeated_text import SHOWN
from brim.store.words import excerpt, query_words

_SHORTEST = 8
"""Characters of a handle that identify it; prompts show more."""
_MOST_AHEAD = 200
"""Texts that were read ahead and not dropped, past which a search looks."""


class DroppedTexts:
    """The texts that were dropped from the prompts of one session."""

    def __init__(self, store: Store | None, session: str) -> None:
        self._store = store
        self._session = session
        self._texts: dict[str, str] = {}
        """The texts in memory."""
        self._order: list[str] = []
        self._index: TermIndex | None = None
        self._known: dict[str, None] | None = None if store is not None else {}

    @property
    def owed(self) -> Mapping[str, str]:
        """The texts that the store could not take yet."""
        return self._texts if self._store is not None else {}

    def put(self, texts: Mapping[str, str]) -> None:
        """Add texts by their handles; a store has kept them already."""
        if self._store is None:
            self.owe(texts)
        elif self._texts:
            self._texts = {name: text for name, text in self._texts.items() if name not in texts}
            self._order, self._index = list(self._texts), None

    def note(self, texts: Iterable[str], turns: DroppedTurns | None) -> None:
        """Note which texts and turns were dropped; a store may have others that were read ahead."""
        if self._known is not None:
            self._known.update(dict.fromkeys([*(turns.handles if turns is not None else ()), *texts]))

    def owe(self, texts: Mapping[str, str]) -> None:
        """Keep texts in memory."""
        self._order += [name for name in texts if name not in self._texts]
        self._texts.update(texts)

    def look_again(self) -> None:
        """Read the handles from the store again: another writer has kept texts too."""
        if self._store is not None:
            self._known = None

    def text(self, handle: str) -> str:
        """Return the text of a handle, or of the start of one.

        Raises:
            UnknownName: this session keeps no such text.
        """
        return self.find(handle)[1]

    def find(self, handle: str) -> tuple[str, str]:
        """Return a handle by itself or its start, and its text.

        Raises:
            UnknownName: this session keeps no such text.
        """
        for name in (handle, *(self._named(handle) if len(handle) >= _SHORTEST else ())):
            found = self._text(name)
            if found is not None:
                return handle_of(found), found
        advice = "A handle is b2: and at least five characters; search() finds texts by their words"
        raise UnknownName("kept text", handle, self.handles(), advice)

    def _named(self, start: str) -> Iterator[str]:
        """Yield the handles that begin with some characters."""
        yield from (name for name in self.handles() if name.startswith(start))

    def texts(self, handles: Iterable[str]) -> dict[str, str]:
        """Return texts by their handles, without those that the session does not keep."""
        return {handle_of(text): text for name in handles if (text := self._text(name)) is not None}

    def search(self, query: str, limit: int) -> list[SearchHit]:
        """Return the texts that share words with a query, the best first."""
        found = self._stored(query, limit)
        known = {each.handle for each in found}
        return [*found, *(each for each in self._searched(query, limit) if each.handle not in known)][:limit]

    def _stored(self, query: str, limit: int) -> list[SearchHit]:
        """Return the dropped texts in the store that share words with a query."""
        if self._store is None:
            return []
        dropped = {name[:SHOWN] for name in self.handles()}
        for more in (limit, limit + _MOST_AHEAD):
            hits = self._store.search(query, session=self._session, limit=more)
            found = [each for each in hits if each.handle[:SHOWN] in dropped]
            if len(found) == limit or len(hits) < more:
                break
        return found[:limit]

    def _searched(self, query: str, limit: int) -> list[SearchHit]:
        """Return the texts in memory that share words with a query."""
        if self._index is None:
            self._index = TermIndex()
        for name in self._order[len(self._index) :]:
            self._index.add(self._texts[name])
        best = self._index.rank(query)[:limit] if self._order else []
        names, words = [self._order[at] for at in best], query_words(query)
        return [
            SearchHit(name, self._session, excerpt(self._texts[name], words), 1 / (1 + rank))
            for rank, name in enumerate(names)
        ]

    def handles(self) -> Iterable[str]:
        """Return the handles of all texts of the session, some of them as prompts show them."""
        if self._known is None:
            noted = dropped_handles(self._store, self._session) if self._store is not None else ()
            self._known = dict.fromkeys(name for _, names in noted for name in names)
        return [*self._known, *(name for name in self._order if name not in self._known)]

    def _text(self, handle: str) -> str | None:
        found = self._texts.get(handle)
        return found if found is not None or self._store is None else self._store.text(handle, session=self._session)
