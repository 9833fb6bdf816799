"""Shorten a text to a limit, each way of doing so in a file of its own, loaded when it is first asked for."""

from __future__ import annotations

from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from brim.errors import InvalidValue
from brim.truncate.base import Cut, Truncator

if TYPE_CHECKING:
    from brim.truncate.code import Code
    from brim.truncate.diff import Diff
    from brim.truncate.ends import Ends
    from brim.truncate.head import Head
    from brim.truncate.json_shape import Json
    from brim.truncate.lines import Lines
    from brim.truncate.log import Log
    from brim.truncate.markdown import Markdown
    from brim.truncate.records import Records, Selection
    from brim.truncate.shape import Shape, kind_of
    from brim.truncate.tail import Tail

__all__ = [
    "Code",
    "Cut",
    "Diff",
    "Ends",
    "Head",
    "Json",
    "Lines",
    "Log",
    "Markdown",
    "Records",
    "Selection",
    "Shape",
    "Tail",
    "Truncator",
    "kind_of",
    "truncator",
]

_HOMES = {
    "Code": "code",
    "Diff": "diff",
    "Ends": "ends",
    "Head": "head",
    "Json": "json_shape",
    "Lines": "lines",
    "Log": "log",
    "Markdown": "markdown",
    "Records": "records",
    "Selection": "records",
    "Shape": "shape",
    "Tail": "tail",
    "kind_of": "shape",
}
"""The module of each public name that is loaded late."""

_MAKERS: dict[str, tuple[str, dict[str, Any]]] = {
    "head": ("Head", {}),
    "tail": ("Tail", {}),
    "ends": ("Ends", {}),
    "lines": ("Lines", {}),
    "newest": ("Records", {"keep": "newest"}),
    "best": ("Records", {"keep": "best"}),
    "shape": ("Shape", {}),
    "json": ("Json", {}),
    "markdown": ("Markdown", {}),
    "code": ("Code", {}),
    "log": ("Log", {}),
    "diff": ("Diff", {}),
}
"""What a section's `keep` names: a class, and how it is set up."""


def truncator(keep: str | Truncator, marker: str | None = None) -> Truncator:
    """Return the truncator of a name, or `keep` itself when it is one.

    `newest` and `best` take the lines of a text as its entries; `code:go` names the language. A `marker` of `None`
    is the truncator's own.

    Raises:
        InvalidValue: `keep` is neither a known name nor an object with a `truncate` method.
    """
    if not isinstance(keep, str) and hasattr(keep, "truncate"):
        return keep
    name, colon, language = keep.partition(":") if isinstance(keep, str) else ("", "", "")
    if name not in _MAKERS or (colon and not (name == "code" and language)):
        known = ", ".join(map(repr, _MAKERS))
        raise InvalidValue("keep", keep, f"one of {known}, or an object with a truncate method")
    return _made(name, language, marker)


@cache
def _made(name: str, language: str, marker: str | None) -> Truncator:
    kind, options = _MAKERS[name]
    make = partial(__getattr__(kind), **options, **({"language": language} if language else {}))
    made: Truncator = make() if marker is None else make(marker=marker)
    return made


def __getattr__(name: str) -> Any:
    """Load a public name from its module.

    Raises:
        AttributeError: there is no such name.
    """
    if name not in _HOMES:
        raise AttributeError(f"module 'brim.truncate' has no attribute {name!r}")
    return getattr(import_module(f"brim.truncate.{_HOMES[name]}"), name)
