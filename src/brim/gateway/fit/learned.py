"""Learns from answers: the window of the model, and how it counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from brim.gateway.fit.fitted import FittedBody, fit
from brim.gateway.fit.planned import plan
from brim.gateway.http.problem import HttpProblem
from brim.meter.window import answer_room
from brim.sessions.conversations import Conversations
from brim.sessions.learning.usage import ReportedUsage, reported
from brim.wire.overflow import Overflow


def with_usage(found: Overflow, usage: Any, asked: int | None) -> Overflow:
    """Return an overflow with numbers from the reported usage, if it states none.

    Some servers accept a prompt and stop in the middle of the answer because the window is full. The window is then the
    sum of prompt and answer. `asked` is the requested limit on the answer.
    """
    if found.limit is not None or not isinstance(usage, Mapping):
        return found
    call = usage_of(usage)
    if call is None or not call.input or call.output is None or call.passes != 1:
        return found
    limit = call.input + call.output
    reply = min(asked or limit, answer_room(limit))
    return replace(found, limit=limit, sent=call.input, reply=reply, accepted=True)


def learn_refusal(engine: Conversations, fitted: FittedBody, found: Overflow) -> int | None:
    """Learn from a rejection; return the window that it states, if that is new."""
    planned, request = fitted.planned, fitted.request
    if planned is None or request is None or fitted.after is None:
        return None
    scope = planned.engine.scope
    before = engine.windows.learned(scope)
    engine.refused(request, found, planned.engine)
    after = engine.windows.learned(scope)
    size = after.size if after is not None else None
    return None if before is not None and before.size == size else size


def smaller(engine: Conversations, first: FittedBody, refused: FittedBody, found: Overflow) -> FittedBody | None:
    """Return a smaller request after a rejection; `None` if nothing more can be dropped.

    Args:
        engine: fits it.
        first: the original form of the request.
        refused: the rejected form: the original one, possibly with recalled texts.
        found: the rejection.
    """
    planned, request = first.planned, refused.request
    if planned is None or request is None or not refused.shrinks:
        return None
    most = planned.engine.ceiling(request, found)
    again = replace(planned, engine=plan(first.parsed, planned.settings, engine, planned.given.owner).engine)
    try:
        return fit(again, engine, most)
    except HttpProblem:
        return None


def usage_of(usage: Any) -> ReportedUsage | None:
    """Return the usage of an answer; `None` if it is missing or invalid."""
    try:
        return None if usage is None else reported(usage)
    except ValueError:
        return None
