"""What a loop says: how a context begins, what moves it on, and what its steps cost."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from brim.errors import DoesNotFit, InvalidType, check_choice
from brim.history.compact.secrets import redact
from brim.llm import Usage
from brim.llm import cost as priced
from brim.meter.base import BaseMeter
from brim.sessions.loop.limits import Limits
from brim.sessions.loop.progress import Progress
from brim.sessions.loop.step import Step
from brim.sessions.session import Session
from brim.sessions.usage import reported
from brim.truncate import cut
from brim.wire import format_of, wire

GO_ON = "Go on."
_RESULTS = 5
"""Results, the newest, that a fresh context is shown; all of them are in the tick."""
_RESULT = 300
"""Characters of each."""
_SHARE = 4
"""The part of a continuation's room, one in so many, that results may take."""


def check_names(given: Mapping[str, Any], known: Sequence[str]) -> None:
    """Pass if all these arguments are known.

    Raises:
        InvalidValue: one is not.
    """
    for name in given:
        check_choice("an argument", name, known)


def checked(step: object) -> Step:
    """Return what `act` returned, if it is a step.

    Raises:
        InvalidType: it is not.
    """
    if not isinstance(step, Step):
        raise InvalidType("what act returned", step, "a Step")
    return step


def reopening(goal: str, progress: Progress, meter: BaseMeter, limit: int) -> str:
    """Return the first message of a fresh context: the goal as it was given, what was handed over, the results."""
    handed = progress.continuation
    if handed is None:
        return goal
    results = _results(progress.results, meter, limit // _SHARE)
    room = limit - (meter.load(f"\n{results}") if results else 0)
    try:
        text = replace(handed, goal="as above").text(meter, max(1, room))
    except DoesNotFit:
        text = ""
    return "\n".join(part for part in (f"{goal}\n", text, results) if part).rstrip("\n")


def _results(results: Sequence[Any], meter: BaseMeter, limit: int) -> str:
    """Return the newest results in a few words each."""
    if not results:
        return ""
    lines = [f"Results so far: {len(results):,}"]
    for result in results[-_RESULTS:]:
        told = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, default=str)
        lines.append(f"- {redact(told)[:_RESULT]}")
    text = "\n".join(lines)
    try:
        return cut(text, limit, meter, keep="tail").text
    except DoesNotFit:
        return ""


def nudge(step: Step, progress: Progress, limits: Limits, session: Session) -> list[str]:
    """Return what the user says next, where the model has spoken last: a provider wants the user's word before more."""
    if progress.ended is not None or not step.messages:
        return []
    last = wire(format_of(step.messages) or session.format).read(step.messages[-1], len(step.messages) - 1)
    if last.role != "assistant" or last.calls:
        return []
    if step.end == "continue":
        return [GO_ON]
    return [f"Iteration {progress.iterations + 1:,} of at most {limits.max_iterations:,}: go on towards the goal."]


def boundary(progress: Progress) -> str:
    """Return what the user is told of a sub-tick, where sub-ticks are visible."""
    return (
        f"Iteration {progress.iterations + 1:,} goes on in a fresh context (sub-tick {progress.sub_tick:,}): "
        "what was done, what is left and what was found are carried over"
    )


def cost(step: Step, model: str | None) -> float:
    """Return what a step cost in US dollars: as it says, or by its usage; unknown counts as nothing."""
    if step.cost is not None:
        return float(step.cost)
    if step.usage is None or model is None:
        return 0.0
    told = reported(step.usage)
    return priced(model, Usage(input=told.input, output=told.output)) or 0.0
