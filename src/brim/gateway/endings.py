"""What an answer with status 200 says of a prompt that was too long.

Some servers answer 200 with an error in the body. Others take the prompt, run out of room in the middle of the answer,
and say so as the reason to stop; how much the model holds is then what the prompt and the answer took together.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from brim.meter.window import answer_room
from brim.sessions.usage import reported
from brim.wire.overflow import Overflow, is_overflow

_SIGNS = (b'"error"', b"context_")
"""What stands in every such answer; most others are not looked at any further."""


def refused(raw: bytes, asked: int | None) -> Overflow | None:
    """Return what the body of an answer says of a prompt too long; nothing where it says something else.

    Args:
        raw: the body.
        asked: tokens that were asked for the answer.
    """
    if not any(sign in raw for sign in _SIGNS):
        return None
    try:
        values = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    if not isinstance(values, Mapping):
        return None
    found = is_overflow(values)
    return stopped(found, values.get("usage"), asked) if found is not None else None


def stopped(found: Overflow, usage: Any, asked: int | None) -> Overflow:
    """Return what was said with the numbers that the usage adds, where the answer gave none itself."""
    if found.limit is not None or not isinstance(usage, Mapping):
        return found
    try:
        told = reported(usage)
    except ValueError:
        return found
    if not told.input or told.output is None or told.passes != 1:
        return found
    limit = told.input + told.output
    reply = asked if asked is not None and asked < limit else answer_room(limit)
    return replace(found, limit=limit, sent=told.input, reply=reply)
