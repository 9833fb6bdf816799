"""A JSON file with a list: its values, and the positions of the items, for the lines in errors."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from brim.errors import SourceError, shown
from brim.files.depth import MOST_DEPTH, is_deep
from brim.files.source import STDIN, STDIN_SHOWN, text_of

MOST_BYTES = 100_000_000
"""Providers accept at most 50 million."""
_MOST_DIGITS = 300
"""The most digits of a whole number: the time to parse one is quadratic, and a larger one is no float."""
_BLANK = re.compile(r"[ \t\n\r]*")

Span = tuple[int, int]
"""A position in the text: its start and end."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JsonBody:
    """The content of a JSON file."""

    path: str
    text: str
    values: Mapping[str, Any] = field(default_factory=dict)
    """The values of its keys; empty if the file is a list."""
    items: Sequence[Any] | None = None
    """The items of the list; `None` if there is no list."""
    spans: Sequence[Span] = ()
    """The position of each item."""
    whole: Span = (0, 0)
    """The position of the list, or of the value with its key."""
    starts: Mapping[str, int] = field(default_factory=dict, repr=False)
    """The start of each value."""

    def error(self, problem: str, *at: str | int) -> SourceError:
        """Return an error about a key or an item, with its line."""
        place = self.whole[0]
        if at:
            key = at[0]
            place = self.spans[key][0] if isinstance(key, int) and key < len(self.spans) else place
            place = self.starts.get(key, place) if isinstance(key, str) else place
        return SourceError(self.path, problem, line=_line(self.text, place))


def read_body(path: str, lists: Sequence[str]) -> JsonBody:
    """Return the body of a file: an object with the list under one of the keys `lists`, or a list.

    Raises:
        SourceError: the file cannot be read, is not JSON, repeats a key, or is nested too deep.
    """
    text = text_of(path, MOST_BYTES).removeprefix("\ufeff")
    return body_of(text, STDIN_SHOWN if path == STDIN else path, lists)


def body_of(text: str, place: str, lists: Sequence[str]) -> JsonBody:
    """Return the body of a text, like `read_body`; `place` is its name in errors.

    Raises:
        SourceError: it is not JSON, repeats a key, or is nested too deep.
    """
    return _Reader(place, text).body(lists)


class _Reader:
    """Reads the two outer levels of a text; the decoder reads the inner ones."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text

    def body(self, lists: Sequence[str]) -> JsonBody:
        start = self._skip(0)
        if self._next(start) == "{":
            body, end = self._object(start, lists)
        elif self._next(start) == "[":
            items, spans, end = self._list(start, "")
            body = JsonBody(path=self.path, text=self.text, items=items, spans=spans, whole=(start, end))
        else:
            value, _ = self._value(start, "")
            raise self._error(f"a request is an object or a list of messages, not {shown(value)}", start)
        at = self._skip(end)
        if at < len(self.text):
            hint = "; brim audit reads a file with a request on each line" if "\n" in self.text[end:at] else ""
            raise self._error(f"not JSON: extra data after its end{hint}", at)
        return body

    def _object(self, start: int, lists: Sequence[str]) -> tuple[JsonBody, int]:
        values: dict[str, Any] = {}
        starts: dict[str, int] = {}
        items: list[Any] | None = None
        spans: list[Span] = []
        whole = (start, start)
        at, more = self._after(start + 1, "}", first=True)
        while more:
            key, at = self._key(at)
            if key in values:
                raise self._error(f"the key {shown(key)} is repeated", at)
            starts[key] = at
            if key in lists and self._next(at) == "[":
                items, spans, end = self._list(at, key)
                values[key] = items
            else:
                values[key], end = self._value(at, key)
            if key in lists:
                whole = (at, end)
            at, more = self._after(end, "}")
        body = JsonBody(
            path=self.path, text=self.text, values=values, items=items, spans=spans, whole=whole, starts=starts
        )
        return body, at

    def _list(self, start: int, key: str) -> tuple[list[Any], list[Span], int]:
        items: list[Any] = []
        spans: list[Span] = []
        at, more = self._after(start + 1, "]", first=True)
        while more:
            value, end = self._value(at, f"{key or 'messages'}[{len(items)}]")
            items.append(value)
            spans.append((at, end))
            at, more = self._after(end, "]")
        return items, spans, at

    def _key(self, at: int) -> tuple[str, int]:
        """Return a key, and the start of its value."""
        if self._next(at) != '"':
            raise self._error("not JSON: a key must begin with a double quote", at)
        key, end = self._value(at, "")
        end = self._skip(end)
        if self._next(end) != ":":
            raise self._error(f"not JSON: a colon must follow the key {shown(key)}", end)
        return key, self._skip(end + 1)

    def _after(self, at: int, closing: str, *, first: bool = False) -> tuple[int, bool]:
        """Return the position of the next value and true, or the end of the list and false."""
        at = self._skip(at)
        if self._next(at) == closing:
            return at + 1, False
        if not first and self._next(at) != ",":
            raise self._error(f"not JSON: a comma or {closing} must follow", at)
        return (at if first else self._skip(at + 1)), True

    def _value(self, at: int, place: str) -> tuple[Any, int]:
        prefix = f"{place}: " if place else ""
        try:
            value, end = _DECODER.raw_decode(self.text, at)
        except json.JSONDecodeError as error:
            msg = error.msg[:1].lower() + error.msg[1:].removesuffix(" starting at").removesuffix(" at")
            raise self._error(f"not JSON: {msg}", error.pos) from error
        except ValueError as error:
            raise self._error(f"{prefix}{error}", at) from error
        except RecursionError as error:
            raise self._error(f"{prefix}nested more than {MOST_DEPTH} levels deep", at) from error
        if is_deep(value):
            raise self._error(f"{prefix}nested more than {MOST_DEPTH} levels deep", at)
        return value, end

    def _skip(self, at: int) -> int:
        """Return the position of the next character that is not whitespace."""
        found = _BLANK.match(self.text, at)
        return found.end() if found else at

    def _next(self, at: int) -> str:
        return self.text[at : at + 1]

    def _error(self, problem: str, at: int) -> SourceError:
        return SourceError(self.path, problem, line=_line(self.text, at))


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; a repeated key is an error."""
    made = dict(pairs)
    if len(made) < len(pairs):
        seen = set[str]()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {shown(twice)} is repeated")
    return made


def whole(digits: str) -> int:
    """Return a whole number of untrusted JSON.

    As the `parse_int` of a decoder, it also lets other threads run, which a single C call for the whole text would not.

    Raises:
        ValueError: it has too many digits.
    """
    if len(digits) > _MOST_DIGITS:
        raise ValueError(f"a number of {len(digits):,} digits")
    return int(digits)


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_once, parse_int=whole, parse_constant=_no_number)
