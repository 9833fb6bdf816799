"""Parses the JSON of requests and answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from brim.files.depth import is_deep
from brim.files.json_body import whole


def json_value(raw: bytes) -> Any:
    """Return the value of a JSON text; `None` if it is not JSON."""
    try:
        return decoded(raw)
    except (ValueError, RecursionError):
        return None


def decoded(raw: bytes, objects: Callable[[list[tuple[str, Any]]], Any] | None = None) -> Any:
    """Return the value of a JSON text; `objects` makes each object from its keys and values.

    Raises:
        ValueError: it is not JSON.
        RecursionError: it is nested too deep.
    """
    value = json.loads(raw.decode(), parse_int=whole, object_pairs_hook=objects)
    if is_deep(value):
        raise RecursionError
    return value
