"""Texts that were dropped from a prompt, found by their handle or by their words.

The log has every message; entries of kind `dropped` name the messages that are no longer in the prompt. A handle is a
hash, which others may know, so a text is returned only to a session whose log contains it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from math import inf

from brim.errors import UnknownName
from brim.store.base import Body, LogEntry, SearchHit
from brim.store.store import Store
from brim.store.texts import (
    DROPPED,
    INDEXED,
    SHORTEST,
    SHOWN,
    best_hits,
    handle_of,
    said,
    sent_message,
    texts_of,
    turn_text,
)
from brim.store.words import RANKED, query_words, rarest, text_words
from brim.wire import transcript

FORGOTTEN = "forgotten"
"""The key of an entry of kind `dropped` after which a session no longer recalls what was dropped before."""

Line = tuple[str, Body]
"""An entry before it is written: its kind and its body."""


class MemoryLog:
    """A log in memory, which can be read and searched like a log in a store."""

    def __init__(self, entries: Iterable[LogEntry] = ()) -> None:
        self._entries = [*entries]

    def append(self, lines: Iterable[Line]) -> int:
        """Add the lines that can be searched, and return the number of the last one."""
        for kind, body in lines:
            if kind in (*INDEXED, DROPPED):
                self._entries.append(LogEntry("", len(self._entries) + 1, kind, 0.0, body))
        return len(self._entries)

    def entries(self, session: str, *, kinds: Sequence[str], after: int = 0) -> list[LogEntry]:
        """Return the entries of these kinds with numbers above `after`."""
        own = (entry for entry in self._entries if entry.number > after and entry.kind in kinds)
        return [entry._replace(session=session) for entry in own]

    def text(self, handle: str, *, session: str | None = None) -> str | None:  # noqa: ARG002 - the log has one session
        """Return the text of a handle, or of the start of a handle; `None` if there is none."""
        if len(handle) < SHORTEST:
            return None
        found = (text for entry in self._entries for text in self._texts(entry))
        return next((text for text in found if handle_of(text).startswith(handle)), None)

    def _texts(self, entry: LogEntry) -> Iterator[str]:
        """Yield the texts of an entry; those of dropped turns are built from the entries of their messages."""
        yield from texts_of(entry.kind, entry.body)
        if entry.kind == DROPPED and entry.body.get("turns"):
            bodies = {each.number: each.body for each in self._entries}
            for numbers in entry.body["turns"].values():
                yield turn_text([sent_message(bodies[number]) for number in numbers])

    def search(self, query: str, *, session: str, limit: int) -> list[SearchHit]:
        """Return the entries that share words with a query, the best first."""
        texts = self.entries(session, kinds=INDEXED)
        words = [set(text_words(said(entry.kind, entry.body))) for entry in texts]
        having = {word: [at for at, each in enumerate(words) if word in each] for word in query_words(query)}
        places, rarity = rarest(having, len(texts), max(limit, RANKED))
        return best_hits([texts[at] for at in places], rarity, limit)


class DroppedTexts:
    """The texts that were dropped from the prompts of one session."""

    def __init__(self, log: Store | MemoryLog, session: str) -> None:
        """Search a log for the texts of a session."""
        self._log, self._session = log, session
        self._begin(0)

    def _begin(self, number: int) -> None:
        """Forget all texts up to the entry of a number."""
        self._start = self._read = number
        """The last log entry up to which dropped texts are known."""
        self._turns: dict[str, list[int]] = {}
        """The entries of each dropped turn, by its handle."""
        self._numbers: set[int] = set()
        """The entries of all messages that were dropped."""
        self._results: dict[str, None] = {}
        """The handles of messages with a result that was shortened when it was added."""

    def until(self, number: float) -> DroppedTexts:
        """Return the texts that were dropped up to the entry of a number and not forgotten, without system prompts."""
        entries = self._log.entries(self._session, kinds=(*INDEXED, DROPPED))
        own = [each for each in entries if each.number <= number and not _is_system(each)]
        start = max((at for at, each in enumerate(own, 1) if each.body.get(FORGOTTEN)), default=0)
        return DroppedTexts(MemoryLog(own[start:]), self._session)

    def text(self, handle: str) -> str:
        """Return the text of a handle, or of the start of a handle; the messages of a turn as a transcript.

        Raises:
            UnknownName: no such text was dropped from this session.
        """
        self._refresh()
        if self._start:
            return self.until(inf).text(handle)
        found = self._log.text(handle, session=self._session)
        if found is None:
            advice = "A handle is b2: and at least five characters; search() finds texts by their words"
            raise UnknownName("kept text", handle, self.handles(), advice)
        return transcript(json.loads(found)) if handle_of(found)[:SHOWN] in self._turns else found

    def texts(self, handles: Iterable[str]) -> dict[str, str]:
        """Return texts by handle, skipping handles that the session does not have."""
        found = (self._log.text(name, session=self._session) for name in handles)
        return {handle_of(text): text for text in found if text is not None}

    def handles(self) -> list[str]:
        """Return the handles of the turns and results that were dropped, as prompts show them."""
        self._refresh()
        return [*self._turns, *self._results]

    def search(self, query: str, limit: int) -> list[SearchHit]:
        """Return the dropped texts that share words with a query, the best first."""
        self._refresh()
        asked = limit
        while True:  # Ask for more until enough of them were dropped.
            hits = self._log.search(query, session=self._session, limit=asked)
            found = [hit for hit in hits if self._is_dropped(hit)]
            if len(found) >= limit or len(hits) < asked:
                return found[:limit]
            asked *= 4

    def includes(self, hit: SearchHit) -> bool:
        """Return whether a search hit in the store was dropped from the prompts of this session."""
        self._refresh()
        return self._is_dropped(hit)

    def _is_dropped(self, hit: SearchHit) -> bool:
        if hit.number <= self._start:
            return False
        return hit.kind != "message" or hit.number in self._numbers or hit.handle[:SHOWN] in self._results

    def _refresh(self) -> None:
        """Read what was dropped since the last call."""
        for entry in self._log.entries(self._session, kinds=[DROPPED], after=self._read):
            if entry.body.get(FORGOTTEN):
                self._begin(entry.number)
            self._read = entry.number
            turns = entry.body.get("turns", {})
            self._turns |= turns
            self._numbers.update(number for numbers in turns.values() for number in numbers)
            self._results |= dict.fromkeys(entry.body.get("results", ()))


def _is_system(entry: LogEntry) -> bool:
    """Return whether an entry has a system prompt, which is never dropped, and may be that of another request."""
    message = sent_message(entry.body)
    return entry.kind == "message" and isinstance(message, dict) and message.get("role") in ("system", "developer")
