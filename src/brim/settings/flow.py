"""Flows and profiles as files describe them: names, steps, teaching notes, and the settings of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from brim.errors import InvalidType, InvalidValue, UnknownName, shown
from brim.files.source import place
from brim.settings import ecology
from brim.settings.keys import FLOW_KEYS, NOTES, PROFILE_KEYS, STEP_KEYS
from brim.settings.layer import Reader, Values, advice

_TEXTS = ("agent", "role", "description", "task", "stage")


@dataclass(frozen=True, slots=True)
class FlowStep:
    """One step of a flow."""

    id: str
    agent: str
    """Who does it; empty where the file does not say."""
    teaching_notes: Mapping[str, Any]
    """Inputs, outputs, emphasizes and constraints, those that are given."""
    values: Mapping[str, Any] = field(repr=False)
    """Everything that the step says, as it was written."""
    settings: Values = field(repr=False)
    where: str = ""
    """The file and line where it begins."""

    @property
    def task(self) -> str:
        """What the agent is told to do: `task`, or `prompt` where that is a text."""
        said = self.values.get("task") or self.values.get("prompt")
        return said if isinstance(said, str) else ""


@dataclass(frozen=True, slots=True)
class Flow:
    """A flow: steps in order, and settings that hold for all of them."""

    name: str
    description: str
    steps: tuple[FlowStep, ...]
    settings: Values = field(repr=False)
    where: str = ""
    _by_id: Mapping[str, FlowStep] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_id", {step.id: step for step in self.steps})

    def step(self, key: str | int) -> FlowStep:
        """Return a step by its id, or by its place from 0.

        Raises:
            UnknownName: there is none of that id.
            InvalidValue: there is none at that place.
        """
        if isinstance(key, str):
            found = self._by_id.get(key)
            if found is None:
                raise UnknownName(f"step of the flow {self.name!r}", key, self._by_id)
            return found
        if isinstance(key, bool) or not isinstance(key, int):
            raise InvalidType("step", key, "the id of a step, or its place from 0")
        if not 0 <= key < len(self.steps):
            raise InvalidValue("step", key, f"a place from 0 to {len(self.steps) - 1} in the flow {self.name!r}")
        return self.steps[key]


@dataclass(frozen=True, slots=True)
class Profile:
    """Settings under a name, and the profile that they add to."""

    name: str
    description: str
    extends: str | None
    settings: Values = field(repr=False)
    where: str = ""


def read_profile(reader: Reader, name: str, value: Any, *keys: str | int) -> Profile:
    """Return a profile; what is wrong with it the reader remembers."""
    values = reader.mapping(value, *keys)
    _texts(reader, values, ("description", "extends"), keys)
    _named(reader, values, "profile_id", name, keys)
    settings = reader.settings(values, "profile", PROFILE_KEYS, *keys)
    extends = values.get("extends", ecology.PROFILE if ecology.speaks(values) else None)
    return Profile(
        name,
        str(values.get("description") or ""),
        extends if isinstance(extends, str) else None,
        settings,
        reader.where(*keys),
    )


def read_flow(reader: Reader, name: str, value: Any, *keys: str | int) -> Flow:
    """Return a flow; what is wrong with it the reader remembers."""
    values = reader.mapping(value, *keys)
    _texts(reader, values, ("description",), keys)
    _named(reader, values, "flow", name, keys)
    settings = reader.settings(values, "flow", FLOW_KEYS, *keys)
    rows = values.get("steps")
    if rows is not None and not isinstance(rows, list):
        reader.refuse(f"{place((*keys, 'steps'))} must be a list of steps, not {shown(rows)}", *keys, "steps")
        rows = None
    steps: dict[str, FlowStep] = {}
    for i, row in enumerate(rows or ()):
        step = _step(reader, row, i, (*keys, "steps", i))
        first = steps.setdefault(step.id, step)
        if first is not step:
            told = f"{place((*keys, 'steps', i))} has the id {step.id!r} of the step at {first.where}"
            reader.refuse(told, *keys, "steps", i, "id")
    return Flow(name, str(values.get("description") or ""), tuple(steps.values()), settings, reader.where(*keys))


def _step(reader: Reader, row: Any, index: int, keys: tuple[str | int, ...]) -> FlowStep:
    values = reader.mapping(row, *keys)
    _texts(reader, values, _TEXTS, keys)
    id_ = values.get("id", index)
    if type(id_) is int:
        id_ = str(id_)
    elif not isinstance(id_, str) or not id_:
        reader.refuse(f"{place((*keys, 'id'))} must be a text or a whole number, not {shown(id_)}", *keys, "id")
        id_ = str(index)
    artifacts = values.get("artifacts")
    if artifacts is not None and not _is_texts(artifacts):
        reader.refuse(
            f"{place((*keys, 'artifacts'))} must be a list of paths, not {shown(artifacts)}", *keys, "artifacts"
        )
    settings = reader.settings(values, "step", STEP_KEYS, *keys)
    agent = values.get("agent")
    notes = _notes(reader, values["teaching_notes"], keys) if "teaching_notes" in values else {}
    return FlowStep(id_, agent if isinstance(agent, str) else "", notes, values, settings, reader.where(*keys))


def _notes(reader: Reader, value: Any, keys: tuple[str | int, ...]) -> Mapping[str, Any]:
    """Return the teaching notes: a text or a list of texts each."""
    keys = (*keys, "teaching_notes")
    notes = reader.mapping(value, *keys)
    for name, note in notes.items():
        if name not in NOTES:
            reader.refuse(f"{place(keys)} has no key {shown(name)}; {advice(name, NOTES)}", *keys, name)
        elif note is not None and not isinstance(note, str) and not _is_texts(note):
            told = f"{place((*keys, name))} must be a text or a list of texts, not {shown(note)}"
            reader.refuse(told, *keys, name)
    return notes


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _texts(reader: Reader, values: Mapping[str, Any], names: tuple[str, ...], keys: tuple[str | int, ...]) -> None:
    for name in names:
        value = values.get(name)
        if value is not None and not isinstance(value, str):
            reader.refuse(f"{place((*keys, name))} must be a text, not {shown(value)}", *keys, name)


def _named(reader: Reader, values: Mapping[str, Any], key: str, name: str, keys: tuple[str | int, ...]) -> None:
    """Refuse a name that is not the one by which it is known."""
    if values.get(key, name) != name:
        told = f"{place((*keys, key))} must be {name!r}, the name that it is found by, not {shown(values[key])}"
        reader.refuse(told, *keys, key)
