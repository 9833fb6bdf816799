"""Flows and profiles: names, steps, teaching notes, and settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from brim.errors import InvalidType, InvalidValue, UnknownName
from brim.files.source import Keys, load, place
from brim.settings import project
from brim.settings.authors import EXTENDS, extending
from brim.settings.keys import FLOW_KEYS, NOTE, NOTES, PROFILE_KEYS, STEP_KEYS
from brim.settings.reader import Reader
from brim.settings.values import Values


@dataclass(frozen=True, slots=True)
class FlowStep:
    """One step of a flow."""

    id: str
    agent: str
    """The agent of the step; empty if the file names none."""
    teaching_notes: Mapping[str, Any]
    """The notes by name: inputs, outputs, emphasizes, constraints."""
    values: Mapping[str, Any] = field(repr=False)
    """All keys of the step, as written."""
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
    """Steps in order, and the settings that they share."""

    name: str
    description: str
    steps: tuple[FlowStep, ...]
    settings: Values = field(repr=False)
    where: str = ""

    def step(self, key: str | int) -> FlowStep:
        """Return a step by its id, or by its index from 0.

        Raises:
            UnknownName: no step has that id.
            InvalidValue: the flow has no step at that index.
        """
        if isinstance(key, str):
            found = next((step for step in self.steps if step.id == key), None)
            if found is None:
                raise UnknownName(f"step of the flow {self.name!r}", key, [step.id for step in self.steps])
            return found
        if isinstance(key, bool) or not isinstance(key, int):
            raise InvalidType("step", key, "the id of a step, or its index from 0")
        if not 0 <= key < len(self.steps):
            raise InvalidValue("step", key, f"an index from 0 to {len(self.steps) - 1} in the flow {self.name!r}")
        return self.steps[key]


@dataclass(frozen=True, slots=True)
class Profile:
    """Named settings, and the profile that they extend."""

    name: str
    description: str
    extends: str | None
    settings: Values = field(repr=False)
    where: str = ""


def shipped_profile(name: str) -> Profile:
    """Return a profile that comes with brim."""
    reader = Reader(load(project.shipped(name)))
    profile = read_profile(reader, name, reader.source.values)
    reader.finish()
    return profile


def read_profile(reader: Reader, name: str, value: Any, *keys: str | int) -> Profile:
    """Return a profile; the reader collects its errors."""
    values, own = reader.mapping(value, *keys), reader.own(value, PROFILE_KEYS, *keys)
    _check_name(reader, own, "profile_id", name, keys)
    settings = reader.settings(values, "profile", PROFILE_KEYS, *keys)
    extends = own.get("extends") if "extends" in values else EXTENDS.get(extending(values) or "")
    return Profile(name, own.get("description", ""), extends, settings, reader.where(*keys))


def read_flow(reader: Reader, name: str, value: Any, *keys: str | int) -> Flow:
    """Return a flow; the reader collects its errors."""
    values, own = reader.mapping(value, *keys), reader.own(value, FLOW_KEYS, *keys)
    _check_name(reader, own, "flow", name, keys)
    settings = reader.settings(values, "flow", FLOW_KEYS, *keys)
    steps: dict[str, FlowStep] = {}
    for i, row in enumerate(own.get("steps", ())):
        at = (*keys, "steps", i)
        step = _step(reader, row, i, at)
        first = steps.setdefault(step.id, step)
        if first is not step:
            reader.refuse(f"{place(at)} has the id {step.id!r} of the step at {first.where}", *at, "id")
    return Flow(name, own.get("description", ""), tuple(steps.values()), settings, reader.where(*keys))


def _step(reader: Reader, row: Any, index: int, keys: Keys) -> FlowStep:
    values, own = reader.mapping(row, *keys), reader.own(row, STEP_KEYS, *keys)
    settings = reader.settings(values, "step", STEP_KEYS, *keys)
    agent = own.get("agent") or next(iter(own.get("agents", ())), "")
    notes = own.get("teaching_notes", {})
    for name, note in notes.items():
        if name not in NOTES:
            reader.unknown(name, NOTES, (*keys, "teaching_notes"))
        elif note is not None and not NOTE.takes(note):
            reader.refuse_value(note, NOTE.expected, *keys, "teaching_notes", name)
    return FlowStep(str(own.get("id", index)), agent, notes, values, settings, reader.where(*keys))


def _check_name(reader: Reader, own: Mapping[str, Any], key: str, name: str, keys: Keys) -> None:
    """Record a problem if a name differs from that of the file or the key."""
    if own.get(key, name) != name:
        reader.refuse_value(own[key], f"{name!r}, the name of its file or key", *keys, key)
