"""The JSON Schema of `brim.yaml`, generated from the table of settings.

    python -m brim.settings.schema     writes brim.schema.json

Editors use it to complete and check the file. brim itself uses the table.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from itertools import combinations
from typing import Any

from brim.settings import authors
from brim.settings.keys import FLOW_KEYS, GROUPS, PROFILE_KEYS, STEP_KEYS, TOP_KEYS, TREE, OwnKey, Setting

PATH = os.path.join(os.path.dirname(__file__), "brim.schema.json")

_GROUPS = {**GROUPS, **authors.GROUPS}


def schema() -> dict[str, Any]:
    """Return the schema of the whole file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "brim.yaml",
        "description": "Settings of brim: budgets, windows, prompts, histories, profiles and flows.",
        **_object({**_settings(top=True), **_own(TOP_KEYS)}),
        "$defs": {
            **{f"group_{name}": {"description": doc, **_group(TREE[name])} for name, doc in _GROUPS.items()},
            "profile": _open(PROFILE_KEYS),
            "flow": _open(FLOW_KEYS),
            "step": _open(STEP_KEYS),
        },
    }


def _settings(*, top: bool = False) -> dict[str, Any]:
    """Return the properties that the top, profiles, flows and steps share."""
    return {name: _child(name, node) for name, node in TREE.items() if isinstance(node, dict) or top or not node.top}


def _child(name: str, node: Any) -> dict[str, Any]:
    """Return the schema of a setting, a word or a group; an alternative group name refers to the first one."""
    if not isinstance(node, dict):
        made: dict[str, Any] = node.schema()
        return made
    first = next((each for each in _GROUPS if TREE[each] is node), None)
    if first is None:
        return _group(node)
    return {"$ref": f"#/$defs/group_{first}", **({} if first == name else {"description": f"The same as {first}."})}


def _group(node: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a group; a star allows any name, and alternative names exclude each other."""
    if "*" in node:
        return _named(_group(node["*"]))
    twice = [[one, other] for one, other in combinations(node, 2) if node[one] is node[other]]
    made = _object({name: _child(name, child) for name, child in node.items()})
    return {**made, "not": {"anyOf": [{"required": pair} for pair in twice]}} if twice else made


def _own(keys: Mapping[str, OwnKey]) -> dict[str, Any]:
    """Return the properties of keys that are not settings."""
    return {name: {"description": doc, "anyOf": [kind.schema, {"type": "null"}]} for name, (kind, doc) in keys.items()}


def _named(item: dict[str, Any]) -> dict[str, Any]:
    """Return an object with any names."""
    return {"type": ["object", "null"], "additionalProperties": item}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    """Return an object with these properties and no others."""
    return {"type": ["object", "null"], "properties": properties, "additionalProperties": False}


def _open(keys: Mapping[str, OwnKey]) -> dict[str, Any]:
    """Return an object with settings, these keys, and any keys of other programs."""
    refused = {name: False for name, node in TREE.items() if isinstance(node, Setting) and node.top}
    return {**_object({**refused, **_settings(), **_own(keys)}), "additionalProperties": True}


def text() -> str:
    """Return the text of the shipped file."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


def main() -> None:
    """Write the shipped file."""
    with open(PATH, "w", encoding="utf-8") as file:
        file.write(text())


if __name__ == "__main__":
    main()
