"""Applies a function to every string in JSON values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


def map_strings(value: Any, change: Callable[[str], str], *, keys: bool = False) -> Any:
    """Return JSON values with each string replaced by `change(string)`; keys stay as they are, unless `keys` is set."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {change(key) if keys else key: map_strings(each, change, keys=keys) for key, each in value.items()}
    return [map_strings(each, change, keys=keys) for each in value] if isinstance(value, list | tuple) else value
