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
from brim.history.options import Select, Within
from brim.history.priority import DEFAULT, NAMES, AgentClasses, StepClass, distribution
from brim.settings.resolved import Resolved
from brim.truncate import cut

HEADING = "# History"
MARKER = "\n... (truncated)"
"""Marks the cut in the output of a step."""

_JOIN = "\n\n"
_UNIT = "chars"
_SETTINGS = {
    "total": "context_budget_chars",
    "recent": "history_max_recent_chars",
    "older": "history_max_older_chars",
    "pins_newest": "history.pin_most_recent",
    **{name: f"history.{name}" for name in ("selection", "within", "note")},
}
"""The settings of `HistoryOptions` by field."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HistoryOptions:
    """The settings of a pack's history."""

    total: int
    """Characters of the whole pack, for the note."""
    recent: int
    """Characters of the newest step's output."""
    older: int
    """Characters of each older step's output."""
    selection: Select = "recency"
    within: Within = "newest_first"
    """Which steps of one class are selected first."""
    pins_newest: bool = True
    """Whether the newest step stays whatever its class."""
    note: bool = True
    """Whether the pack notes that steps were left out."""
    classes: AgentClasses = DEFAULT

    @classmethod
    def of(cls, settings: Resolved) -> HistoryOptions:
        """Return the options of some settings.

        Raises:
            SourceError: an agent is listed in two classes.
        """
        values = {name: settings.value(key) for name, key in _SETTINGS.items()}
        return cls(classes=settings.classes(), **values)


class ShownStep(NamedTuple):
    """One step of a history."""

    record: StepRecord
    kind: StepClass
    text: str
    """Its text in the pack; empty if it is left out."""
    cut: bool

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        state = "omitted" if not self.text else "cut" if self.cut else "whole"
        return {
            "step_id": self.record.step_id,
            "agent": self.record.agent,
            "class": self.kind.name,
            "state": state,
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


def history_section(history: Sequence[StepRecord], room: int, options: HistoryOptions, query: str) -> HistorySection:
    """Return as much of a history as has room, with its heading and its note."""
    kinds = [options.classes.of(step.agent or None, step.step_id, step.output) for step in history]
    by_class = "priority" in options.selection
    left = room - len(HEADING)
    kept = _whole(history, options, left)
    line = ""
    if kept is None:
        total = len(history)
        most = dict.fromkeys(NAMES, total) if by_class else None
        widest = note(total, total, options.total, options.total, _UNIT, most)
        line = widest if options.note and len(_JOIN + widest) <= left else ""
        kept = _selected(history, kinds, options, left - len(_JOIN + line if line else ""), query)
    shown = tuple(ShownStep(step, kinds[i], *kept.get(i, ("", False))) for i, step in enumerate(history))
    included = [step for step in shown if step.text]
    shares = distribution(step.kind for step in included) if by_class else None
    numbers = (len(included), len(shown), len(HistorySection(steps=shown).text), options.total)
    return HistorySection(
        steps=shown,
        note=note(*numbers, _UNIT, shares) if line else "",
        truncation=truncation(*numbers, shares, cut=any(step.cut for step in included)),
    )


def _whole(history: Sequence[StepRecord], options: HistoryOptions, left: int) -> dict[int, tuple[str, bool]] | None:
    """Return all steps, each within its limit, or `None` if they do not fit together."""
    kept = {i: _text(step, _limit(i, history, options)) for i, step in enumerate(history)}
    fits = sum(len(_JOIN) + len(text) for text, _ in kept.values()) <= left and all(text for text, _ in kept.values())
    return kept if fits else None


def _selected(
    history: Sequence[StepRecord], kinds: Sequence[StepClass], options: HistoryOptions, left: int, query: str
) -> dict[int, tuple[str, bool]]:
    """Return the steps that stay, by index: the newest, truncated to the room, and those that are selected."""
    kept = {
        i: _text(step, min(_limit(i, history, options), left - len(f"{_JOIN}{step.title}\n")))
        for i, step in enumerate(history)
    }
    if options.pins_newest and not kept[len(history) - 1][0]:
        return {}
    messages = {i: {"role": "assistant", "content": _JOIN + text} for i, (text, _) in kept.items() if text}
    kind_of = {id(message): kinds[i] for i, message in messages.items()}
    # The task and the newest turn always stay, and empty ones take no room: only steps are selected.
    task, last = {"role": "user", "content": ""}, {"role": "user", "content": ""}
    fitted = fit_messages(
        [task, *messages.values(), *([] if options.pins_newest else [last])],
        left,
        meter=_UNIT,
        select=options.selection,
        within=options.within,
        query=query,
        excerpts=False,
        note=False,
        classify=lambda raw: kind_of.get(id(raw), StepClass.LOW),
    )
    stays = {id(message) for message in fitted.messages}
    return {i: kept[i] for i, message in messages.items() if id(message) in stays}


def _limit(index: int, history: Sequence[StepRecord], options: HistoryOptions) -> int:
    return options.recent if index == len(history) - 1 else options.older


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
