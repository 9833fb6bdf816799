"""The history of a flow as one section: which steps stay, each within its cap, in the order in which they happened.

Which steps stay is decided by the same selection that fits every other history: a step is a message, its class comes
from its agent. Texts are counted with what joins them, so the section is never over its room.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from brim.errors import DoesNotFit
from brim.flows.pack_settings import PackSettings
from brim.flows.step_record import StepRecord
from brim.history.history import fit_messages
from brim.history.note import note, truncation
from brim.history.priority import NAMES, Class, distribution
from brim.truncate.text import cut

HEADING = "# History"
MARKER = "\n... (truncated)"
"""Stands where the output of a step was cut."""

_JOIN = "\n\n"
_UNIT = "chars"


class Shown(NamedTuple):
    """What became of one step."""

    record: StepRecord
    kind: Class
    text: str
    """What stands in the pack; empty where it is left out."""
    cut: bool

    def told(self) -> dict[str, Any]:
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
class Past:
    """A history as it stands in a pack."""

    steps: tuple[Shown, ...] = ()
    """Every step, also those that are left out, from the first to the last."""
    note: str = ""
    """The line that says what is left out; empty where nothing is, or where it has no room."""
    truncation: dict[str, Any] = field(default_factory=dict)
    """The `context_truncation` of a receipt."""

    @property
    def text(self) -> str:
        """The section; empty where there is nothing to say."""
        said = [step.text for step in self.steps if step.text]
        lines = [*([self.note] if self.note else []), *said]
        return _JOIN.join([HEADING, *lines]) if lines else ""


def past(history: Sequence[StepRecord], room: int, settings: PackSettings, query: str) -> Past:
    """Return as much of a history as has room, its heading and its note included."""
    kinds = [settings.classes.of(step.agent or None, step.step_id, step.output) for step in history]
    by_class = "priority" in settings.selection
    left = room - len(HEADING)
    kept = _whole(history, settings, left)
    said = ""
    if kept is None:
        total = len(history)
        most = dict.fromkeys(NAMES, total) if by_class else None
        widest = note(total, total, settings.total, settings.total, _UNIT, most)
        said = widest if settings.note and len(_JOIN + widest) <= left else ""
        kept = _chosen(history, kinds, settings, left - len(_JOIN + said if said else ""), query)
    none = ("", False)
    shown = tuple(Shown(step, kinds[i], *kept.get(i, none)) for i, step in enumerate(history))
    included = [step for step in shown if step.text]
    used = len(Past(steps=shown).text)
    shares = distribution(step.kind for step in included) if by_class else None
    numbers = (len(included), len(shown), used, settings.total)
    if said:
        said = note(*numbers, _UNIT, shares)
    told = truncation(*numbers, shares, cut=any(step.cut for step in included))
    return Past(steps=shown, note=said, truncation=told)


def _whole(history: Sequence[StepRecord], settings: PackSettings, left: int) -> dict[int, tuple[str, bool]] | None:
    """Return all steps, each within its cap, if they have room together."""
    kept = {i: _text(step, _cap(i, history, settings)) for i, step in enumerate(history)}
    fits = sum(len(_JOIN) + len(text) for text, _ in kept.values()) <= left and all(text for text, _ in kept.values())
    return kept if fits else None


def _chosen(
    history: Sequence[StepRecord], kinds: Sequence[Class], settings: PackSettings, left: int, query: str
) -> dict[int, tuple[str, bool]]:
    """Return the steps that stay, by place: the newest, cut to the room that there is, and those that are selected."""
    kept = {i: _text(step, min(_cap(i, history, settings), left - _frame(step))) for i, step in enumerate(history)}
    if settings.pins_newest and not kept[len(history) - 1][0]:
        return {}
    messages = {i: {"role": "assistant", "content": _JOIN + text} for i, (text, _) in kept.items() if text}
    kind_of = {id(message): kinds[i] for i, message in messages.items()}
    # A task and the newest turn always stay, and empty ones take no room: what is selected are the steps alone.
    task, last = {"role": "user", "content": ""}, {"role": "user", "content": ""}
    fitted = fit_messages(
        [task, *messages.values(), *([] if settings.pins_newest else [last])],
        left,
        meter=_UNIT,
        select=settings.selection,
        within=settings.within,
        query=query,
        note=False,
        classify=lambda raw: kind_of.get(id(raw), Class.LOW),
    )
    stays = {id(message) for message in fitted.messages}
    return {i: kept[i] for i, message in messages.items() if id(message) in stays}


def _cap(place: int, history: Sequence[StepRecord], settings: PackSettings) -> int:
    return settings.recent if place == len(history) - 1 else settings.older


def _frame(step: StepRecord) -> int:
    """Return the characters of a step beside its output."""
    return len(_JOIN) + len(step.title) + 1


def _text(step: StepRecord, cap: int) -> tuple[str, bool]:
    """Return a step with so many characters of its output, and whether some are missing; nothing if none fits."""
    output = step.output.strip("\n")
    if not output:
        return (step.title, False) if cap >= 0 else ("", False)
    try:
        body = cut(output, max(cap, 0), _UNIT, marker=MARKER).text
    except DoesNotFit:
        return "", False
    return f"{step.title}\n{body}", body is not output and body != output
