"""Shorten a text to a limit, each way of doing so in a file of its own."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from brim.errors import InvalidValue
from brim.truncate.base import Cut, Truncator
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


def _best(**options: Any) -> Records:
    return Records(keep="best", **options)


_MAKERS: dict[str, Callable[..., Truncator]] = {
    "head": Head,
    "tail": Tail,
    "ends": Ends,
    "lines": Lines,
    "newest": Records,
    "best": _best,
    "shape": Shape,
    "json": Json,
    "markdown": Markdown,
    "code": Code,
    "log": Log,
    "diff": Diff,
}


def truncator(keep: str | Truncator, marker: str | None = None) -> Truncator:
    """Return the truncator of a name, or `keep` itself when it is one.

    `newest` and `best` take the lines of a text as its entries; `code:go` names the language. A `marker` of `None`
    is the truncator's own.

    Raises:
        InvalidValue: `keep` is neither a known name nor an object with a `truncate` method.
    """
    if not isinstance(keep, str) and hasattr(keep, "truncate"):
        return keep
    name, _, language = keep.partition(":") if isinstance(keep, str) else ("", "", "")
    make = _MAKERS.get(name)
    if language and make is Code:
        make = partial(Code, language=language)
    elif make is None or name != keep:
        known = ", ".join(map(repr, _MAKERS))
        raise InvalidValue("keep", keep, f"one of {known}, or an object with a truncate method")
    return make() if marker is None else make(marker=marker)
