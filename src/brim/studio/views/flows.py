"""Flows and settings: the values that apply to a step, where each comes from, and how to change one."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import Any

from brim.errors import InvalidType
from brim.files.json_strings import map_strings
from brim.settings import changes
from brim.settings.budgets import LARGEST, LEAST, PRESETS, least_of
from brim.settings.config import Config
from brim.settings.keys import BARE, setting_of
from brim.settings.values import Values
from brim.studio.workspace import Workspace

PRESET = "budgets.preset"


def flows(workspace: Workspace) -> dict[str, Any]:
    """Return the flows with their steps, the profiles and the presets."""
    config = workspace.settings()
    rows = []
    for name in config.flows:
        flow = config.flow(name)
        steps = [
            {"id": step.id, "agent": step.agent, "task": step.task[:200], "own": len(step.settings)}
            for step in flow.steps
        ]
        row = {"name": name, "description": flow.description, "where": flow.where, "own": len(flow.settings)}
        rows.append({**row, "steps": steps})
    return {
        "flows": rows,
        "profiles": list(config.profiles),
        "presets": {name: dict(budgets.items()) for name, budgets in PRESETS.items()},
        "files": list(config.files),
        "path": config.path,
        "saved": workspace.saved,
    }


def settings(workspace: Workspace, profile: str | None, flow: str | None, step: str | None) -> dict[str, Any]:
    """Return every setting for a profile, a flow and a step, with its origin and the value that it overrides.

    Raises:
        UnknownName: there is no such profile, flow or step.
    """
    config = workspace.settings()
    resolved = config.resolve(profile, flow, step)
    own = _own_keys(config, profile, flow, step)
    warnings = resolved.warnings
    rows = []
    for key, value in resolved.items():
        full = BARE.get(key, key)
        below, about = resolved.below(key), setting_of(full)
        rows.append(
            {
                "key": key,
                **asdict(value),
                "override": value.is_override,
                "own": own.get(full, ""),
                "over": below and asdict(below),
                "warnings": [warning for moved, warning in resolved.moved if moved == full],
                "bounds": (least_of(full, resolved.value("bounds")), LARGEST) if full in LEAST else None,
                "about": about.doc if about else "",
                "expected": about.expected if about else "",
            }
        )
    other = [warning for warning in warnings if not any(warning in row["warnings"] for row in rows)]
    shown: dict[str, Any] = relative_paths({"values": rows, "preset": resolved.preset, "warnings": other}, config)
    return shown


def relative_paths(values: Any, config: Config) -> Any:
    """Return JSON values with the paths of the project relative to its root."""
    root = os.path.join(config.root, "") if config.root else ""
    return map_strings(values, lambda text: text.replace(root, "")) if root else values


def _own_keys(config: Config, profile: str | None, flow: str | None, step: str | None) -> dict[str, str]:
    """Return the settings of this layer, each with the key that sets it: its own, or the preset."""
    own: Values
    if flow is not None:
        own = config.flow(flow).settings if step is None else config.flow(flow).step(step).settings
    elif profile is not None:
        own = config.profile(profile).settings
    else:
        resolved = config.resolve().items()
        own = {BARE.get(key, key): value for key, value in resolved if value.origin == "project"}
    preset = own.get(PRESET)
    by = preset.where if preset is not None and preset.value is not None else None
    return {key: PRESET if value.where == by and key.startswith("budgets.") else key for key, value in own.items()}


def plan(
    workspace: Workspace, *, key: str, value: object, profile: str | None, flow: str | None, step: str | None
) -> dict[str, Any]:
    """Return the change that sets a setting to another value, or removes it, as a diff; nothing is written.

    A preset replaces the three budgets of the same layer, so these are removed.

    Raises:
        InvalidValue: the value is invalid for this setting.
        UnknownName: there is no such setting, flow or step.
        SourceError: the file cannot be changed.
    """
    if value is not None and not isinstance(value, str):
        raise InvalidType("value", value, "a string")
    # Under a profile, the settings of a flow are still written to the flow.
    layer = {"profile": profile if flow is None else None, "flow": flow, "step": step}
    config = workspace.settings()
    texts: dict[str, str | None] = {key: value}
    if BARE.get(key, key) == PRESET and value is not None:
        own = _own_keys(config, profile, flow, step)
        texts |= {name: None for name in LEAST if own.get(name) == name}
    change = changes.plan(config, texts, **layer)
    known = change.path in config.files
    changed = workspace.settings({change.path: change.after or ""}) if known else config
    resolved = changed.resolve(profile, flow, step)
    # What applies afterwards may come from a stronger layer, such as the environment.
    applies = asdict(resolved[key]) if key in resolved else None
    if not known and applies is not None and applies["origin"] in ("defaults", "user"):
        applies |= {"value": change.value, "origin": "project", "where": change.path}
    more = {"warnings": list(resolved.warnings), "layer": _layer(profile, flow, step), "applies": applies}
    shown: dict[str, Any] = relative_paths({**_shown(change), **more}, config)
    return {"id": workspace.plan(change), **shown, "path": change.path}


def _layer(profile: str | None, flow: str | None, step: str | None) -> str:
    """Return the layer to which a change is written."""
    if flow is not None:
        return "flow" if step is None else "step"
    return "project" if profile is None else "profile"


def save(workspace: Workspace, plan: str) -> dict[str, Any]:
    """Write a planned change, and return it.

    Raises:
        UnknownName: there is no such plan.
        SourceError: the file was changed in the meantime.
    """
    return {**_shown(workspace.save(plan)), "saved": workspace.saved}


def undo(workspace: Workspace) -> dict[str, Any]:
    """Revert the last saved change, and return it.

    Raises:
        UnknownName: there is none.
        SourceError: the file was changed since.
    """
    return {**_shown(workspace.undo()), "saved": workspace.saved}


def _shown(change: changes.SettingChange) -> dict[str, Any]:
    changed = change.before != change.after
    return {"path": change.path, "key": change.key, "value": change.value, "changed": changed, "diff": change.diff()}
