"""The history of a pack: which steps stay, each within its limit, in the order in which they ran.

The selection is that of every other history: a step is a message, and its class comes from its agent. Texts are counted
with the separators between them, so the section never exceeds its room.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from brim.errors import DoesNotFit
from brim.flows.step_record import StepRecord
from brim.history.history import fit_messages
from brim.history.note import note, truncation
from brim.history.priority import NAMES, StepClass, distribution
from brim.settings.resolved import Resolved
from brim.truncate import cut

HEADING = "# History"
MARKER = "\n... (truncated)"
"""Marks the cut in the output of a step."""

_JOIN = "\n\n"
_UNIT = "chars"


class ShownStep(NamedTuple):
    """One step of a history."""

    record: StepRecord
    kind: StepClass
    text: str
    """Its text in the pack; empty if it is left out."""
    cut: bool

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "step_id": self.record.step_id,
            "agent": self.record.agent,
            "class": self.kind.name,
            "state": "omitted" if not self.text else "cut" if self.cut else "whole",
            "chars": len(self.record.output),
            "used_chars": len(self.text),
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class HistorySection:
    """The history of a pack."""

    steps: tuple[ShownStep, ...] = ()
    """Every step, including those left out, from the first to the last."""
    note: str = ""
    """The line about steps left out; empty if there are none, or if it does not fit."""
    truncation: dict[str, Any] = field(default_factory=dict)
    """The `context_truncation` of a receipt."""

    @property
    def text(self) -> str:
        """The text of the section; empty if no step and no note is in it."""
        lines = [text for text in (self.note, *(step.text for step in self.steps)) if text]
        return _JOIN.join([HEADING, *lines]) if lines else ""


def history_section(history: Sequence[StepRecord], room: int, settings: Resolved, query: str) -> HistorySection:
    """Return as much of a history as has room, with its heading and its note.

    Raises:
        SourceError: the settings list an agent in two classes.
    """
    classes, budget = settings.classes(), settings.value("context_budget_chars")
    kinds = [classes.of(step.agent or None, step.step_id, step.output) for step in history]
    by_class = "priority" in settings.value("history.selection")
    limits = [settings.value("history_max_older_chars")] * len(history)
    limits[-1:] = [settings.value("history_max_recent_chars")] if history else []
    left, noted = room - len(HEADING), False
    texts = [_text(step, limit) for step, limit in zip(history, limits, strict=True)]
    if not all(text for text, _ in texts) or sum(len(_JOIN + text) for text, _ in texts) > left:
        total = len(history)
        widest = note(total, total, budget, budget, _UNIT, dict.fromkeys(NAMES, total) if by_class else None)
        if settings.value("history.note") and len(_JOIN + widest) <= left:
            noted = True
            left -= len(_JOIN + widest)
        texts = [
            _text(step, min(limit, left - len(f"{_JOIN}{step.title}\n")))
            for step, limit in zip(history, limits, strict=True)
        ]
        stays = _selected([text for text, _ in texts], kinds, left, settings, query)
        texts = [text if i in stays else ("", False) for i, text in enumerate(texts)]
    steps = tuple(ShownStep(step, kind, *text) for step, kind, text in zip(history, kinds, texts, strict=True))
    included = [step for step in steps if step.text]
    shares = distribution(step.kind for step in included) if by_class else None
    numbers = (len(included), len(steps), len(HistorySection(steps=steps).text), budget)
    return HistorySection(
        steps=steps,
        note=note(*numbers, _UNIT, shares) if noted else "",
        truncation=truncation(*numbers, shares, cut=any(step.cut for step in included)),
    )


def _selected(texts: Sequence[str], kinds: Sequence[StepClass], left: int, settings: Resolved, query: str) -> set[int]:
    """Return the indices of the steps that stay: the newest, unless the settings do not pin it, and the selected."""
    pins_newest = settings.value("history.pin_most_recent")
    if pins_newest and not texts[-1]:
        return set()
    messages = {i: {"role": "assistant", "content": _JOIN + text} for i, text in enumerate(texts) if text}
    kind_of = {id(message): kinds[i] for i, message in messages.items()}
    # The task and the newest turn always stay, and empty ones take no room: only steps are selected.
    task, last = {"role": "user", "content": ""}, {"role": "user", "content": ""}
    fitted = fit_messages(
        [task, *messages.values(), *([] if pins_newest else [last])],
        left,
        meter=_UNIT,
        select=settings.value("history.selection"),
        within=settings.value("history.within"),
        query=query,
        excerpts=False,
        note=False,
        classify=lambda raw: kind_of.get(id(raw), StepClass.LOW),
    )
    stays = {id(message) for message in fitted.messages}
    return {i for i, message in messages.items() if id(message) in stays}


def _text(step: StepRecord, limit: int) -> tuple[str, bool]:
    """Return a step with at most `limit` characters of its output, and whether it was cut; empty if nothing fits."""
    output = step.output.strip("\n")
    if not output:
        return (step.title, False) if limit >= 0 else ("", False)
    try:
        body = cut(output, max(limit, 0), _UNIT, marker=MARKER).text
    except DoesNotFit:
        return "", False
    return f"{step.title}\n{body}", body != output
