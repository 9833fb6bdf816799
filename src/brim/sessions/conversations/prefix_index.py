"""The beginnings of conversations in a store, by which the next process finds them."""

from __future__ import annotations

from collections.abc import Sequence

from brim.sessions.log.tolerant_store import TolerantStore

KIND = "gateway-prefix"
LOGGED = "conversation-prefix"
"""The kind of document for conversations with a log."""
_LOOKED = 12
"""Maximum number of beginnings to look up, the longest first."""


class PrefixIndex:
    """The beginnings of conversations in a store."""

    def __init__(self, store: TolerantStore, kind: str = KIND) -> None:
        self._store = store
        self._kind = kind

    def find(self, marks: Sequence[str], *, take: bool = False) -> str | None:
        """Return the name of the conversation with the longest known beginning; `None` if no beginning is known.

        Args:
            marks: the fingerprints of the beginnings, the shortest first.
            take: whether to remove that beginning from the store, because the conversation will be in memory.
        """
        for mark in list(reversed(marks))[:_LOOKED]:
            if (saved := self._store.load(self._kind, mark)) is not None:
                if take:
                    self._store.forget(self._kind, mark)
                return str(saved.body["talk"])
        return None

    def forget(self, mark: str) -> None:
        """Remove a beginning, whose conversation the caller has named."""
        self._store.forget(self._kind, mark)

    def move(self, name: str, before: str, mark: str) -> str:
        """Replace the stored beginning of a conversation, and return the one that the store has now."""
        if mark == before or not self._store.replace(self._kind, before, mark, {"talk": name}):
            return before
        return mark
