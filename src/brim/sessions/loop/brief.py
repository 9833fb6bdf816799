"""The texts of a loop: the first message of a context, the summary of the last one, messages between steps."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from brim.errors import DoesNotFit
from brim.history.compact import model_summary
from brim.history.compact.continuation import AS_ABOVE, Continuation, context_texts, continuation
from brim.history.compact.lines import GO_ON, is_nudge, next_iteration
from brim.history.compact.summary import SummarySource
from brim.meter.base import BaseMeter
from brim.redaction import redact
from brim.sessions.loop.limits import Limits
from brim.sessions.loop.progress import Progress
from brim.sessions.loop.step import Step
from brim.sessions.session import Session
from brim.wire import format_of, wire


def handover_summary(session: Session, messages: Sequence[Any], known: Continuation | None, limit: int) -> str:
    """Return the summary of a context by the caller's summariser; empty if there is none, or if it failed.

    Args:
        session: the session of the loop.
        messages: the messages of the context.
        known: the continuation with which the context began.
        limit: tokens of the whole hand-over; a summary takes at most half of it.
    """
    summarise: Any = session.summariser
    if summarise is None or not messages:
        return ""
    said, previous = context_texts(messages, known), "" if known is None else known.text(session.meter, limit)
    ending = SummarySource(
        said=tuple(said),
        lines=continuation(messages, goal="", previous=known).lines,
        previous=previous,
        limit=max(1, limit // 2),
        input_limit=session.budget,
        older=sum(session.meter.load(text) for text in (previous, *(one.text for one in said))),
        meter=session.meter,
    )
    try:
        if callable(getattr(summarise, "complete", None)):
            answer: Any = summarise.complete(model_summary.ask(ending)).text
        else:
            answer = summarise(ending.reading(ending.input_limit), ending.limit)
        return model_summary.checked(ending, answer)
    except Exception as error:  # A model or the caller's own code; the loop continues with the extract.
        message = "the summariser failed (%s: %s); the context is handed over without a summary"
        logging.getLogger("brim.sessions").warning(message, type(error).__name__, redact(str(error)))
        return ""


_RESULT = 300
"""Characters of each result in a hand-over; the tick itself has the whole results."""
_SHARE = 4
"""Results may take a quarter of a continuation's tokens."""


def opening(goal: str, progress: Progress, meter: BaseMeter, limit: int) -> str:
    """Return the first message of a fresh context: the goal, the hand-over, the results, what the user said last."""
    handed = progress.continuation
    if handed is None:
        return goal
    results = _results(progress.results, meter, limit // _SHARE)
    room = limit - (meter.load(f"\n{results}") if results else 0)
    try:
        made = replace(handed, goal=AS_ABOVE).text(meter, max(1, room), goal)
    except DoesNotFit:
        made = ""
    text = "\n".join([f"{goal}\n", *filter(None, (made, results))]).rstrip("\n")
    return f"{text}\n\n{progress.said}" if progress.said else text


def _results(results: Sequence[Any], meter: BaseMeter, limit: int) -> str:
    """Return as many of the newest results as fit, shortened."""
    lines: list[str] = []
    room = limit - meter.load(f"Results so far: {len(results):,}, the newest {len(results):,}\n") if results else 0
    for result in reversed(results):
        line = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, default=str)
        line = f"- {_start(redact(line))}"
        cost = meter.load(line) + 1
        if cost > room:
            break
        lines.insert(0, line)
        room -= cost
    if not lines:
        return ""
    newest = "" if len(lines) == len(results) else f", the newest {len(lines):,}"
    return "\n".join([f"Results so far: {len(results):,}{newest}", *lines])


def _start(text: str) -> str:
    """Return a text, or its first words if it is too long."""
    return text if len(text) <= _RESULT else f"{text[:_RESULT].rpartition(' ')[0] or text[:_RESULT]} …"


def said_and_rest(unread: Sequence[Any], format: str) -> tuple[str, list[Any]]:
    """Return what the user says at the start of messages that the model has not read, and the other messages."""
    reader, texts, rest = wire(format), list[str](), list(unread)
    while rest:
        message = reader.read(rest[0], 0)
        if message.role != "user" or message.results or not all(piece.kind == "text" for piece in message.pieces):
            break
        said = message.text().strip()
        if said and not is_nudge(said):
            texts.append(said)
        rest.pop(0)
    return "\n\n".join(texts), rest


def nudge(step: Step, progress: Progress, limits: Limits, session: Session) -> list[str]:
    """Return the next user message if the model spoke last, since providers expect one then."""
    if progress.ended is not None or not step.messages:
        return []
    last = wire(format_of(step.messages) or session.format).read(step.messages[-1], len(step.messages) - 1)
    if last.role != "assistant" or last.calls:
        return []
    if step.end == "continue":
        return [GO_ON]
    return [next_iteration(progress.iterations + 1, limits.max_iterations)]


def boundary(progress: Progress) -> str:
    """Return the notice of a sub-tick."""
    return f"Iteration {progress.iterations + 1:,} continues in a fresh context (sub-tick {progress.sub_tick:,})"
