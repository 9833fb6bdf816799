"""The texts of a loop: how a context begins, and what the user says between steps."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from brim.errors import DoesNotFit
from brim.history.compact.continuation import AS_ABOVE
from brim.history.compact.secrets import redact
from brim.meter.base import BaseMeter
from brim.sessions.loop.limits import Limits
from brim.sessions.loop.progress import Progress
from brim.sessions.loop.step import Step
from brim.sessions.session import Session
from brim.truncate import cut
from brim.wire import format_of, wire

GO_ON = "Go on."
_RESULTS = 5
"""The newest results that a fresh context shows; all of them are in the tick."""
_RESULT = 300
"""Characters of each result."""
_SHARE = 4
"""Results may take one part in so many of a continuation's tokens."""


def opening(goal: str, progress: Progress, meter: BaseMeter, limit: int) -> str:
    """Return the first message of a fresh context: the goal, the handoff, the results."""
    handed = progress.continuation
    if handed is None:
        return goal
    results = _results(progress.results, meter, limit // _SHARE)
    room = limit - (meter.load(f"\n{results}") if results else 0)
    try:
        text = replace(handed, goal=AS_ABOVE).text(meter, max(1, room))
    except DoesNotFit:
        text = ""
    return "\n".join(part for part in (f"{goal}\n", text, results) if part).rstrip("\n")


def _results(results: Sequence[Any], meter: BaseMeter, limit: int) -> str:
    """Return the newest results, shortened."""
    if not results:
        return ""
    lines = [f"Results so far: {len(results):,}"]
    for result in results[-_RESULTS:]:
        line = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, default=str)
        lines.append(f"- {redact(line)[:_RESULT]}")
    text = "\n".join(lines)
    try:
        return cut(text, limit, meter, keep="tail").text
    except DoesNotFit:
        return ""


def nudge(step: Step, progress: Progress, limits: Limits, session: Session) -> list[str]:
    """Return what the user says next, if the model has spoken last: providers expect a message of the user then."""
    if progress.ended is not None or not step.messages:
        return []
    last = wire(format_of(step.messages) or session.format).read(step.messages[-1], len(step.messages) - 1)
    if last.role != "assistant" or last.calls:
        return []
    if step.end == "continue":
        return [GO_ON]
    return [f"Iteration {progress.iterations + 1:,} of at most {limits.max_iterations:,}: go on towards the goal."]


def boundary(progress: Progress) -> str:
    """Return the notice of a sub-tick."""
    return (
        f"Iteration {progress.iterations + 1:,} continues in a fresh context (sub-tick {progress.sub_tick:,}): "
        "the work done, the open tasks and the findings are carried over"
    )
