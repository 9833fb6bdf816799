"""The `[tool.brim]` table of a `pyproject.toml`, with the line of each key.

The standard library parses TOML without line numbers. Tables and keys begin lines, so a second pass over the text
finds them; a value inside a multi-line value has the line of its key.
"""

from __future__ import annotations

import re
import tomllib
from typing import Any

from brim.errors import SourceError
from brim.files.source import Keys, Source, text_of

NAME = "pyproject.toml"

_MOST_BYTES = 10_000_000
_HEADER = re.compile(r"\s*+(\[\[?)([^\[\]]++)\]\]?\s*+(?:#.*)?")
_KEY = re.compile(r"\s*((?:[\w-]+|\"[^\"]*\"|'[^']*')(?:\s*\.\s*(?:[\w-]+|\"[^\"]*\"|'[^']*'))*)\s*=")
_PART = re.compile(r"[\w-]+|\"[^\"]*\"|'[^']*'")
_AT_LINE = re.compile(r"\(at line (\d+), column \d+\)$")


def read_pyproject(path: str) -> Source | None:
    """Return the content of `[tool.brim]`, or `None` if there is no such table.

    Raises:
        SourceError: the file cannot be read, or is not valid TOML.
    """
    text = text_of(path, _MOST_BYTES)
    try:
        tools = tomllib.loads(text).get("tool")
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        found = _AT_LINE.search(str(error))
        problem = _AT_LINE.sub("", str(error)).strip().rstrip(".")
        line = int(found[1]) if found else None
        raise SourceError(path, f"not TOML: {problem[:1].lower()}{problem[1:]}", line=line) from error
    if not isinstance(tools, dict) or "brim" not in tools:
        return None
    return Source(path, _plain(tools["brim"]), _lines(text))


def _plain(value: Any) -> Any:
    """Return a value as plain data: dates become strings."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return value if isinstance(value, str | int | float | bool) else str(value)


def _lines(text: str) -> dict[Keys, int]:
    """Return the lines of tables and keys below `[tool.brim]`."""
    found: dict[Keys, int] = {}
    counts: dict[tuple[str, ...], int] = {}
    table: Keys = ()
    for number, line in enumerate(text.splitlines(), start=1):
        if header := _HEADER.fullmatch(line):
            names = _parts(header[2])
            if header[1] == "[[":
                counts[names] = counts.get(names, -1) + 1
            table = _indexed(names, counts)
            _put(found, table, number)
        elif key := _KEY.match(line):
            _put(found, (*table, *_parts(key[1])), number)
    return found


def _parts(written: str) -> tuple[str, ...]:
    return tuple(part.strip("\"'") for part in _PART.findall(written))


def _indexed(names: tuple[str, ...], counts: dict[tuple[str, ...], int]) -> Keys:
    """Return the path of a table, with the index of each array of tables in it."""
    way: list[str | int] = []
    for end, name in enumerate(names, start=1):
        way.append(name)
        if names[:end] in counts:
            way.append(counts[names[:end]])
    return tuple(way)


def _put(found: dict[Keys, int], keys: Keys, line: int) -> None:
    if keys[:2] == ("tool", "brim"):
        for end in range(2, len(keys) + 1):
            found.setdefault(keys[2:end], line)
