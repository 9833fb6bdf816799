"""The text of messages of any protocol, for the script to read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def text_of(value: Any) -> str:
    """Return the texts of messages, contents and outputs, one below the other."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(text_of(each) for each in value)
    if isinstance(value, Mapping):
        return "\n".join(text_of(value[key]) for key in ("text", "content", "output") if key in value)
    return ""
