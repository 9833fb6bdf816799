"""JSON with long strings, which other threads do not have to wait for.

A decoder reads a string in one go, and no other thread runs meanwhile: a quarter of a second for 32 MB of escapes. So
long strings are taken out of a text, decoded in pieces, and put in their places among the values.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from secrets import token_hex
from typing import Any, NamedTuple

Decode = Callable[[int], tuple[Any, int]]
"""Returns the value at a position of a text, and the position after it."""

_STEP = 250_000
"""Characters that are read in one go. A string without this many between its quotes is left to the decoder."""
_LONG = 4 * _STEP
"""Characters of a text that may take too long to decode in one go."""
_OPEN = re.compile(r'[^\\]"')
"""A quote that is not escaped; one after a backslash may or may not be."""
_DIVIDED = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}(?:\\(?:u[0-9a-fA-F]{0,3})?)?\Z"  # The first half of a pair.
    r"|\\u[0-9a-fA-F]{0,3}\Z"
)
"""An escape at the end of a piece that goes on in the next one."""
_LONGEST = 11
"""Characters of the longest one."""
_TO_FIRST = re.compile(r'(?:[^"\\]++|\\.)*+', re.DOTALL)
"""What stands before the first quote that is not escaped."""
_BLANK = re.compile(r"[ \t\n\r]*+")


def decode_of(text: str, decoder: json.JSONDecoder) -> Decode:
    """Return what decodes the values of a text.

    It raises what the decoder raises, with positions in this text.
    """
    strings = list(_long_strings(text)) if len(text) > _LONG else []
    return _LongJson(text, decoder, strings).decode if strings else partial(decoder.raw_decode, text)


def decoded(text: str, decoder: json.JSONDecoder) -> Any:
    """Return the one value of a text, as `decoder.decode` does.

    Raises:
        ValueError: it is not JSON.
        RecursionError: it is nested too deep.
    """
    value, end = decode_of(text, decoder)(_end(_BLANK, text, 0, len(text)))
    end = _end(_BLANK, text, end, len(text))
    if end != len(text):
        raise json.JSONDecodeError("Extra data", text, end)
    return value


def occurrences(text: str, part: str, start: int, end: int) -> int:
    """Return about how often a part stands in a text: where two steps meet, it is not looked for."""
    return sum(text.count(part, at, min(at + _STEP, end)) for at in range(start, end, _STEP))


class _LongString(NamedTuple):
    """Where a string stands, without its quotes."""

    start: int
    end: int


class _LongJson:
    """A text that is decoded with a mark in the place of each long string."""

    def __init__(self, text: str, decoder: json.JSONDecoder, strings: list[_LongString]) -> None:
        self._text, self._decoder, self._strings = text, decoder, strings
        self._token = token_hex(16)
        """Begins all marks; nobody who wrote the text can know it."""
        self._width = len(self._mark(0))
        parts, at, self._short_ends = [], 0, list[int]()
        size = 0
        for number, string in enumerate(strings):
            parts += [text[at : string.start], self._mark(number)]
            size += len(parts[-2]) + self._width
            self._short_ends.append(size)
            at = string.end
        self._short = "".join([*parts, text[at:]])

    def decode(self, at: int) -> tuple[Any, int]:
        """Return the value at a position, and the position after it."""
        begins = self._short_place(at)
        try:
            value, ends = self._decoder.raw_decode(self._short, begins)
        except json.JSONDecodeError as error:
            raise json.JSONDecodeError(error.msg, self._text, self._place(error.pos)) from None
        inside = range(bisect_right(self._short_ends, begins), bisect_right(self._short_ends, ends))
        strings = {self._mark(number): self._string(number) for number in inside}
        return _filled(value, strings) if strings else value, self._place(ends)

    def _mark(self, number: int) -> str:
        return f"{self._token}{number:08}"

    def _short_place(self, at: int) -> int:
        """Return where a position of the text is in the one with marks."""
        before = bisect_right(self._strings, at, key=lambda string: string.start)
        return at if not before else self._short_ends[before - 1] + at - self._strings[before - 1].end

    def _place(self, at: int) -> int:
        """Return where a position of the text with marks is in the text."""
        before = bisect_right(self._short_ends, at)
        return at if not before else self._strings[before - 1].end + at - self._short_ends[before - 1]

    def _string(self, number: int) -> str:
        start, end = self._strings[number]
        return "".join(self._pieces(start, end))

    def _pieces(self, start: int, end: int) -> Iterator[str]:
        for at, stop in _steps(self._text, start, end):
            try:
                yield json.loads(f'"{self._text[at:stop]}"')
            except json.JSONDecodeError as error:
                raise json.JSONDecodeError(error.msg, self._text, at + error.pos - 1) from None


def _filled(value: Any, strings: Mapping[str, str]) -> Any:
    """Return a value with strings in the places of their marks."""
    outer = [value]
    open_: list[Any] = [outer]
    while open_:
        node = open_.pop()
        for key, each in list(node.items()) if type(node) is dict else enumerate(node):
            if type(each) is dict or type(each) is list:
                open_.append(each)
            elif type(each) is str and each in strings:
                node[key] = strings[each]
        if type(node) is dict and not strings.keys().isdisjoint(node):
            fields = {strings.get(key, key): each for key, each in node.items()}
            if len(fields) < len(node):
                raise ValueError("a long key stands twice")
            node.clear()
            node.update(fields)
    return outer[0]


def _long_strings(text: str) -> Iterator[_LongString]:
    """Yield the long strings of a text: what stands between two quotes, if the first one opens a string."""
    quotes = counted = 0
    """The quotes that are not escaped, up to a position."""
    before: int | None = None
    """The start of the last step with a quote."""
    opening: int | None = None
    """The position after that quote, where steps without one follow."""
    for at, end in _steps(text, 0, len(text)):
        if not _has_quote(text, at, end):
            if opening is None and before is not None:
                opening = _last_quote(text, before, at) + 1
            continue
        if opening is not None:
            quotes += _quotes(text, counted, opening)
            counted = _end(_TO_FIRST, text, at, end)
            if quotes % 2:
                yield _LongString(opening, counted)
        before, opening = at, None


def _steps(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield a part of a text in steps that divide no escape; its start divides none."""
    while start < end:
        stop = start + _STEP
        yield start, (stop := end if stop >= end else _undivided(text, start, stop))
        start = stop


def _undivided(text: str, start: int, stop: int) -> int:
    """Return the end of a step that divides no escape; its start divides none."""
    stop += _backslashes(text, start, stop) % 2
    found = _DIVIDED.search(text, stop - _LONGEST, stop)
    while found is not None and _backslashes(text, start, found.start()) % 2:  # Its backslash is itself escaped.
        found = _DIVIDED.search(text, found.start() + 1, stop)
    return stop if found is None else found.start()


def _backslashes(text: str, start: int, end: int) -> int:
    """Return how many backslashes stand in a row at the end of a part of a text."""
    if start == end or text[end - 1] != "\\":
        return 0
    low, high, most = 1, 2, end - start
    while high <= most and text.endswith("\\" * high, start, end):
        low, high = high, 2 * high
    high = min(high, most + 1)
    while high - low > 1:  # To strip them off takes ten times as long.
        middle = (low + high) // 2
        low, high = (middle, high) if text.endswith("\\" * middle, start, end) else (low, middle)
    return low


def _has_quote(text: str, start: int, end: int) -> bool:
    """Return whether a step has a quote that is not escaped."""
    found = text.find('"', start, end)
    if found < 0:
        return False
    return _OPEN.search(text, max(start, found - 1), end) is not None or '"' in _plain(text[start:end])


def _last_quote(text: str, start: int, end: int) -> int:
    """Return the position of the last quote that is not escaped, in a step that has one."""
    at = text.rindex('"', start, end)
    while _backslashes(text, start, at) % 2:
        at = text.rindex('"', start, at)
    return at


def _quotes(text: str, start: int, end: int) -> int:
    """Return how many quotes that are not escaped stand in a part of a text."""
    return sum(_plain(text[at:stop]).count('"') for at, stop in _steps(text, start, end))


def _plain(piece: str) -> str:
    """Return a step without escaped backslashes and quotes."""
    return piece.replace("\\\\", "").replace('\\"', "") if "\\" in piece else piece


def _end(pattern: re.Pattern[str], text: str, start: int, stop: int) -> int:
    """Return the end of what a pattern matches at a position; it may match nothing."""
    found = pattern.match(text, start, stop)
    return found.end() if found else start
