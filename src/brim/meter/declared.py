"""What a project or a user says about models, in a small YAML file.

A file is read when a model is looked up, and read again once it changes. Whatever is refused is named with its line.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from brim.errors import SourceError, nearest, shown
from brim.meter.names import fold

if TYPE_CHECKING:
    from yaml import Node, SafeLoader

PROJECT_FILE = "brim.models.yaml"
"""Looked for in the current directory."""

USER_FILE = "brim/models.yaml"
"""Looked for under `$XDG_CONFIG_HOME`, by default `~/.config`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Declaration:
    """What files say about one model."""

    name: str
    """The name as it is written in the file."""
    fields: Mapping[str, Any]
    """The checked values; those of `framing`, `cache` and `prices` are mappings of their own."""
    places: Mapping[str, tuple[str, int]]
    """The path and the line of each field."""

    def over(self, other: Declaration) -> Declaration:
        """Return both as one, field by field, where this one has the last word."""
        fields = dict(other.fields)
        for key, value in self.fields.items():
            old = fields.get(key)
            fields[key] = {**old, **value} if isinstance(old, dict) and isinstance(value, dict) else value
        # The first mapping sets the order, the last one the values.
        places = {**self.places, **other.places, **self.places}
        return Declaration(name=self.name, fields=fields, places=places)


Overrides = Mapping[str, Declaration]


def declared(project: str | None = None, user: str | None = None) -> Overrides:
    """Return what two files declare, the project's fields over the user's; a missing file says nothing.

    The paths are those of `PROJECT_FILE` and `USER_FILE` where they are not given.

    Raises:
        SourceError: a file cannot be read or understood.
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
_COUNTS: _Check = (lambda value: type(value) is tuple and all(map(_COUNT[0], value)), "a list of seconds")
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
    return _parsed(path, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=16)
def _parsed(path: str, _mtime_ns: int, _size: int) -> Mapping[str, Declaration]:
    from yaml import SafeLoader, YAMLError

    try:
        with open(path, "rb") as file:
            loader = SafeLoader(file.read())
        root = loader.get_single_node()
    except OSError as error:
        raise SourceError(path, error.strerror or str(error)) from error
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
        raise SourceError(path, f"not YAML: {problem}", line=mark.line + 1 if mark else None) from error
    except RecursionError:
        raise SourceError(path, "nested too deeply") from None
    return _Sheet(path, loader).declarations(root)


_PLAIN = frozenset(f"tag:yaml.org,2002:{kind}" for kind in ("bool", "float", "int", "null", "str"))


def _shape(node: Node) -> object:
    """Return `scalar`, `sequence` or `mapping`, whatever tag the file puts on the node."""
    return getattr(node, "id", None)


def _is_null(node: Node) -> bool:
    return _shape(node) == "scalar" and node.tag == "tag:yaml.org,2002:null"


class _Sheet:
    """A parsed file of declarations; whatever it refuses, it names the line."""

    def __init__(self, path: str, loader: SafeLoader) -> None:
        self.path = path
        self.loader = loader

    def declarations(self, root: Node | None) -> dict[str, Declaration]:
        found: dict[str, Declaration] = {}
        for _, models_node in self.pairs(root, "the file", ["models"]):
            for name, node in self.pairs(models_node, "models"):
                if fold(name) in found:
                    raise self.refusal(node, f"models: {name} is declared twice")
                fields: dict[str, Any] = {}
                places: dict[str, tuple[str, int]] = {}
                for key, value in self.pairs(node, f"models: {name}", _SHAPE):
                    fields[key] = self.value(value, f"models: {name}: {key}", key, _SHAPE[key])
                    places[key] = (self.path, value.start_mark.line + 1)
                if fields:
                    found[fold(name)] = Declaration(name=name, fields=fields, places=places)
        return found

    def pairs(self, node: Node | None, where: str, known: Iterable[str] = ()) -> Iterator[tuple[str, Node]]:
        """Yield the keys and the values of a mapping; nothing at all is an empty one."""
        if node is None or _is_null(node):
            return
        if _shape(node) != "mapping":
            raise self.refusal(node, f"{where} must be a mapping")
        seen: set[str] = set()
        for key_node, value in node.value:
            key = key_node.value if _shape(key_node) == "scalar" else ""
            if not key.strip() or (known and key not in known):
                near = ", ".join(nearest(key, known) or sorted(known)) or "a name"
                raise self.refusal(key_node, f"{where} has no key {shown(key)}; known: {near}")
            if key in seen:
                raise self.refusal(key_node, f"{where} has {key} twice")
            seen.add(key)
            yield key, value

    def value(self, node: Node, where: str, key: str, check: _Check | dict[str, _Check]) -> Any:
        """Return what a node says, checked."""
        if _is_null(node) and key not in _NEVER_NULL:
            return None
        if isinstance(check, dict):
            return {
                part: self.value(sub, f"{where}: {part}", part, check[part])
                for part, sub in self.pairs(node, where, check)
            }
        accepts, expected = check
        said = tuple(map(self.scalar, node.value)) if _shape(node) == "sequence" else self.scalar(node)
        if not accepts(said):
            raise self.refusal(node, f"{where} must be {expected}, not {shown(said)}")
        return said

    def scalar(self, node: Node) -> Any:
        """Return a plain value; what is none comes back as something that no check accepts."""
        if _shape(node) != "scalar" or node.tag not in _PLAIN:
            return {}
        try:
            return self.loader.construct_object(node)
        except (ValueError, KeyError):  # such as `!!int many`
            return {}

    def refusal(self, node: Node, problem: str) -> SourceError:
        return SourceError(self.path, problem, line=node.start_mark.line + 1)
