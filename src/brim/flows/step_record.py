"""The instructions of a step and the record of a finished one, from the settings or the caller's mappings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

from brim.errors import InvalidType, InvalidValue, check_choice
from brim.settings.flow import FlowStep
from brim.settings.keys import NOTES, STEP_KEYS

_TAGS = {
    **dict.fromkeys(("ok", "done", "success", "succeeded"), "OK"),
    **dict.fromkeys(("failed", "fail", "error"), "FAIL"),
}
_STEP_KEYS = tuple(STEP_KEYS)
_OTHER_NAMES = {"step_id": "id", "agent_key": "agent", "teaching": "teaching_notes"}
_AGENT = "agent"
"""Shown for a step without an agent."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StepRecord:
    """The record of a finished step."""

    step_id: str
    agent: str = ""
    output: str = field(default="", repr=False)
    """Its whole output; each pack shows as much of it as fits."""
    artifacts: Sequence[str] = ()
    """Paths of the files that it wrote."""
    status: str = "ok"

    def __post_init__(self) -> None:
        for name in ("step_id", "agent", "output", "status"):
            if not isinstance(getattr(self, name), str):
                raise InvalidType(f"history: {name}", getattr(self, name), "a string")
        if not self.step_id:
            raise InvalidValue("history: step_id", "", "a non-empty string")
        object.__setattr__(self, "artifacts", texts("history: artifacts", self.artifacts))

    @property
    def title(self) -> str:
        """The line above its output."""
        tag = _TAGS.get(self.status.casefold(), self.status.upper())
        return f"## Step {_line(self.step_id)}: {_line(self.agent) or _AGENT}" + (f" [{_line(tag)}]" if tag else "")


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """The instructions of a step."""

    id: str
    agent: str = ""
    text: str = ""
    """Its role, description and task."""
    notes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The teaching notes, each as a list."""
    stage: str = ""

    @property
    def query(self) -> str:
        """All instructions, used as the query to rank files and steps."""
        return "\n".join([self.text, *(line for lines in self.notes.values() for line in lines)])

    @property
    def teaching(self) -> str:
        """The instructions as they appear at the start of a pack."""
        parts = [f"# Step {_line(self.id)}: {_line(self.agent) or _AGENT}"]
        if self.text:
            parts.append(self.text)
        listed = {name: "\n".join(f"- {line}" for line in self.notes.get(name, ())) for name in NOTES}
        parts += [f"## {name.capitalize()}\n{lines}" for name, lines in listed.items() if lines]
        return "\n\n".join(parts)


def records(history: Sequence[Any]) -> tuple[StepRecord, ...]:
    """Return the records of a history: `StepRecord`s, or mappings and dataclasses with the same names.

    A dataclass may have other fields too. `agent_key` is accepted as a name for `agent`.

    Raises:
        InvalidValue: a record is invalid, or a mapping has an unknown key.
    """
    if isinstance(history, str | Mapping) or not isinstance(history, Sequence):
        raise InvalidType("history", history, "a list of steps")
    return tuple(
        item if isinstance(item, StepRecord) else _record(item, f"history[{i}]") for i, item in enumerate(history)
    )


def _record(item: Any, place: str) -> StepRecord:
    values, is_open = _values(item, place, "a StepRecord, or a mapping or dataclass with step_id, agent and output")
    values = _renamed(values, {"agent_key": "agent"})
    known = [slot.name for slot in fields(StepRecord)]
    if is_open:
        values = {name: values[name] for name in known if values.get(name) is not None}
    _check_keys(f"{place}: a key", values, known)
    if "step_id" not in values:
        raise InvalidValue(place, dict(values), "a mapping with a step_id")
    if type(values["step_id"]) is int:
        values["step_id"] = str(values["step_id"])
    return StepRecord(**values)


def _values(item: Any, place: str, expected: str) -> tuple[dict[str, Any], bool]:
    """Return the values of a mapping or a dataclass by name, and whether unknown names are allowed."""
    if isinstance(item, Mapping):
        return dict(item), False
    if is_dataclass(item) and not isinstance(item, type):
        return {slot.name: getattr(item, slot.name) for slot in fields(item)}, True
    raise InvalidType(place, item, expected)


def _renamed(values: dict[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Return values with alternative names of keys replaced, unless the key itself is present."""
    return {names.get(name, name) if names.get(name) not in values else name: value for name, value in values.items()}


def task_of(step: Any) -> Task:
    """Return the instructions of a step of the settings, or of a mapping or dataclass with the same names.

    A dataclass may have other fields too. `step_id`, `agent_key` and `teaching` are accepted as names for `id`, `agent`
    and `teaching_notes`.

    Raises:
        InvalidValue: the step is invalid, or a mapping has an unknown key.
    """
    if isinstance(step, FlowStep):
        values: Mapping[str, Any] = {**step.values, "id": step.id, "agent": step.agent}
    else:
        expected = "a step of a flow, its id, or a mapping or dataclass with id, agent and teaching_notes"
        own, is_open = _values(step, "step", expected)
        values = _renamed(own, _OTHER_NAMES)
        if is_open:
            values = {name: value for name, value in values.items() if name in _STEP_KEYS and value is not None}
        _check_keys("step: a key", values, _STEP_KEYS)
    name, agent, stage = values.get("id"), values.get("agent"), values.get("stage")
    if isinstance(name, bool) or not isinstance(name, str | int) or name == "":
        raise InvalidType("step: id", name, "a non-empty string")
    notes = values.get("teaching_notes") or {}
    if is_dataclass(notes) and not isinstance(notes, type):
        notes = {key: getattr(notes, key) for key in NOTES if getattr(notes, key, None) is not None}
    if not isinstance(notes, Mapping):
        raise InvalidType("step: teaching_notes", notes, f"a mapping with {', '.join(NOTES)}")
    _check_keys("step: teaching_notes: a key", notes, NOTES)
    task = values.get("task") or values.get("prompt")
    parts = (values.get("role"), values.get("description"), task, values.get("teaching_note"))
    return Task(
        id=str(name),
        agent=agent if isinstance(agent, str) else "",
        text="\n\n".join(text.strip() for text in parts if isinstance(text, str) and text.strip()),
        notes={
            key: (note.strip(),) if isinstance(note, str) else texts(f"step: teaching_notes.{key}", note)
            for key in NOTES
            if (note := notes.get(key))
        },
        stage=stage if isinstance(stage, str) else "",
    )


def _check_keys(place: str, values: Mapping[str, Any], known: Sequence[str]) -> None:
    for key in values:
        check_choice(place, key, known)


def texts(place: str, value: Any) -> tuple[str, ...]:
    """Return a list of strings as a tuple.

    Raises:
        InvalidType: it is not a list of strings.
    """
    if isinstance(value, str) or not isinstance(value, Sequence) or not all(isinstance(item, str) for item in value):
        raise InvalidType(place, value, "a list of strings")
    return tuple(value)


def _line(text: str) -> str:
    return " ".join(text.split())
