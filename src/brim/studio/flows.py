"""Flows as the page shows them: the values that hold for a step, where each comes from, and how to change one."""

from __future__ import annotations

import os
from typing import Any

from brim.errors import InvalidType
from brim.settings.change import SettingChange, plan_all
from brim.settings.config import Config
from brim.settings.guard import LEAST
from brim.settings.keys import BARE, setting_of
from brim.settings.layer import Values
from brim.settings.presets import PRESETS
from brim.studio.desk import Desk

PRESET = "budgets.preset"
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
    config = desk.settings()
    resolved = config.resolve(profile, flow, step)
    here = _here(config, profile, flow, step)
    warnings = resolved.warnings
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
                "own": here.get(BARE.get(key, key), ""),
                "over": over,
                "warnings": [told for told in warnings if f": {key} of " in told],
                "about": "" if about is None else about.doc,
                "expected": "" if about is None else about.expected,
            }
        )
    told = [warning for warning in warnings if not any(warning in row["warnings"] for row in rows)]
    shown: dict[str, Any] = near({"values": rows, "preset": resolved.preset, "warnings": told}, config)
    return shown


def near(told: Any, config: Config) -> Any:
    """Return what is told with the paths of the project as they look from its root."""
    root = os.path.join(config.root, "") if config.root else ""
    if isinstance(told, str):
        return told.replace(root, "") if root and root in told else told
    if isinstance(told, dict):
        return {key: near(value, config) for key, value in told.items()}
    return [near(value, config) for value in told] if isinstance(told, list | tuple) else told


def _here(config: Config, profile: str | None, flow: str | None, step: str | None) -> dict[str, str]:
    """Return the settings that this very place sets, each with the key that sets it: its own, or a preset's."""
    own: Values
    if flow is not None:
        own = config.flow(flow).settings if step is None else config.flow(flow).step(step).settings
    elif profile is not None:
        own = config.profile(profile).settings
    else:
        own = {key: value for key, value in config.resolve().items() if value.origin == "project"}
        own = {BARE.get(key, key): value for key, value in own.items()}
    preset = own.get(PRESET)
    by = preset.where if preset is not None and preset.value is not None else None
    return {key: PRESET if value.where == by and key.startswith("budgets.") else key for key, value in own.items()}


def planned(desk: Desk, asked: dict[str, Any]) -> dict[str, Any]:
    """Return the change that gives a setting another value, or none here: as a diff, before anything is written.

    A preset takes the place of what stands beside it: the three budgets of the same place go.

    Raises:
        InvalidValue: the setting cannot have this value.
        UnknownName: no such setting, flow or step.
        SourceError: the file cannot be changed.
    """
    names = ("key", "value", "profile", "flow", "step")
    given = {name: asked.get(name) for name in names}
    for name, value in given.items():
        if not isinstance(value, str) and not (value is None and name != "key"):
            raise InvalidType(name, value, "a text")
    places = {name: given[name] for name in ("profile", "flow", "step")}
    config, key = desk.settings(), str(given["key"])
    texts: dict[str, str | None] = {key: given["value"]}
    if BARE.get(key, key) == PRESET and given["value"] is not None:
        own = _here(config, **places)
        texts |= {name: None for name in LEAST if own.get(name) == name}
    change = plan_all(config, texts, **places)
    then = desk.settings({change.path: change.after}) if change.path in config.files else config
    warnings = then.resolve(**places).warnings
    told: dict[str, Any] = near({**_told(change), "warnings": list(warnings)}, config)
    return {"id": desk.plan(change), **told, "path": change.path}


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


def _told(change: SettingChange) -> dict[str, Any]:
    changed = change.before != change.after
    return {"path": change.path, "key": change.key, "value": change.value, "changed": changed, "diff": change.diff()}
