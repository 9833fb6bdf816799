"""Messages as values that a log takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from brim.wire import plain


def storable(value: Any) -> Any:
    """Return a message as values that a store takes: a client library's own objects become the fields that were set."""
    known = plain(value)
    if isinstance(known, Mapping):
        return {key: each if type(each) is str else storable(each) for key, each in known.items()}
    if isinstance(known, list | tuple):
        return [storable(each) for each in known]
    return known
