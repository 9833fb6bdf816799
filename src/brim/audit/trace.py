"""What recordings hold, whatever wrote them: requests, whole conversations, and the lines of a session's log.

A record is one line of a file, or one element of its list. A format makes items of it; items with the same key belong
together, and a request is turned to only when it is replayed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, NamedTuple, Protocol

from brim.wire import format_of, plain

IDS = ("conversation_id", "session_id", "thread_id", "sessionId", "conversationId", "threadId")
"""Where programs say which conversation a request is of."""


class Place(NamedTuple):
    """Where a record stands."""

    file: int
    """Which of the files, in the order given."""
    range: int
    """Which of the file's ranges."""
    line: int
    """The line in that range, from 0."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedRequest:
    """One request, as it was recorded."""

    messages: Sequence[Any]
    format: str | None = None
    """The shape of the messages; `None` where they could be in any."""
    model: str | None = None
    tools: Sequence[Any] | None = None
    system: Any = None
    answer: int = 0
    """Tokens that the answer may take; 0 where it does not say."""
    reported: int | None = None
    """Tokens of input that the provider counted."""
    cached: int | None = None
    """How many of these it found in its cache."""
    overflowed: bool = False
    """Whether the provider refused it as too long."""
    partial: bool = False
    """Whether some of the conversation is with the provider, where nobody else sees it."""
    whole: bool = False
    """Whether it is a conversation to its end: each answer in it was a request."""


class TraceStep(NamedTuple):
    """One request in its conversation."""

    messages: list[Any]
    """The messages of the conversation, of which the request has the first ones."""
    length: int
    """How many of them the request has."""
    kept: int
    """How many of them the last request had as well."""
    ask: RecordedRequest
    """All else that is known of it."""


class SessionLog(Protocol):
    """Reads the lines of one session in order."""

    def feed(self, body: Any) -> Iterator[TraceStep]:
        """Yield the requests that a line shows to have been made."""

    def rest(self) -> Iterator[TraceStep]:
        """Yield what is left when there are no more lines."""

    def restart(self) -> None:
        """Forget what was said, because there is too much of it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TraceItem:
    """One thing in a record that belongs to a conversation."""

    key: str
    """What it shares with the rest of its conversation; empty where it stands alone."""
    when: str = ""
    """When it was, in an order of texts; empty where the order in the file is that of time."""
    make: Callable[[], RecordedRequest] | None = field(default=None, repr=False)
    """Makes the request of it; nothing of a line of a session."""
    log: str = ""
    """The format of the session that it is a line of."""
    body: Any = field(default=None, repr=False)
    """That line."""


def mark(*parts: Any) -> str:
    """Return a short text that tells these values from others."""
    told = "\x1f".join(map(repr, parts)).encode("utf-8", "backslashreplace")
    return blake2b(told, digest_size=12).hexdigest()


def beginning(ask: RecordedRequest) -> str:
    """Return what the requests of one conversation share that carries no name: its start, up to the user's first."""
    first: list[Any] = []
    for raw in ask.messages:
        first.append(raw)
        if isinstance(raw, Mapping) and raw.get("role") == "user":
            break
    return mark(ask.model, ask.system, first)


def is_reply(raw: Any) -> bool:
    """Return whether a message is the model's."""
    values = plain(raw)
    if not isinstance(values, Mapping):
        return False
    kind = values.get("type")
    if isinstance(kind, str) and values.get("role") is None:
        return kind == "reasoning" or kind.endswith("_call")
    return values.get("role") == "assistant"


def replies(messages: Sequence[Any]) -> list[int]:
    """Return the positions at which the model began to answer."""
    said = [is_reply(raw) for raw in messages]
    return [i for i, own in enumerate(said) if own and i and not said[i - 1]]


def format_for(messages: Sequence[Any]) -> str | None:
    """Return the shape that messages can only be in; nothing where they are no messages at all."""
    return format_of(messages) if all(isinstance(raw, Mapping) for raw in messages) else None


def number(value: Any) -> int | None:
    """Return a count that a recording has, or nothing."""
    return value if type(value) is int and 0 <= value < 10**15 else None


def text(value: Any) -> str | None:
    """Return a name that a recording has, or nothing."""
    return value if isinstance(value, str) and value else None


def moment(value: Any) -> str:
    """Return a time in an order of texts: numbers are filled up, so that a later one is a greater text."""
    if isinstance(value, str) and value.isdigit():
        value = int(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:030.6f}"
    return "".join(c for c in value[:40] if " " <= c <= "~") if isinstance(value, str) else ""
