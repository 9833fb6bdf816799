"""Flows and profiles as files define them: names, steps, teaching notes, and the settings of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from brim.errors import InvalidType, InvalidValue, UnknownName
from brim.files.source import Keys, place
from brim.settings import project
from brim.settings.authors import extended
from brim.settings.keys import FLOW_KEYS, NOTES, PROFILE_KEYS, STEP_KEYS
from brim.settings.reader import Reader
from brim.settings.values import Values


@dataclass(frozen=True, slots=True)
class FlowStep:
    """One step of a flow."""

    id: str
    agent: str
    """The agent that does it; empty if the file names none."""
    teaching_notes: Mapping[str, Any]
    """Those of inputs, outputs, emphasizes and constraints that the file has."""
    values: Mapping[str, Any] = field(repr=False)
    """All keys of the step, as they were written."""
    settings: Values = field(repr=False)
    where: str = ""
    """The file and line where it begins."""

    @property
    def task(self) -> str:
        """The instruction to the agent: `task`, or `prompt` if that is a string."""
        task = self.values.get("task") or self.values.get("prompt")
        return task if isinstance(task, str) else ""


@dataclass(frozen=True, slots=True)
class Flow:
    """A flow: steps in order, and the settings of all of them."""

    name: str
    description: str
    steps: tuple[FlowStep, ...]
    settings: Values = field(repr=False)
    where: str = ""
    _by_id: Mapping[str, FlowStep] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_id", {step.id: step for step in self.steps})

    def step(self, key: str | int) -> FlowStep:
        """Return a step by its id, or by its index from 0.

        Raises:
            UnknownName: no step has that id.
            InvalidValue: the flow has no step at that index.
        """
        if isinstance(key, str):
            found = self._by_id.get(key)
            if found is None:
                raise UnknownName(f"step of the flow {self.name!r}", key, self._by_id)
            return found
        if isinstance(key, bool) or not isinstance(key, int):
            raise InvalidType("step", key, "the id of a step, or its index from 0")
        if not 0 <= key < len(self.steps):
            raise InvalidValue("step", key, f"an index from 0 to {len(self.steps) - 1} in the flow {self.name!r}")
        return self.steps[key]


@dataclass(frozen=True, slots=True)
class Profile:
    """Settings under a name, and the profile that they extend."""

    name: str
    description: str
    extends: str | None
    settings: Values = field(repr=False)
    where: str = ""


def shipped_profile(name: str) -> Profile:
    """Return a profile that comes with brim."""
    reader = Reader(project.read(project.shipped(name)))
    profile = read_profile(reader, name, reader.source.values)
    reader.finish()
    return profile


def read_profile(reader: Reader, name: str, value: Any, *keys: str | int) -> Profile:
    """Return a profile; its problems are recorded by the reader."""
    values = reader.mapping(value, *keys)
    _check_texts(reader, values, ("description", "extends"), keys)
    _check_name(reader, values, "profile_id", name, keys)
    settings = reader.settings(values, "profile", PROFILE_KEYS, *keys)
    extends = values.get("extends", extended(values))
    return Profile(
        name,
        str(values.get("description") or ""),
        extends if isinstance(extends, str) else None,
        settings,
        reader.where(*keys),
    )


def read_flow(reader: Reader, name: str, value: Any, *keys: str | int) -> Flow:
    """Return a flow; its problems are recorded by the reader."""
    values = reader.mapping(value, *keys)
    _check_texts(reader, values, ("description",), keys)
    _check_name(reader, values, "flow", name, keys)
    settings = reader.settings(values, "flow", FLOW_KEYS, *keys)
    rows = values.get("steps") or []
    if not isinstance(rows, list):
        reader.refuse_value(rows, "a list of steps", *keys, "steps")
        rows = []
    steps: dict[str, FlowStep] = {}
    for i, row in enumerate(rows):
        at = (*keys, "steps", i)
        step = _step(reader, row, i, at)
        first = steps.setdefault(step.id, step)
        if first is not step:
            reader.refuse(f"{place(at)} has the id {step.id!r} of the step at {first.where}", *at, "id")
    return Flow(name, str(values.get("description") or ""), tuple(steps.values()), settings, reader.where(*keys))


def _step(reader: Reader, row: Any, index: int, keys: Keys) -> FlowStep:
    values = reader.mapping(row, *keys)
    _check_texts(reader, values, ("agent", "role", "description", "task", "stage", "teaching_note"), keys)
    id_ = values.get("id", index)
    if type(id_) is int:
        id_ = str(id_)
    elif not isinstance(id_, str) or not id_:
        reader.refuse_value(id_, "a string or a whole number", *keys, "id")
        id_ = str(index)
    for name, expected in (("artifacts", "a list of paths"), ("agents", "a list of agents")):
        if values.get(name) is not None and not _is_texts(values[name]):
            reader.refuse_value(values[name], expected, *keys, name)
    settings = reader.settings(values, "step", STEP_KEYS, *keys)
    agents = values.get("agents")
    agent = values.get("agent") or (agents[0] if agents and _is_texts(agents) else None)
    notes = _notes(reader, values.get("teaching_notes"), (*keys, "teaching_notes"))
    return FlowStep(id_, agent if isinstance(agent, str) else "", notes, values, settings, reader.where(*keys))


def _notes(reader: Reader, value: Any, keys: Keys) -> Mapping[str, Any]:
    notes = reader.mapping(value, *keys)
    for name, note in notes.items():
        if name not in NOTES:
            reader.unknown(name, NOTES, keys)
        elif note is not None and not isinstance(note, str) and not _is_texts(note):
            reader.refuse_value(note, "a string or a list of strings", *keys, name)
    return notes


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _check_texts(reader: Reader, values: Mapping[str, Any], names: tuple[str, ...], keys: Keys) -> None:
    for name in names:
        if not isinstance(values.get(name), str | None):
            reader.refuse_value(values[name], "a string", *keys, name)


def _check_name(reader: Reader, values: Mapping[str, Any], key: str, name: str, keys: Keys) -> None:
    """Refuse a name that differs from the one by which the file refers to it."""
    if values.get(key, name) != name:
        reader.refuse_value(values[key], f"{name!r}, the name of its file or key", *keys, key)
