"""Checked reads of the fields of a record: each returns a value of the expected type, or else `None` or an empty value.

Records are written by other programs, so a field may hold anything.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

IDS = ("conversation_id", "session_id", "thread_id", "sessionId", "conversationId", "threadId")
"""Fields in which programs name the conversation of a request."""
TIMES = ("timestamp", "time", "created_at", "createdAt", "start_time", "startTime", "ts", "created", "date", "at")
"""Fields in which programs write the time of a record."""
_FIRST, _LAST = 10**9, 10**11
"""Plausible times in seconds since 1970; larger numbers are milliseconds or smaller units."""


def number(value: Any) -> int | None:
    """Return a count, or `None` if the value is not one."""
    return value if type(value) is int and 0 <= value < 10**15 else None


def text(value: Any) -> str | None:
    """Return a non-empty string, or `None`."""
    return value if isinstance(value, str) and value else None


def mapping(value: Any) -> Mapping[str, Any]:
    """Return a mapping, or an empty one if the value is something else."""
    return value if isinstance(value, Mapping) else {}


def rows(value: Any) -> list[Mapping[str, Any]]:
    """Return the mappings of a list, or an empty list if the value is something else."""
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def first(values: Mapping[str, Any], names: Iterable[str]) -> Any:
    """Return the first of several fields that is set, or `None`."""
    return next((values[name] for name in names if values.get(name) is not None), None)


def name_in(*holders: Any) -> str | None:
    """Return the name of the conversation, from the first mapping that has one in a field of `IDS`."""
    return next((named for each in holders for key in IDS if (named := text(mapping(each).get(key)))), None)


def loaded(value: Any) -> Any:
    """Return the value of a JSON text; anything else is returned unchanged."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def seconds_in(*holders: Any) -> float | None:
    """Return the time in seconds since 1970, from the first mapping that has one in a field of `TIMES`."""
    return next((at for each in holders for key in TIMES if (at := seconds(mapping(each).get(key))) is not None), None)


def seconds(value: Any) -> float | None:
    """Return a time in seconds since 1970: of a date, or of a number of seconds, milli-, micro- or nanoseconds."""
    if isinstance(value, str) and not value.isdigit():
        try:
            found = datetime.fromisoformat(value)
            return (found if found.tzinfo is not None else found.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError, OSError):
            return None
    if isinstance(value, bool) or not isinstance(value, str | int | float) or not math.isfinite(number := float(value)):
        return None
    while number > _LAST:
        number /= 1_000
    return number if number > _FIRST else None


def usage_in(
    values: Mapping[str, Any], inputs: Iterable[str], cached: Iterable[str], written: Iterable[str] = ()
) -> tuple[int, int] | None:
    """Return the input tokens that a provider reported, and how many of them it read from its cache.

    Args:
        values: the mapping that holds the counts.
        inputs: the fields of the input tokens.
        cached: the fields of the tokens read from the cache.
        written: the fields of the tokens written to the cache, where the input tokens do not include both counts.
    """
    count = number(first(values, inputs))
    if count is None:
        return None
    read = number(first(values, cached)) or 0
    return (count + read + (number(first(values, written)) or 0) if written else count), read
