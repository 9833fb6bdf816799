"""A change to every string in JSON values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


def map_strings(value: Any, change: Callable[[str], str]) -> Any:
    """Return JSON values with each string replaced by `change(string)`; keys stay as they are."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {key: map_strings(each, change) for key, each in value.items()}
    return [map_strings(each, change) for each in value] if isinstance(value, list | tuple) else value
