"""The maximum nesting of JSON values, measured without recursion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

MOST_DEPTH = 100
"""The most levels in untrusted input: more than any tool schema has, and far below the recursion limit."""

_LEAVES = frozenset((str, int, float, bool, type(None)))


def is_deep(value: Any) -> bool:
    """Return whether JSON values are nested deeper than `MOST_DEPTH`."""
    level = [value]
    for _ in range(MOST_DEPTH + 1):
        level = [item for each in level if type(each) not in _LEAVES for item in _children(each)]
        if not level:
            return False
    return True


def _children(value: Any) -> Sequence[Any]:
    if isinstance(value, dict | Mapping):
        return list(value.values())
    return value if isinstance(value, list | tuple) else ()
