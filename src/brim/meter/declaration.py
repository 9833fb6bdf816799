"""Models that a project or a user declares in a small YAML file.

A file is read when a model is looked up, and again after it changes. Every error has its line.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from brim.errors import shown
from brim.files.source import Source, load, place
from brim.meter.names import fold

PROJECT_FILE = "brim.models.yaml"
"""In the current directory."""

USER_FILE = "brim/models.yaml"
"""Under `$XDG_CONFIG_HOME`, by default `~/.config`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Declaration:
    """The declaration of one model."""

    name: str
    """The name as written in the file."""
    fields: Mapping[str, Any]
    """The checked values; `framing`, `cache` and `prices` are mappings."""
    places: Mapping[str, tuple[str, int | None]]
    """The path and the line of each field."""

    def over(self, other: Declaration) -> Declaration:
        """Return both merged field by field; this one takes precedence."""
        fields = dict(other.fields)
        for key, value in self.fields.items():
            old = fields.get(key)
            fields[key] = {**old, **value} if isinstance(old, dict) and isinstance(value, dict) else value
        # The first mapping sets the order, the last one the values.
        places = {**self.places, **other.places, **self.places}
        return Declaration(name=self.name, fields=fields, places=places)


Overrides = Mapping[str, Declaration]


def declared(project: str | None = None, user: str | None = None) -> Overrides:
    """Return the declarations of two files, the project's fields over the user's; a missing file has none.

    The paths default to `PROJECT_FILE` and `USER_FILE`.

    Raises:
        SourceError: a file cannot be read or is invalid.
    """
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    merged: dict[str, Declaration] = {}
    for path in (user or os.path.join(home, USER_FILE), project or PROJECT_FILE):
        for key, new in _read(path).items():
            merged[key] = new.over(merged[key]) if key in merged else new
    return merged


_Check = tuple[Callable[[Any], object], str]
_COUNT: _Check = (lambda value: type(value) is int and value > 0, "a whole number of at least 1")
_UNITS: _Check = (lambda value: type(value) is int and value >= 0, "a whole number of at least 0")
_NUMBER: _Check = (lambda value: type(value) in (int, float) and 0 <= value < 1e9, "a number of at least 0")
_FLAG: _Check = (lambda value: type(value) is bool, "true or false")
_TEXT: _Check = (lambda value: type(value) is str and value.strip(), "a text")
_COUNTS: _Check = (lambda value: type(value) is list and all(map(_COUNT[0], value)), "a list of seconds")
_SHAPE: dict[str, _Check | dict[str, _Check]] = {
    "window": _COUNT,
    "max_input": _COUNT,
    "max_output": _COUNT,
    "shared": _FLAG,
    "vocabulary": _TEXT,
    "framing": dict.fromkeys(("per_message", "per_name", "reply"), _UNITS),
    "cache": {
        "minimum": _COUNT,
        "read": _NUMBER,
        "write": _NUMBER,
        "ttl": _COUNTS,
        "breakpoints": _UNITS,
        "automatic": _FLAG,
    },
    "prices": dict.fromkeys(("input", "output", "cached_read", "cache_write"), _NUMBER),
    "like": _TEXT,
    "guess": _FLAG,
}
_NEVER_NULL = {"like", "guess", "ttl", "per_message", "per_name", "reply"}


def _read(path: str) -> Mapping[str, Declaration]:
    """Return the declarations of a file under their folded names, parsed again once the file changes."""
    try:
        stat = os.stat(path)
        path = os.path.abspath(path)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return {}
    except (OSError, ValueError):  # The reader raises the error with its message.
        return _parsed(path, 0, 0)
    return _parsed(path, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=16)
def _parsed(path: str, _mtime_ns: int, _size: int) -> Mapping[str, Declaration]:
    source = load(path)
    found: dict[str, Declaration] = {}
    named = _mapping(source, (), "models") if _mapping(source, ("models",)) else {}
    for name in named:
        if not name.strip():
            raise source.error(f"models has no key {shown(name)}; a model has a name", "models", name)
        if first := found.get(fold(name)):
            raise source.error(f"models.{name} is declared twice, first as {first.name}", "models", name)
        keys = ("models", name)
        fields = {key: _value(source, _SHAPE[key], *keys, key) for key in _mapping(source, tuple(_SHAPE), *keys)}
        places = {key: (source.path, source.line(*keys, key)) for key in fields}
        if fields:
            found[fold(name)] = Declaration(name=name, fields=fields, places=places)
    return found


def _mapping(source: Source, known: tuple[str, ...], *keys: str) -> dict[str, Any]:
    """Return the mapping at `keys`; null is an empty one."""
    return {} if source.at(*keys) is None else source.mapping(known, *keys)


def _value(source: Source, check: _Check | dict[str, _Check], *keys: str) -> Any:
    """Return the value at `keys`, checked."""
    value = source.at(*keys)
    if value is None and keys[-1] not in _NEVER_NULL:
        return None
    if isinstance(check, dict):
        return {key: _value(source, check[key], *keys, key) for key in source.mapping(tuple(check), *keys)}
    accepts, expected = check
    if not accepts(value):
        raise source.error(f"{place(keys)} must be {expected}, not {shown(value)}", *keys)
    return tuple(value) if isinstance(value, list) else value
