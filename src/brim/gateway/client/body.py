"""Limits and parses the JSON of requests and answers."""

from __future__ import annotations

import json
from typing import Any

from brim.files.depth import is_deep
from brim.files.json_body import whole
from brim.gateway.http.problem import HttpProblem

_SIGNS = (b",", b"[", b"{")
"""Each value of a JSON text follows one of these, except the first value of an object."""
_STEP = 1_000_000
"""Bytes that are searched at a time."""


def json_value(raw: bytes) -> Any:
    """Return the value of a JSON text; `None` if it is not JSON."""
    try:
        return decoded(raw)[0]
    except (ValueError, RecursionError):
        return None


def decoded(raw: bytes) -> tuple[Any, bool]:
    """Return the value of a JSON text, and whether an object repeats a key; the last value of such a key is returned.

    Raises:
        ValueError: it is not JSON.
        RecursionError: it is nested too deep.
    """
    repeats = False

    def noted(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal repeats
        made = dict(pairs)
        repeats = repeats or len(made) < len(pairs)
        return made

    value = json.loads(raw.decode(), parse_int=whole, object_pairs_hook=noted)
    if is_deep(value):
        raise RecursionError
    return value, repeats


def check_values(raw: bytes, most: int) -> None:
    """Check the number of values in a JSON text before it is parsed.

    It counts commas and opening brackets; strings are excluded only if the count is too high with them.

    Raises:
        HttpProblem: it has more than `most`.
    """
    if len(raw) <= most or sum(raw.count(sign) for sign in _SIGNS) <= most:
        return
    found = at = inside = 0
    while at < len(raw) and found <= most:  # In steps, so that other threads can run.
        piece = raw[at : at + _STEP]
        at += len(piece)
        if (len(piece) - len(piece.rstrip(b"\\"))) % 2:  # Do not split an escape.
            piece += raw[at : at + 1]
            at += 1
        parts = piece.replace(rb"\\", b"").replace(rb"\"", b"").split(b'"')
        found += sum(b"".join(parts[inside::2]).count(sign) for sign in _SIGNS)
        inside = (inside + len(parts) - 1) % 2
    if found > most:
        raise HttpProblem(413, f"the body has more than {most:,} values, the limit that gateway.most_values sets")
