"""The base of the trimmers that have message classes of their own."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from bench import peers
from bench.suite import Judge, Message, judge
from bench.trimmers import Trimmer

Key = tuple[object, ...]


class Converted(Trimmer):
    """The base of those that have message classes of their own."""

    apart = False
    """Whether the framework stores the leading system messages separately; their size is subtracted from the budget."""
    lasting = False
    """Whether the framework keeps its trimmed history, and gets the new messages only."""

    def __init__(self) -> None:
        peers.tiktoken_encoding()
        self.judge = Judge(count=peers.tiktoken_count())
        self.begin()

    def begin(self) -> None:
        """Forget what was converted."""
        self.known: dict[Key, Message] = {}
        self.natives: list[Any] = []
        self.seen = self.made = 0

    def take(self, messages: Sequence[Message], budget: int) -> Any:
        """Return the messages in the framework's classes, and remember the originals."""
        if not self.lasting:
            Converted.begin(self)
        self.head = judge.leading(list(messages)) if self.apart else []
        self.room = budget - self.judge.size(self.head)
        new = messages[max(self.seen, len(self.head)) :]
        self.known |= {_key(message): message for message in new}
        converted = self.forth(new)
        self.natives += converted
        self.made += len(converted)
        self.seen = len(messages)
        self.number = self._held(messages[len(self.head) :])
        return self.natives

    def give(self, kept: Any) -> list[Message]:
        """Return chat messages, the caller's own where they are the same."""
        made = [message for each in kept for message in self.back(each)]
        return [*self.head, *(self.known.get(_key(message), message) for message in made)]

    def forth(self, messages: Sequence[Message]) -> list[Any]:
        """Return chat messages in the framework's classes."""
        raise NotImplementedError

    def back(self, native: Any) -> list[Message]:
        """Return one of the framework's messages as chat messages."""
        raise NotImplementedError

    def _held(self, messages: Sequence[Message]) -> int:
        """Return how many messages the room holds at their mean size, for what counts messages and not tokens."""
        size = self.judge.size(messages)
        return max(1, self.made * max(self.room, 0) // size) if size > self.room else self.made


def _key(message: Message) -> Key:
    calls = tuple(call.get("id") for call in message.get("tool_calls") or ())
    content = message.get("content")
    shown = json.dumps(content) if isinstance(content, list) else content or ""
    return message.get("role"), shown, calls, message.get("tool_call_id")


def written_call(call_id: str | None, name: str, arguments: object) -> Message:
    """Return a call as chat messages write it."""
    written = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": written}}


def parsed(arguments: str) -> Any:
    """Return the arguments of a call as the mapping that a framework wants."""
    try:
        read = json.loads(arguments)
    except ValueError:
        return {"text": arguments}
    return read if isinstance(read, dict) else {"value": read}
