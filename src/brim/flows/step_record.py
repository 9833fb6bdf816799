"""What a step is told and what it left behind, read from whatever shape it comes in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from brim.errors import InvalidType, InvalidValue, check_choice

NOTES = ("inputs", "outputs", "emphasizes", "constraints")
"""What a step is taught, in the order in which it is said."""

_TAGS = {
    "ok": "OK",
    "done": "OK",
    "success": "OK",
    "succeeded": "OK",
    "failed": "FAIL",
    "fail": "FAIL",
    "error": "FAIL",
}
_STEP_KEYS = ("id", "agent", "role", "description", "task", "prompt", "stage", "artifacts", "teaching_notes")
_AGENT = "agent"
"""Stands for an agent that has no name."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StepRecord:
    """What one step left behind."""

    step_id: str
    agent: str = ""
    output: str = field(default="", repr=False)
    """All that it said: what a prompt shows of it is decided anew for each step."""
    artifacts: Sequence[str] = ()
    """Paths of what it wrote."""
    status: str = "ok"

    def __post_init__(self) -> None:
        for name in ("step_id", "agent", "output", "status"):
            if not isinstance(getattr(self, name), str):
                raise InvalidType(f"history: {name}", getattr(self, name), "a text")
        if not self.step_id:
            raise InvalidValue("history: step_id", "", "a text that is not empty")
        object.__setattr__(self, "artifacts", _paths("history: artifacts", self.artifacts))

    @property
    def title(self) -> str:
        """The line that stands above its output."""
        tag = _TAGS.get(self.status.casefold(), self.status.upper())
        return f"## Step {_line(self.step_id)}: {_line(self.agent) or _AGENT}" + (f" [{_line(tag)}]" if tag else "")


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """What one step is told."""

    id: str
    agent: str = ""
    text: str = ""
    """What it is to do, in its own words."""
    notes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The teaching notes, each as a list."""
    stage: str = ""

    @property
    def query(self) -> str:
        """What files and steps are looked up by: all that the step is taught."""
        return "\n".join([self.text, *(line for lines in self.notes.values() for line in lines)])

    @property
    def teaching(self) -> str:
        """The notes as they stand in a pack, before anything else."""
        parts = [f"# Step {_line(self.id)}: {_line(self.agent) or _AGENT}"]
        if self.text:
            parts.append(self.text)
        listed = {name: "\n".join(f"- {line}" for line in self.notes.get(name, ())) for name in NOTES}
        parts += [f"## {name.capitalize()}\n{lines}" for name, lines in listed.items() if lines]
        return "\n\n".join(parts)


def records(history: Sequence[Any]) -> tuple[StepRecord, ...]:
    """Return the records of a history: each is one already, or a mapping with the same keys.

    Raises:
        InvalidValue: one is neither, or has a key that is not known.
    """
    if isinstance(history, str | Mapping) or not isinstance(history, Sequence):
        raise InvalidType("history", history, "a list of steps")
    return tuple(_record(i, item) for i, item in enumerate(history))


def _record(index: int, item: Any) -> StepRecord:
    if isinstance(item, StepRecord):
        return item
    if not isinstance(item, Mapping):
        raise InvalidType(f"history[{index}]", item, "a StepRecord or a mapping with step_id, agent and output")
    known = tuple(slot.name for slot in fields(StepRecord))
    for key in item:
        check_choice(f"history[{index}]: a key", key, known)
    if "step_id" not in item:
        raise InvalidValue(f"history[{index}]", dict(item), "a mapping with a step_id")
    return StepRecord(**item)


def task_of(step: Any) -> Task:
    """Return what a step is told, from a step of the settings or a mapping with the same keys.

    Raises:
        InvalidValue: it is neither, or has a key that is not known.
    """
    if isinstance(step, Task):
        return step
    if isinstance(step, Mapping):
        values: Mapping[str, Any] = step
        for key in step:
            check_choice("step: a key", key, _STEP_KEYS)
        named, agent, notes = step.get("id"), step.get("agent"), step.get("teaching_notes")
    elif hasattr(step, "teaching_notes") and hasattr(step, "id"):
        values = getattr(step, "values", {})
        named, agent, notes = step.id, step.agent, step.teaching_notes
    else:
        raise InvalidType("step", step, "a step of a flow, its id, or a mapping with id, agent and teaching_notes")
    if isinstance(named, bool) or not isinstance(named, str | int) or named == "":
        raise InvalidType("step: id", named, "a text that is not empty")
    said = [values.get("role"), values.get("description"), values.get("task") or values.get("prompt")]
    texts = [text.strip() for text in said if isinstance(text, str) and text.strip()]
    kind = values.get("stage")
    return Task(
        id=str(named),
        agent=agent if isinstance(agent, str) else "",
        text="\n\n".join(texts),
        notes=_notes(notes or {}),
        stage=kind if isinstance(kind, str) else "",
    )


def _notes(notes: Any) -> dict[str, tuple[str, ...]]:
    if not isinstance(notes, Mapping):
        raise InvalidType("step: teaching_notes", notes, f"a mapping with {', '.join(NOTES)}")
    for key in notes:
        check_choice("step: teaching_notes: a key", key, NOTES)
    return {name: _lines(f"step: teaching_notes.{name}", notes[name]) for name in NOTES if notes.get(name)}


def _lines(place: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value.strip(),)
    return _paths(place, value)


def _paths(place: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence) or not all(isinstance(item, str) for item in value):
        raise InvalidType(place, value, "a list of texts")
    return tuple(value)


def _line(text: str) -> str:
    return " ".join(text.split())
