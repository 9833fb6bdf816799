"""Which conversations are remembered: the newest, as many as their number and their size allow."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator

from brim.sessions.conversation import Conversation

_MOST_BYTES = 64 * 1024 * 1024
"""About the memory of the newest requests of all conversations that are remembered."""

_MOST_OF_ONE = 32 * 1024 * 1024
"""About the memory of one of them, unless it has a log."""


class RememberedConversations:
    """Conversations by name, the longest unused first."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._known: OrderedDict[str, Conversation] = OrderedDict()

    def __len__(self) -> int:
        return len(self._known)

    def __iter__(self) -> Iterator[Conversation]:
        return iter(self._known.values())

    def get(self, name: str) -> Conversation | None:
        """Return a conversation; `None` if it is not remembered."""
        return self._known.get(name)

    def put(self, name: str, conversation: Conversation) -> None:
        """Remember a conversation as the newest."""
        self._known[name] = conversation
        self._known.move_to_end(name)

    def forget(self, newest: Conversation, size: int, *, logged: bool) -> None:
        """Note the size of the newest, and forget those that are too many; without a log also one that is too large."""
        newest.size = size
        if size > _MOST_OF_ONE and not logged:
            self._known.pop(newest.name, None)
        total = sum(each.size for each in self)
        for name, each in list(self._known.items()):
            if len(self) <= self.most and total <= _MOST_BYTES:
                break
            if each is not newest and not each.lock.locked():
                del self._known[name]
                total -= each.size
