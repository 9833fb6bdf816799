"""The common form of all recordings: requests, and session lines from which requests are rebuilt.

A record is one line of a file, or one element of a list in it. A format reads items from a record; items with the same
key belong to one conversation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, NamedTuple

from brim.wire import Format, plain
from brim.wire.overflow import is_overflow


class Place(NamedTuple):
    """The position of a record."""

    file: int
    """The index of the file, in the order of the arguments."""
    line: int
    """The line on which it begins."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedRequest:
    """One request as it was recorded."""

    messages: Sequence[Any] = ()
    format: Format | None = None
    """The format of the messages; `None` if several match."""
    model: str | None = None
    tools: Sequence[Any] | None = None
    system: Any = None
    fields: Mapping[str, Any] | None = None
    """The other fields of its body, if the recording has them."""
    answer: int = 0
    """The limit on the tokens of the answer; 0 if there is none."""
    usage: tuple[int, int] | None = None
    """The input tokens that the provider reported, and how many of them it read from its cache."""
    reply: Sequence[Any] = ()
    """The messages of the answer, if the recording has them, in the format of the request."""
    overflowed: bool = False
    """Whether the provider refused it as too long."""
    partial: bool = False
    """Whether the provider stores a part of the conversation, which the recording does not have."""
    whole: bool = False
    """Whether it is a complete conversation: each answer in it was a request."""


class TraceStep(NamedTuple):
    """One request in its conversation."""

    messages: list[Any]
    """The messages of the conversation. The request has the first `length` of them."""
    length: int
    kept: int
    """How many of its messages the previous request had as well."""
    request: RecordedRequest
    """All other fields of the request."""
    at: float | None = None
    """The time of its record, in seconds since 1970; `None` if the recording has none."""


class SessionLog:
    """Rebuilds the requests of one session from its lines. A format overrides `feed`."""

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Forget the messages: the session was compacted."""
        self.messages: list[Any] = []
        self._seen = 0

    def feed(self, line: Any) -> Iterator[TraceStep]:
        """Yield the requests that must have been sent before this line."""
        raise NotImplementedError

    def rest(self) -> Iterator[TraceStep]:
        """Yield the remaining requests after the last line."""
        return iter(())

    def step(self, **fields: Any) -> TraceStep:
        """Return a request with all messages so far, and with these fields of `RecordedRequest`."""
        kept, self._seen = self._seen, len(self.messages)
        return TraceStep(self.messages, len(self.messages), kept, RecordedRequest(**fields))


@dataclass(frozen=True, kw_only=True, slots=True)
class TraceItem:
    """One part of a record that belongs to a conversation: a request, or a line of a session."""

    key: str
    """The same for all items of a conversation; empty if the item is a whole conversation."""
    request: RecordedRequest | None = field(default=None, repr=False)
    session: Callable[[], SessionLog] | None = None
    """Creates the reader of the session, if the item is a line of one."""
    line: Any = field(default=None, repr=False)
    """The session line."""
    at: float | None = None
    """The time of a request in seconds since 1970, if the record has one. Requests are read in order of time."""
    named: bool = False
    """Whether the record contains the name of its conversation."""


def fingerprint(*parts: Any) -> str:
    """Return a short text that is equal for equal values only."""
    written = "\x1f".join(map(repr, parts)).encode("utf-8", "backslashreplace")
    return blake2b(written, digest_size=12).hexdigest()


def refused(error: Any) -> bool:
    """Return whether an error of a provider says that the request was too long."""
    return bool(error) and is_overflow(error) is not None


def is_reply(raw: Any) -> bool:
    """Return whether a message was written by the model."""
    values = plain(raw)
    if not isinstance(values, Mapping):
        return False
    kind = values.get("type")
    if isinstance(kind, str) and values.get("role") is None:
        return kind == "reasoning" or kind.endswith("_call")
    return values.get("role") in ("assistant", "model")


def replies(messages: Sequence[Any]) -> list[int]:
    """Return the positions at which an answer of the model begins."""
    by_model = [is_reply(raw) for raw in messages]
    return [i for i, reply in enumerate(by_model) if reply and i and not by_model[i - 1]]
