"""Compares how requests begin: what stays the same in the next request, apart from cache marks, which move."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from brim.history.turns import fingerprint_after
from brim.wire import format_of, plain, wire
from brim.wire.base import jsonable

_MARKS = ("cache_control", "prompt_cache_breakpoint", "cachePoint")
_SYSTEM = ("system", "developer")


def leading(messages: Sequence[Any]) -> int:
    """Return the number of leading system messages, which may differ in each request, for example in a time."""
    read = (plain(raw) for raw in messages)
    roles = (raw.get("role") if isinstance(raw, Mapping) else None for raw in read)
    return next((at for at, role in enumerate(roles) if role not in _SYSTEM), len(messages))


def fingerprints(messages: Sequence[Any], format: str | None = None, before: str = "") -> list[str]:
    """Return the fingerprint after each message; `before` is the fingerprint of the messages that precede them.

    Raises:
        InvalidValue: a message is invalid.
    """
    chosen, found, last = wire(format or format_of(messages) or "openai"), list[str](), before
    for at, raw in enumerate(messages):
        last = fingerprint_after(last, chosen.read(raw, at))
        found.append(last)
    return found


def says_same(one: Any, other: Any, format: str | None = None) -> bool:
    """Return whether two messages have the same content; logged ones are JSON, and cache marks are ignored."""
    if one == other or jsonable(one) == jsonable(other):
        return True
    return fingerprints([one], format) == fingerprints([other], format)


def bare(raw: Any) -> Any:
    """Return a message without cache marks.

    Cache marks move from request to request, and a provider accepts only a few, so messages changed by brim have none.
    """
    if not isinstance(raw, dict):
        return raw
    content = raw.get("content")
    if isinstance(content, list) and any(map(_is_marked, content)):
        return {**_unmarked(raw), "content": [each for each in map(_unmarked, content) if each]}
    return _unmarked(raw)


def _is_marked(value: Any) -> bool:
    return isinstance(value, dict) and not value.keys().isdisjoint(_MARKS)


def _unmarked(value: Any) -> Any:
    return {key: each for key, each in value.items() if key not in _MARKS} if _is_marked(value) else value
