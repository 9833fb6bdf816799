"""Flows as the page shows them: the values that hold for a step, where each comes from, and one of them changed."""

from __future__ import annotations

from typing import Any

from brim.config.change import Change, plan
from brim.config.keys import BARE, setting_of
from brim.config.presets import PRESETS
from brim.errors import InvalidType
from brim.studio.desk import Desk

ABOVE = ("profile", "flow", "step", "env", "flags")
"""Layers above the files of the project and the user: what they set is an override."""


def listed(desk: Desk) -> dict[str, Any]:
    """Return the project's flows with their steps, its profiles and the presets."""
    config = desk.settings()
    flows = []
    for name in config.flows:
        flow = config.flow(name)
        steps = [
            {
                "id": step.id,
                "agent": step.agent,
                "task": step.task[:200],
                "own": len(step.settings),
                "where": step.where,
            }
            for step in flow.steps
        ]
        row = {"name": name, "description": flow.description, "where": flow.where, "own": len(flow.settings)}
        flows.append({**row, "steps": steps})
    presets = {name: dict(budgets.items()) for name, budgets in PRESETS.items()}
    told = {"flows": flows, "profiles": list(config.profiles), "presets": presets, "files": list(config.files)}
    return {**told, "path": config.path, "saved": desk.saved}


def settings(desk: Desk, profile: str | None, flow: str | None, step: str | None) -> dict[str, Any]:
    """Return every setting that holds for a profile, a flow and a step, with its origin and what it stands above.

    Raises:
        UnknownName: no such profile, flow or step.
    """
    resolved = desk.settings().resolve(profile, flow, step)
    rows = []
    for key, value in resolved.items():
        below = resolved.below(key)
        over = None if below is None else {"value": below.value, "origin": below.origin, "where": below.where}
        about = setting_of(BARE.get(key, key))
        rows.append(
            {
                "key": key,
                "value": value.value,
                "origin": value.origin,
                "where": value.where,
                "override": value.origin in ABOVE,
                "over": over,
                "about": "" if about is None else about.doc,
                "expected": "" if about is None else about.expected,
            }
        )
    return {"values": rows, "preset": resolved.preset, "warnings": list(resolved.warnings)}


def planned(desk: Desk, asked: dict[str, Any]) -> dict[str, Any]:
    """Return the change that gives a setting another value: as a diff, before anything is written.

    Raises:
        InvalidValue: the setting cannot have this value.
        UnknownName: no such setting, flow or step.
        SourceError: the file cannot be changed.
    """
    names = ("key", "value", "profile", "flow", "step")
    given = {name: asked.get(name) for name in names}
    for name, value in given.items():
        if not isinstance(value, str) and not (value is None and name not in ("key", "value")):
            raise InvalidType(name, value, "a text")
    places = {name: given[name] for name in ("profile", "flow", "step")}
    change = plan(desk.settings(), str(given["key"]), str(given["value"]), **places)
    return {"id": desk.plan(change), **_told(change)}


def saved(desk: Desk, planned: str) -> dict[str, Any]:
    """Make a change that was looked at, and return what it was.

    Raises:
        UnknownName: no such plan.
        SourceError: the file was changed in the meantime.
    """
    return {**_told(desk.save(planned)), "saved": desk.saved}


def undone(desk: Desk) -> dict[str, Any]:
    """Take back the last change, and return what that changed.

    Raises:
        UnknownName: there is none.
        SourceError: the file was changed since.
    """
    return {**_told(desk.undo()), "saved": desk.saved}


def _told(change: Change) -> dict[str, Any]:
    changed = change.before != change.after
    return {"path": change.path, "key": change.key, "value": change.value, "changed": changed, "diff": change.diff()}
