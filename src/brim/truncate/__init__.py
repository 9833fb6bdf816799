"""Shorten a text to a limit. Each truncator has its own file, which is loaded on first use."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

from brim.amounts import units
from brim.errors import DoesNotFit, InvalidType, InvalidValue
from brim.meter import Meter, meter_for
from brim.truncate.base import Cut, Truncator, shrink

__all__ = ["Cut", "Truncator", "cut", "shortened", "truncator"]

_MODULES = {
    **dict.fromkeys(("head", "tail", "ends", "lines"), "ends"),
    **dict.fromkeys(("newest", "best"), "records"),
    **dict.fromkeys(("shape", "json", "markdown", "code", "log", "diff"), "shape"),
}
"""The module of each value of a section's `keep`."""


def truncator(keep: str | Truncator, marker: str | None = None) -> Truncator:
    """Return the truncator with a name, or `keep` itself if it is a truncator.

    `newest` and `best` use the lines of a text as its entries. A `marker` of `None` is the truncator's own.

    Raises:
        InvalidValue: `keep` is neither a known name nor an object with a `truncate` method.
    """
    if not isinstance(keep, str) and hasattr(keep, "truncate"):
        return keep
    if not isinstance(keep, str) or keep not in _MODULES:
        known = ", ".join(map(repr, _MODULES))
        raise InvalidValue("keep", keep, f"one of {known}, or an object with a truncate method")
    return _named(keep, marker)


@cache
def _named(name: str, marker: str | None) -> Truncator:
    module = import_module(f"brim.truncate.{_MODULES[name]}")
    options = {} if marker is None else {"marker": marker}
    built: Truncator
    if _MODULES[name] == "records":
        built = module.Records(keep=name, **options)
    elif _MODULES[name] == "shape":
        built = module.Shape(kind=None if name == "shape" else name, **options)
    else:
        built = getattr(module, name.capitalize())(**options)
    return built


def cut(
    text: str,
    limit: int,
    meter: Meter | str | Callable[[str], int] | None = None,
    *,
    model: str | None = None,
    keep: Any = "head",
    marker: str | None = None,
) -> Cut:
    """Return a version of `text` of at most `limit` tokens, marker included; a text that fits is unchanged.

    Raises:
        DoesNotFit: not even the marker and a piece of the text count at most `limit`.
        InvalidValue: an argument is invalid.
    """
    if not isinstance(text, str):
        raise InvalidType("text", text, "a string")
    scale = meter_for(meter, model)
    return truncator(keep, marker).truncate(text, max(0, units("limit", limit) - scale.overhead), scale)


def shortened(text: str, limit: int, meter: Meter, keep: str = "head", note: str = "") -> str:
    """Return `text`, cut as `keep` says, followed by `note`, together at most `limit` tokens.

    A bare prefix of the text is returned if not even the marker and the note fit.
    """
    way, rest = truncator(keep), meter.count(note)
    try:
        return shrink(text, limit, meter, lambda room: way.truncate(text, room - rest, meter).text + note).text
    except DoesNotFit:
        return meter.head(text, max(0, limit))
