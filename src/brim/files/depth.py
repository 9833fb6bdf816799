"""The maximum nesting of JSON values.

The walk is not recursive, so no nesting is too deep to be measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

MOST_DEPTH = 100
"""Maximum levels of untrusted input: more than any tool schema has, and far below the recursion limit."""


def is_deep(value: Any) -> bool:
    """Return whether JSON values are nested deeper than `MOST_DEPTH`."""
    return any(depth >= MOST_DEPTH and any(map(_children, level)) for depth, level in enumerate(levels(value)))


def levels(value: Any) -> Iterator[list[Any]]:
    """Yield JSON values level by level, without recursion."""
    level = [value]
    while level:
        yield level
        level = [item for each in level for item in _children(each)]


def _children(value: Any) -> Sequence[Any]:
    if isinstance(value, Mapping):
        return list(value.values())
    return value if isinstance(value, list | tuple) else ()
