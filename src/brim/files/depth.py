"""How deep JSON values may be nested.

The walk needs no stack, so no nesting is too deep to be measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

MOST_DEPTH = 100
"""Levels of nesting that are read from strangers: more than any schema of a tool has, and far from any stack's end."""


def is_deep(value: Any) -> bool:
    """Return whether JSON values are nested deeper than anybody means to."""
    return any(depth >= MOST_DEPTH and any(map(_children, level)) for depth, level in enumerate(levels(value)))


def levels(value: Any) -> Iterator[list[Any]]:
    """Yield the values of some JSON, level by level; no stack is needed for it."""
    level = [value]
    while level:
        yield level
        level = [item for each in level for item in _children(each)]


def _children(value: Any) -> Sequence[Any]:
    if isinstance(value, Mapping):
        return list(value.values())
    return value if isinstance(value, list | tuple) else ()
