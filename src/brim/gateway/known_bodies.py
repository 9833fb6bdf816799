"""Bodies that begin as an earlier one: what they repeat is not parsed again.

A client sends its whole conversation with each request, so most of a long body is the one before. Its messages are
taken from there as far as the text is the same, and only the rest is parsed.
"""

from __future__ import annotations

import json
import re
from array import array
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass, field, replace
from secrets import token_hex
from threading import Lock
from typing import Any, NamedTuple

from brim.errors import SourceError
from brim.files.depth import is_deep
from brim.files.json_body import ItemSpans, JsonBody, Span, body_of, is_strict, whole
from brim.files.text_digest import text_digest
from brim.gateway.body_values import bounded
from brim.wire.base import MESSAGE_KEYS

_LIST = re.compile(rf'(?<!\\)"({"|".join(MESSAGE_KEYS)})"[ \t\n\r]*+:[ \t\n\r]*+\[[ \t\n\r]*+')
_NEXT = re.compile(r"[ \t\n\r]*+([,\]])[ \t\n\r]*+")
_FIRST = 2
"""Messages by which the conversation of a body is found: the system prompt and the task, in most."""
_NEW = 12
"""The part of the memory, one in so many, that the first body of a conversation may take: it may be the only one."""
_REACH = 1_000_000
"""Characters within which the list of messages begins: a search to the end of a long body stops all threads."""
EACH_VALUE = 400
"""Bytes that a value of an object takes in memory, beside its text: many short messages take more than a long one."""

_DECODER = json.JSONDecoder(parse_int=whole)


class ParsedBody(NamedTuple):
    """The values of a body."""

    values: Any
    weight: int | None = None
    """About the bytes that they take in memory, if that is known."""
    known: KnownBody | None = None
    """Its messages, if it has a list of them."""


def parsed(text: str, most: int) -> ParsedBody:
    """Return the values of a JSON text that may have at most so many.

    Raises:
        HttpProblem: it has more.
        ValueError: it is not JSON.
        RecursionError: it is nested too deep.
    """
    bounded(text, most)
    values = _DECODER.decode(text)
    if is_deep(values):
        raise RecursionError
    return ParsedBody(values)


@dataclass(slots=True, kw_only=True)
class KnownBody:
    """The messages of a body, and where they stand in its text."""

    text: str = ""
    """The text to the end of the last message."""
    items: list[Any] = field(default_factory=list)
    starts: array[int] = field(default_factory=lambda: array("Q"))
    ends: array[int] = field(default_factory=lambda: array("Q"))
    weights: array[int] = field(default_factory=lambda: array("Q"))
    """About the bytes that the values up to the end of each message take in memory."""
    most: int = 0
    """A number of values that its text does not exceed."""
    checked: int = 0
    """How many of the first messages are known to repeat no key."""
    whole: Span = (0, 0)
    """The position of the list in the body."""

    @property
    def weight(self) -> int:
        """About the bytes that all of them take in memory."""
        return self.weights[-1] if self.weights else 0

    @property
    def size(self) -> int:
        """About the bytes that it takes in memory, with its text."""
        return self.weight + len(self.text)

    def begun(self) -> KnownBody:
        """Return its first messages, by which the next body of its conversation is found."""
        begun = self.first(_FIRST)
        begun.text = self.text[: begun.ends[-1]]
        return begun

    def first(self, count: int) -> KnownBody:
        """Return its first messages, without its text."""
        return KnownBody(
            items=self.items[:count],
            starts=self.starts[:count],
            ends=self.ends[:count],
            weights=self.weights[:count],
            most=self.most,
            checked=min(self.checked, count),
        )

    def strict(self, place: str, text: str) -> JsonBody:
        """Return a body with the positions of its messages; those that were checked before are not read again.

        Args:
            place: its name in errors.
            text: all of it.

        Raises:
            SourceError: it can be read in two ways.
        """
        (start, stop), empty = self.whole, "[]"
        with suppress(SourceError):
            outer = body_of(f"{text[:start]}{empty}{text[stop:]}", place, MESSAGE_KEYS)
            if outer.whole == (start, start + len(empty)) and is_strict(text, self.starts[self.checked :]):
                self.checked = len(self.items)
                moved = stop - start - len(empty)
                starts = {key: at + moved if at > start else at for key, at in outer.starts.items()}
                return replace(
                    outer,
                    text=text,
                    values={key: self.items if starts[key] == start else each for key, each in outer.values.items()},
                    items=self.items,
                    spans=ItemSpans(self.starts, self.ends),
                    whole=self.whole,
                    starts=starts,
                )
        return body_of(text, place, MESSAGE_KEYS)  # It says what is wrong, and where.

    def read(self, text: str, at: int, most: int | None = None) -> int:
        """Add the messages from a position on; return that of the next one, or of the bracket after the last.

        Raises:
            ValueError: they are not a list.
            RecursionError: they are nested too deep.
        """
        while text[at : at + 1] != "]" and (most is None or len(self.items) < most):
            value, end = _DECODER.raw_decode(text, at)
            last = self.ends[-1] if self.ends else 0
            self.weights.append(self.weight + end - last + EACH_VALUE * text.count('":', last, end))
            self.items.append(value)
            self.starts.append(at)
            self.ends.append(end)
            at = _following(text, end)
        return at

    def shared(self, text: str) -> int:
        """Return how many of its messages a text begins with; those by which it was found are the same."""
        if text.startswith(self.text):
            return len(self.items)
        low, high = _FIRST, len(self.items) - 1
        while low < high:
            middle = (low + high + 1) // 2
            if text.startswith(self.text[: self.ends[middle - 1]]):
                low = middle
            else:
                high = middle - 1
        return low


class KnownBodies:
    """The newest body of each conversation. Safe for threads; values are shared, so nobody may change them."""

    def __init__(self, most: int) -> None:
        self._most = most
        """About the bytes that all of them may take in memory."""
        self._known: OrderedDict[tuple[str, ...], KnownBody] = OrderedDict()
        self._size = 0
        self._lock = Lock()
        self._mark = token_hex(16)
        """Takes the place of the messages while the rest is parsed; no client can know it."""

    def parsed(self, text: str, most: int, owner: tuple[str, ...] = ()) -> ParsedBody:
        """Return the values of a body that may have at most so many; clients with different owners share nothing.

        Raises:
            HttpProblem: it has more.
            ValueError: it is not JSON.
            RecursionError: it is nested too deep.
        """
        found = _LIST.search(text, 0, _REACH)
        try:
            body = None if found is None else self._continued(text, most, found, owner)
        except (ValueError, RecursionError):
            body = None  # The parser of the whole says what is wrong.
        return parsed(text, most) if body is None else body

    def _continued(self, text: str, most: int, found: re.Match[str], owner: tuple[str, ...]) -> ParsedBody | None:
        """Return the values of a body with a list of messages; `None` for any other, or if it is nested too deep.

        Raises:
            HttpProblem: it has too many values.
            ValueError: it is not JSON.
            RecursionError: it is nested too deep.
        """
        body, at = _begun(text, most, found.end())
        name = (*owner, text_digest(text[: body.ends[-1]])) if len(body.items) == _FIRST else None
        before = None if name is None else self._get(name)
        same = 0 if before is None else before.shared(text)
        if before is not None:
            body = before.first(same)
            at = _following(text, body.ends[-1])
        body.most = bounded(text, most, start=at if before else 0, known=before.most if before else 0)
        end = body.read(text, at)
        body.whole = text.rindex("[", 0, found.end()), end + 1
        values = _DECODER.decode(f'{text[: found.end()]}"{self._mark}"{text[end:]}')
        if not isinstance(values, dict) or values.get(found[1]) != [self._mark]:
            return None  # The list stands inside of another value, or the key stands twice.
        if is_deep({**values, found[1]: body.items[same:]}):
            return None
        values[found[1]] = body.items
        if name is not None:
            body.text = text[: body.ends[-1]]
            self._put(name, body, new=before is None)
        after = len(text) - end + EACH_VALUE * text.count('":', end)
        return ParsedBody(values, body.weight + after, body)

    def _get(self, name: tuple[str, ...]) -> KnownBody | None:
        with self._lock:
            found = self._known.get(name)
            if found is not None:
                self._known.move_to_end(name)
            return found

    def _put(self, name: tuple[str, ...], body: KnownBody, *, new: bool) -> None:
        """Remember a body in place of the one before, and forget the oldest ones; of a large one the beginning."""
        if body.size > (self._most // _NEW if new else self._most):
            body = body.begun()
        with self._lock:
            before = self._known.pop(name, None)
            self._size -= before.size if before is not None else 0
            if body.size > self._most // (_NEW if len(body.items) == _FIRST else 1):
                return
            self._known[name] = body
            self._size += body.size
            while self._size > self._most:
                self._size -= self._known.popitem(last=False)[1].size


def _begun(text: str, most: int, at: int) -> tuple[KnownBody, int]:
    """Return the first messages of a body, and the position of the next one, or of the bracket after the last.

    A start of the text that is short enough cannot have too many values, so it is read before these are counted.

    Raises:
        HttpProblem: the body has too many values.
        ValueError: they are not a list.
        RecursionError: they are nested too deep.
    """
    start = text[:most]
    with suppress(ValueError):
        body, next_ = _first(start, at)
        if next_ < len(start):
            return body, next_
    bounded(text, most)
    return _first(text, at)


def _first(text: str, at: int) -> tuple[KnownBody, int]:
    body = KnownBody()
    return body, body.read(text, at, _FIRST)


def _following(text: str, end: int) -> int:
    """Return the position of the next message, or of the bracket after the last.

    Raises:
        ValueError: neither follows.
    """
    found = _NEXT.match(text, end)
    if found is None:
        raise ValueError
    if found[1] == "]":
        return found.start(1)
    if text[found.end() : found.end() + 1] == "]":  # A comma before it.
        raise ValueError
    return found.end()
