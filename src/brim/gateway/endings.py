"""What an answer with status 200 says of a prompt that was too long.

Some servers answer 200 with an error in the body. Others accept the prompt, run out of room in the middle of the
answer, and give that as the reason to stop; the window is then as large as the prompt and the answer together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from brim.gateway.body import json_value
from brim.meter.window import answer_room
from brim.sessions.learning.usage import reported
from brim.wire.overflow import Overflow, is_overflow

_SIGNS = (b'"error"', b"context_")
"""One of these is in every such answer; other answers are not parsed."""


def refused(raw: bytes, asked: int | None) -> Overflow | None:
    """Return the overflow that the body of an answer reports; `None` if it reports none.

    Args:
        raw: the body.
        asked: the tokens that the request asked for the answer.
    """
    values = json_value(raw) if any(sign in raw for sign in _SIGNS) else None
    if not isinstance(values, Mapping):
        return None
    found = is_overflow(values)
    if found is None:
        return None
    # What an accepted request brought may stand in its answer: only the usage has numbers that are the provider's own.
    return stopped(found.without_numbers(), values.get("usage"), asked)


def stopped(found: Overflow, usage: Any, asked: int | None) -> Overflow:
    """Return an overflow with the numbers of the reported usage, if it has none itself."""
    if found.limit is not None or not isinstance(usage, Mapping):
        return found
    try:
        call = reported(usage)
    except ValueError:
        return found
    if not call.input or call.output is None or call.passes != 1:
        return found
    limit = call.input + call.output
    reply = min(asked or limit, answer_room(limit))
    return replace(found, limit=limit, sent=call.input, reply=reply, accepted=True)
