"""The conversations in memory, and which of them a request continues.

The most recent ones are kept, within limits on number and memory. Those without a name are found by their first
messages, so a request is compared only with conversations that begin in the same way. Others are looked up in the store
by the fingerprint of their newest request.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from itertools import islice
from math import inf
from typing import Any

from brim.sessions.conversations.conversation import Conversation
from brim.sessions.conversations.identity import (
    Candidate,
    ConversationKey,
    ConversationMatch,
    beginnings,
    continuation,
    leading,
)

_MOST_BYTES = 64 * 1024 * 1024
"""Default limit in bytes on the memory for all conversations."""
_DEPTH = 3
"""Number of first messages by which a conversation is found; the system prompt, which may change, is not among them."""
_CANDIDATES = 64
"""Maximum number of conversations with the same first messages to compare a request with."""


class RememberedConversations:
    """Conversations by name, the least recently used first."""

    def __init__(self, most: int | None = None, memory: int | None = None) -> None:
        """Start without conversations.

        Args:
            most: the largest number; `None` for no limit.
            memory: approximate limit in bytes.
        """
        self._most = inf if most is None else most
        self._memory = memory
        self._known: OrderedDict[str, Conversation] = OrderedDict()
        self._sizes: dict[str, int] = {}
        """The bytes of each conversation at its newest request, approximately."""
        self._total = 0
        self._openings: dict[str, OrderedDict[str, None]] = {}
        self._marks: dict[str, tuple[str, ...]] = {}
        """The openings of each conversation."""

    def __len__(self) -> int:
        return len(self._known)

    def __iter__(self) -> Iterator[Conversation]:
        return iter(self._known.values())

    def get(self, name: str) -> Conversation | None:
        """Return a conversation; `None` if it is not remembered."""
        return self._known.get(name)

    def put(self, name: str, conversation: Conversation) -> None:
        """Add a conversation as the newest."""
        before = self._known.get(name)
        self._known[name] = conversation
        self._known.move_to_end(name)
        if before is not conversation:
            self._find_by(name, _openings(conversation))

    def continuation(self, messages: Sequence[Any], key: ConversationKey) -> ConversationMatch | None:
        """Return which conversation messages continue; `None` if none begins in a similar way."""
        candidates: dict[str, Candidate] = {}
        for mark in openings(key, messages):
            names = (name for name in reversed(self._openings.get(mark, {})) if name not in candidates)
            candidates |= {name: self._known[name].compared(messages) for name in islice(names, _CANDIDATES)}
            if any(each.contained and each.same_system for each in candidates.values()):
                break  # Others have less in common with the request.
        return continuation(candidates.values(), len(messages))

    def forget(self, newest: Conversation) -> None:
        """Note the size of the newest conversation, and forget the oldest if there are too many."""
        most = _MOST_BYTES if self._memory is None else self._memory
        if self._known.get(newest.name) is newest:
            self._total += newest.weight - self._sizes.get(newest.name, 0)
            self._sizes[newest.name] = newest.weight
            self._find_by(newest.name, _openings(newest))
        for each in [*self._known.values()] if len(self) > self._most or self._total > most else ():
            if len(self) <= self._most and self._total <= most:
                break
            if each is not newest and not each.lock.held:
                self.drop(each.name)

    def drop(self, name: str) -> None:
        """Remove a conversation."""
        del self._known[name]
        self._total -= self._sizes.pop(name, 0)
        self._find_by(name, ())

    def _find_by(self, name: str, marks: tuple[str, ...]) -> None:
        """Index a conversation by these openings, as the newest of each."""
        for mark in self._marks.pop(name, ()):
            bucket = self._openings[mark]
            del bucket[name]
            if not bucket:
                del self._openings[mark]
        marks = marks[:-1] or marks
        for mark in marks:
            self._openings.setdefault(mark, OrderedDict())[name] = None
        if marks:
            self._marks[name] = marks


def _openings(conversation: Conversation) -> tuple[str, ...]:
    """Return the keys by which a conversation is found; none if the caller named it."""
    return () if conversation.named else openings(conversation.key, conversation.known)


def openings(key: ConversationKey, messages: Sequence[Any]) -> tuple[str, ...]:
    """Return the keys by which conversations with the same beginning are found, the longest beginning first.

    The last key is for a system prompt alone, which any first message continues.
    """
    first = leading(messages)
    return (*reversed(beginnings(messages[first : first + _DEPTH], key)), repr(key))
