"""Which conversation a request without a name continues, told by how its messages begin.

A store has one document for each conversation: the fingerprint of the messages of its newest request.
"""

from __future__ import annotations

from collections.abc import Sequence

from brim.sessions.log.tolerant_store import TolerantStore

KIND = "gateway-prefix"
LOGGED = "conversation-prefix"
"""The kind of document for conversations with a log: written when one leaves memory."""
_LOOKED = 12
"""Beginnings that are looked up, the longest first."""


class PrefixIndex:
    """The beginnings of conversations in a store."""

    def __init__(self, store: TolerantStore, kind: str = KIND) -> None:
        self._store = store
        self._kind = kind

    def find(self, marks: Sequence[str], *, take: bool = False) -> str | None:
        """Return the name of the conversation with the longest known beginning; `None` if no beginning is known.

        Args:
            marks: the fingerprints of the beginnings, the shortest first.
            take: whether that beginning is forgotten: the conversation goes on, and others may begin so.
        """
        for mark in list(reversed(marks))[:_LOOKED]:
            if (saved := self._store.load(self._kind, mark)) is not None:
                if take:
                    self._store.forget(self._kind, mark)
                return str(saved.body["talk"])
        return None

    def move(self, name: str, before: str, mark: str) -> None:
        """Write how a conversation begins now, in place of how it began before."""
        if mark != before and self._store.save(self._kind, mark, {"talk": name}, 0) is not None and before:
            self._store.forget(self._kind, before)
