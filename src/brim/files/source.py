"""Untrusted text and YAML files, with the line of every value.

YAML is read as events: no tag can create an object, there are no aliases to expand, and every error has a line.
`yaml.compose` is not used because libyaml is recursive: a megabyte of brackets crashes the process. Plain scalars
follow YAML 1.2: null, true, false, numbers and strings; `no` and dates are strings.
"""

from __future__ import annotations

import codecs
import os
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from stat import S_ISDIR, S_ISFIFO, S_ISREG
from typing import Any

from brim.errors import SourceError, nearest, shown

STDIN = "-"
"""The name of standard input on the command line."""

STDIN_SHOWN = "standard input"

UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""The start of a UTF-16 file, as Windows PowerShell writes for redirected output."""
UTF16_PROBLEM = "UTF-16 is not supported: save it as UTF-8 (iconv -f UTF-16 -t UTF-8)"

MOST_BYTES = 10_000_000
"""The most bytes of a YAML file."""
_MOST_VALUES = 1_000_000
"""The most values of a YAML file; a flow may have thousands of steps."""
_MOST_DEPTH = 50

_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_SURROGATE_WRITTEN = re.compile(r"\\u[dD][89a-fA-F]")
_INT = re.compile(r"[-+]?[0-9][0-9_]{0,40}")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]{1,40}|[0-9]{1,40}(?:\.[0-9]{0,40})?)(?:[eE][-+]?[0-9]{1,4})?")
_WORDS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
}
_TAGS = {None, "!", *(f"tag:yaml.org,2002:{kind}" for kind in ("str", "seq", "map"))}

Keys = tuple[str | int, ...]
"""The path to a value: the key of each mapping and the index of each list."""


@dataclass(frozen=True, slots=True)
class Source:
    """The values of a YAML file."""

    path: str
    values: Any
    """Mappings, lists, texts, numbers, true, false, `None`."""
    lines: Mapping[Keys, int] = field(repr=False)

    def line(self, *keys: str | int) -> int | None:
        """Return the line of a value, or of the nearest value that contains it."""
        known = (self.lines.get(keys[:end]) for end in range(len(keys), -1, -1))
        return next((line for line in known if line is not None), None)

    def error(self, problem: str, *keys: str | int) -> SourceError:
        """Return an error about a value, with its line."""
        return SourceError(self.path, problem, line=self.line(*keys))

    def mapping(self, known: tuple[str, ...], *keys: str | int) -> dict[str, Any]:
        """Return the mapping at `keys`; if `known` is not empty, it lists the accepted keys.

        Raises:
            SourceError: it is not a mapping, or has an unknown key.
        """
        value = self.at(*keys)
        where = place(keys) or "the file"
        if not isinstance(value, dict):
            accepted = f" with {', '.join(known)}" if known else ""
            raise self.error(f"{where} must be a mapping{accepted}, not {shown(value)}", *keys)
        for key in value:
            if known and key not in known:
                near = nearest(key, known, most=1)
                advice = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}"
                raise self.error(f"{where} has no key {shown(key)}; {advice}", *keys, key)
        return value

    def at(self, *keys: str | int) -> Any:
        """Return the value at `keys`, which must exist."""
        value = self.values
        for key in keys:
            value = value[key]
        return value


def place(keys: Keys) -> str:
    """Return the path to a value as text: `sections[2].floor`."""
    text = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys)
    return text.removeprefix(".")


def text_of(path: str, most: int | None = None) -> str:
    """Return the exact text of a file, or of standard input for `-`.

    Raises:
        SourceError: it is missing, not a file, unreadable, binary, not UTF-8, or has more than `most` bytes.
    """
    data, path = _bytes_of(path, most)
    if data.startswith(UTF16):
        raise SourceError(path, UTF16_PROBLEM)
    nul = data.find(b"\0")
    if nul >= 0:
        raise SourceError(path, f"a binary file, not text: byte {nul:,} is NUL")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SourceError(path, f"not UTF-8 text: {error.reason} at byte {error.start:,}", line=line) from error


def _bytes_of(path: str, most: int | None) -> tuple[bytes, str]:
    """Return the bytes of a file, and its name for messages."""
    limit = -1 if most is None else most + 1
    try:
        if path == STDIN:
            path, data = STDIN_SHOWN, sys.stdin.buffer.read(limit)
        else:
            kind = os.stat(path).st_mode
            if S_ISDIR(kind):
                raise SourceError(path, "a directory, not a file")
            if not (S_ISREG(kind) or S_ISFIFO(kind)):  # Such as /dev/zero, which never ends.
                raise SourceError(path, "not a regular file")
            with open(path, "rb") as file:
                data = file.read(limit)
    except OSError as error:
        raise SourceError(path, (error.strerror or str(error)).lower()) from error
    except ValueError as error:  # A path with a NUL.
        raise SourceError(repr(path), str(error)) from error
    if most is not None and len(data) > most:
        raise SourceError(path, f"larger than the limit of {most:,} bytes")
    return data, path


def load(path: str) -> Source:
    """Return the values of a YAML file with their lines.

    Raises:
        SourceError: the file cannot be read, is not plain YAML, or is too large.
    """
    return parse(text_of(path, MOST_BYTES), STDIN_SHOWN if path == STDIN else path)


def parse(text: str, path: str) -> Source:
    """Return the values of a YAML text with their lines; `path` is its name in errors.

    Raises:
        SourceError: it is not plain YAML, or is too large.
    """
    import yaml

    text = text.removeprefix("\ufeff")
    if found := _UNPRINTABLE.search(text):
        line = text.count("\n", 0, found.start()) + 1
        raise SourceError(path, f"not YAML: the control character {found[0]!r}", line=line)
    builder = _Builder(path, text)
    try:
        values = builder.document()
    except yaml.YAMLError as error:
        mark: Any = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
        raise SourceError(path, f"not YAML: {problem}", line=mark.line + 1 if mark else None) from error
    return Source(path, values, builder.lines)


class _Builder:
    """Turns the events of one file into values."""

    def __init__(self, path: str, text: str) -> None:
        import yaml

        self.path = path
        self.lines: dict[Keys, int] = {}
        # libyaml is far faster, and refuses the escaped surrogates that JSON is full of.
        fast = None if _SURROGATE_WRITTEN.search(text) else getattr(yaml, "CSafeLoader", None)
        loader = fast or yaml.SafeLoader
        self._events: Iterator[Any] = yaml.parse(text, Loader=loader)
        self._kinds = yaml.events
        self._values = 0

    def document(self) -> Any:
        """Return the value of the only document; `None` if there is none."""
        event = self._next(self._kinds.StreamStartEvent)
        if isinstance(event, self._kinds.StreamEndEvent):
            return None
        value = self._value(next(self._events), (), 0)
        end = self._next(self._kinds.DocumentEndEvent)
        if not isinstance(end, self._kinds.StreamEndEvent):
            raise self._refusal(end, "more than one document; a file has one")
        return value

    def _next(self, passed: type) -> Any:
        event = next(self._events)
        return next(self._events) if isinstance(event, passed) else event

    def _value(self, event: Any, keys: Keys, depth: int) -> Any:
        """Return the value that an event starts."""
        self.lines.setdefault(keys, self._line(event))
        if isinstance(event, self._kinds.AliasEvent):
            raise self._refusal(event, f"the alias *{event.anchor} is not supported; write the value itself")
        if event.tag not in _TAGS:
            tag = event.tag.replace("tag:yaml.org,2002:", "!!")
            raise self._refusal(event, f"the tag {shown(tag)} is not allowed; use plain values")
        if depth > _MOST_DEPTH:
            raise self._refusal(event, f"nested more than {_MOST_DEPTH} levels deep")
        self._values += 1
        if self._values > _MOST_VALUES:
            raise self._refusal(event, f"more than {_MOST_VALUES:,} values")
        if isinstance(event, self._kinds.ScalarEvent):
            return self._scalar(event)
        if isinstance(event, self._kinds.SequenceStartEvent):
            return self._sequence(keys, depth)
        return self._mapping(keys, depth)

    def _sequence(self, keys: Keys, depth: int) -> list[Any]:
        items: list[Any] = []
        while not isinstance(event := next(self._events), self._kinds.SequenceEndEvent):
            items.append(self._value(event, (*keys, len(items)), depth + 1))
        return items

    def _mapping(self, keys: Keys, depth: int) -> dict[str, Any]:
        items: dict[str, Any] = {}
        while not isinstance(event := next(self._events), self._kinds.MappingEndEvent):
            if not isinstance(event, self._kinds.ScalarEvent):
                raise self._refusal(event, "a key must be a string")
            key, line = _joined(event.value), self._line(event)
            if key in items:
                first = self.lines[*keys, key]
                raise self._refusal(event, f"the key {shown(key)} is repeated, first on line {first}")
            self.lines[*keys, key] = line
            items[key] = self._value(next(self._events), (*keys, key), depth + 1)
        return items

    def _scalar(self, event: Any) -> Any:
        text: str = _joined(event.value)
        if event.tag is not None or not event.implicit[0]:
            return text
        if text in _WORDS:
            return _WORDS[text]
        if _INT.fullmatch(text):
            return int(text.replace("_", ""))
        return float(text) if _FLOAT.fullmatch(text) else text

    def _refusal(self, event: Any, problem: str) -> SourceError:
        return SourceError(self.path, problem, line=self._line(event))

    @staticmethod
    def _line(event: Any) -> int:
        return int(event.start_mark.line) + 1


def _joined(text: str) -> str:
    """Return a text in which each pair of surrogates, as in JSON, is joined to one character."""
    if not _SURROGATE.search(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
