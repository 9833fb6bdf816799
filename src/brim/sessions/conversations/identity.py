"""Decides which conversation a request without a name continues.

Such a request brings its whole history, so it continues the conversation whose newest request it contains, or contains
except for an edited end. Many users of a program begin with the same words: if it is not clear who is speaking, a new
conversation begins, which costs a little cache and can show nobody the text of another.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from brim.files.text_digest import text_digest
from brim.wire import plain
from brim.wire.base import Format, jsonable

NAME_HEADER = "x-brim-session-id"
"""The header of a request, to `brim.wrap` or to a gateway, that names its conversation."""
_MARKS = ("cache_control", "prompt_cache_breakpoint", "cachePoint")
_SYSTEM = ("system", "developer")
_TEXTS = ("text", "input_text", "output_text")
"""The types of a block with a text, which can also be written as a string."""
_END = 2
"""Messages at the end that an edit may have replaced: an answer and the question after it."""


class ConversationKey(NamedTuple):
    """What the requests of a conversation have in common, apart from their first messages."""

    model: str
    format: Format | None
    owner: tuple[str, ...] = ()
    """The owner; different owners share nothing. In a gateway, it consists of the name of the client's key, the route,
    and a tag of any other keys that the client sends.
    """


class RequestEnd(NamedTuple):
    """Where requests of a conversation ended."""

    length: int
    """The number of their messages."""
    requests: int
    """How many requests ended there: a repeated one may be that of another user."""


Ends = tuple[RequestEnd, ...]
"""The ends of the requests of a conversation: those that were repeated until the first that was not, and the newest."""


class Candidate(NamedTuple):
    """A conversation that a request may continue."""

    name: str
    ends: Ends
    known: int
    """The messages of its newest request."""
    shared: int
    """How many of these the request begins with."""
    leading: int
    """How many of these are its system prompt, whose text may differ."""
    same_system: bool
    """Whether the text of the system prompt is the same."""

    @property
    def contained(self) -> bool:
        """Whether the request contains its newest request."""
        return 0 < self.known == self.shared

    @property
    def shared_ends(self) -> Ends:
        """The ends of its requests within what the request has in common with it."""
        return tuple(end for end in self.ends if end.length <= self.shared)

    @property
    def single(self) -> bool:
        """Whether the request goes on from one that was sent only once, so by nobody else."""
        return any(end.requests == 1 for end in self.shared_ends)

    @property
    def edited(self) -> bool:
        """Whether only the end of its newest request differs, and at most half of it unless it is `single`."""
        changed = self.known - self.shared
        return 0 < changed <= _END and (changed <= self.shared - self.leading or self.single)

    @property
    def doubtful(self) -> bool:
        """Whether an edit may be that of another user: all requests that it could go on from were repeated."""
        return self.edited and bool(self.shared_ends) and not self.single


class ConversationMatch(NamedTuple):
    """The conversation of a request."""

    name: str | None
    """The conversation that it continues; `None` if it begins a new one."""
    ends: Ends = ()
    """The ends of earlier requests within it."""


def continuation(candidates: Iterable[Candidate], length: int) -> ConversationMatch | None:
    """Return the conversation that a request of `length` messages continues; `None` if no candidate is near.

    It is the one with which the request has the most in common, and among several, one that it contains, and then one
    with the same system prompt. One with another system prompt counts less if the request says nothing more. If there
    is still more than one, or if the request may be that of another user, it begins a new conversation.
    """
    near = [each for each in candidates if each.contained or each.edited]
    if not near:
        return None
    ranks = [_rank(each, length) for each in near]
    best = [each for each, rank in zip(near, ranks, strict=True) if rank == max(ranks)]
    one = best[0]
    repeated = length == one.known == one.leading + 1 and not one.same_system  # First words, of another user perhaps.
    if len(best) > 1 or one.doubtful or repeated:
        return ConversationMatch(None, repeated_ends(one.shared_ends))
    return ConversationMatch(one.name, one.shared_ends)


def _rank(candidate: Candidate, length: int) -> tuple[bool, int, bool, bool]:
    """Return how likely a candidate is the conversation of a request of `length` messages."""
    same, grows = candidate.same_system, candidate.known < length
    return same or grows, candidate.shared, candidate.contained, same


def repeated_ends(ends: Ends) -> Ends:
    """Return the ends of requests that others may have sent too."""
    return tuple(end._replace(requests=2) for end in ends)


def with_request(ends: Ends, length: int) -> Ends:
    """Return the ends of the requests of a conversation after one more, of `length` messages."""
    before = [end for end in ends if end.length < length]
    single = next((at for at, end in enumerate(before, 1) if end.requests == 1), len(before))
    requests = 1 + sum(end.requests for end in ends if end.length == length)
    return (*before[:single], RequestEnd(length, requests))


def first_words(messages: Sequence[Any]) -> Ends:
    """Return the ends of a conversation from a store that has only the first words, with which others begin too."""
    return (RequestEnd(len(messages), 2),) if len(messages) - leading(messages) == 1 else ()


def leading(messages: Sequence[Any]) -> int:
    """Return the number of leading system messages, which may differ in each request, for example in a time."""
    read = (plain(raw) for raw in messages)
    roles = (raw.get("role") if isinstance(raw, Mapping) else None for raw in read)
    return next((at for at, role in enumerate(roles) if role not in _SYSTEM), len(messages))


def fingerprints(messages: Sequence[Any], before: str = "") -> list[str]:
    """Return the fingerprint after each message; `before` is the fingerprint of the messages that precede them."""
    found, last = list[str](), before
    for raw in messages:
        last = text_digest(f"{last}\x1d{json.dumps(_said(raw), sort_keys=True, default=str)}")
        found.append(last)
    return found


def beginnings(messages: Sequence[Any], key: ConversationKey) -> list[str]:
    """Return the fingerprint of each beginning of a conversation without its system prompt: one message, two, ..."""
    return fingerprints(messages[leading(messages) :] or messages, json.dumps(key))


def says_same(one: Any, other: Any) -> bool:
    """Return whether two messages are the same, apart from what says nothing."""
    return bool(one == other) or _said(one) == _said(other)


def _said(value: Any) -> Any:
    """Return a message as JSON values without what says nothing: cache marks, empty fields, and a text as a block.

    Anything else, also a field that is unknown, tells messages apart.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple):
        blocks = [_said(each) for each in value]
        if len(blocks) == 1 and isinstance(blocks[0], dict) and set(blocks[0]) == {"type", "text"}:
            return blocks[0]["text"] if blocks[0]["type"] in _TEXTS else blocks
        return [each for each in blocks if each != {}]
    known = plain(value)
    if isinstance(known, Mapping):
        fields = {key: _said(each) for key, each in known.items() if key not in _MARKS}
        return {key: each for key, each in fields.items() if each not in (None, "", [], {})}
    return _said(known) if isinstance(known, list | tuple) else jsonable(known)


def bare(raw: Any) -> Any:
    """Return a message without cache marks.

    Cache marks move from request to request, and a provider accepts only a few, so messages changed by brim have none.
    """
    if not isinstance(raw, dict):
        return raw
    content = raw.get("content")
    if isinstance(content, list) and any(map(_is_marked, content)):
        return {**_unmarked(raw), "content": [each for each in map(_unmarked, content) if each]}
    return _unmarked(raw)


def _is_marked(value: Any) -> bool:
    return isinstance(value, dict) and not value.keys().isdisjoint(_MARKS)


def _unmarked(value: Any) -> Any:
    return {key: each for key, each in value.items() if key not in _MARKS} if _is_marked(value) else value
