"""The JSON Schema of `brim.yaml`, generated from the table of settings.

    python -m brim.settings.schema     writes brim.schema.json

Editors use it to complete and check the file; brim itself uses the table.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from brim.settings import ecology
from brim.settings.keys import FLOW_KEYS, GROUPS, NOTES, PROFILE_KEYS, SPELLINGS, STEP_KEYS, TOP_KEYS, TREE, Setting

PATH = os.path.join(os.path.dirname(__file__), "brim.schema.json")

_TEXT: dict[str, Any] = {"type": "string"}
_TEXTS: dict[str, Any] = {"anyOf": [_TEXT, {"type": "array", "items": _TEXT}, {"type": "null"}]}


def schema() -> dict[str, Any]:
    """Return the schema of the whole file."""
    flows = {"type": ["object", "null"], "additionalProperties": {"$ref": "#/$defs/flow"}}
    profiles = {"type": ["object", "null"], "additionalProperties": {"$ref": "#/$defs/profile"}}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "brim.yaml",
        "description": "Settings of brim: budgets, windows, prompts, histories, profiles and flows.",
        **_closed({**_settings(top=True), "profiles": profiles, "flows": flows}, TOP_KEYS),
        "$defs": {
            **{f"group_{name}": _group(name) for name in GROUPS},
            ecology.NAME: ecology.schema(),
            "profile": _closed({**_settings(), **_others(PROFILE_KEYS)}, PROFILE_KEYS),
            "flow": _closed({**_settings(), **_others(FLOW_KEYS), "steps": _steps()}, FLOW_KEYS),
            "step": _step(),
        },
    }


def _settings(*, top: bool = False) -> dict[str, Any]:
    """Return the properties that the top, profiles, flows and steps share."""
    found: dict[str, Any] = {}
    for name, node in TREE.items():
        if isinstance(node, Setting):
            if top or not node.top:
                found[name] = node.schema()
        else:
            found[name] = {"$ref": f"#/$defs/group_{name}"}
    for name, own in SPELLINGS.items():
        found[name] = {"$ref": f"#/$defs/group_{own}", "description": f"The same as {own}."}
    budget = {"$ref": f"#/$defs/{ecology.NAME}"}
    above = {"type": ["object", "null"], "properties": {ecology.NAME: budget}, "additionalProperties": False}
    return {**found, ecology.NAME: budget, ecology.ABOVE: above}


def _group(name: str) -> dict[str, Any]:
    node = TREE[name]
    return {"description": GROUPS[name], **_node(node)}


def _node(node: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a group; a star allows any name."""
    if "*" in node:
        return {"type": ["object", "null"], "additionalProperties": _node(node["*"])}
    inner = {key: child.schema() if isinstance(child, Setting) else _node(child) for key, child in node.items()}
    return {"type": ["object", "null"], "properties": inner, "additionalProperties": False}


def _others(keys: Mapping[str, str]) -> dict[str, Any]:
    return {key: {"type": "boolean"} if key == "curator_enabled" else {"type": ["string", "null"]} for key in keys}


def _steps() -> dict[str, Any]:
    return {"type": ["array", "null"], "items": {"$ref": "#/$defs/step"}}


def _step() -> dict[str, Any]:
    notes = {"type": ["object", "null"], "properties": dict.fromkeys(NOTES, _TEXTS), "additionalProperties": False}
    own = {
        **_settings(),
        **_others(STEP_KEYS),
        "id": {"type": ["string", "integer"]},
        "prompt": {"anyOf": [_TEXT, {"$ref": "#/$defs/group_prompt"}]},
        "artifacts": {"type": ["array", "null"], "items": _TEXT},
        "teaching_notes": notes,
    }
    return _closed(own, STEP_KEYS)


def _closed(properties: dict[str, Any], descriptions: Mapping[str, str]) -> dict[str, Any]:
    """Return an object with these properties and no others."""
    for key, sentence in descriptions.items():
        properties[key] = {"description": sentence, **properties[key]}
    return {"type": ["object", "null"], "properties": properties, "additionalProperties": False}


def text() -> str:
    """Return the text of the shipped file."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


def main() -> None:
    """Write the shipped file."""
    with open(PATH, "w", encoding="utf-8") as file:
        file.write(text())


if __name__ == "__main__":
    main()
