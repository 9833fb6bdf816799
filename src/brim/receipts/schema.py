"""Check JSON that a stranger wrote against the schema that describes it.

The schema is the only place that says what a receipt may hold, to us and to other programs alike. Of the language of
JSON Schema this knows the words that our schema uses, so that reading a receipt needs no library.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from brim.errors import InvalidType, InvalidValue, check_choice

Rule = Mapping[str, Any]

_KINDS: dict[str, tuple[type | tuple[type, ...], str]] = {
    "object": (Mapping, "an object"),
    "array": ((list, tuple), "a list"),
    "string": (str, "a text"),
    "integer": (int, "a whole number"),
    "boolean": (bool, "true or false"),
    "null": (type(None), "null"),
}


@cache
def schema(name: str) -> Rule:
    """Return a schema that ships with the package."""
    from importlib.resources import files

    rule: Rule = json.loads(files("brim.receipts").joinpath(f"{name}.schema.json").read_text("utf-8"))
    return rule


def check(place: str, value: Any, rule: Rule, shared: Rule) -> None:
    """Pass if `value` is what a rule says; `shared` are the rules that it may refer to.

    Raises:
        InvalidValue: it is not; the message has the way to the value that is wrong.
    """
    if "$ref" in rule:
        rule = shared[rule["$ref"].rpartition("/")[2]]
    if "anyOf" in rule:  # our schema has it for "null, or else": the first of the right kind, or the last
        rule = next((each for each in rule["anyOf"] if _is_of(_kinds(each), value)), rule["anyOf"][-1])
        return check(place, value, rule, shared)
    _check_alone(place, value, rule)
    if isinstance(value, Mapping):
        _check_object(place, value, rule, shared)
    elif isinstance(value, list | tuple) and "items" in rule:
        for i, item in enumerate(value):
            check(f"{place}[{i}]", item, rule["items"], shared)
    return None


def _check_alone(place: str, value: Any, rule: Rule) -> None:
    """Pass if a value is right, whatever is inside it."""
    kinds = _kinds(rule)
    if kinds and not _is_of(kinds, value):
        raise InvalidType(place, value, " or ".join(_KINDS[kind][1] for kind in kinds))
    if "const" in rule and not (type(value) is type(rule["const"]) and value == rule["const"]):
        raise InvalidValue(place, value, repr(rule["const"]))
    if "enum" in rule:
        check_choice(place, value, rule["enum"])
    if "minimum" in rule and isinstance(value, int) and value < rule["minimum"]:
        raise InvalidValue(place, value, f"at least {rule['minimum']}")
    if "pattern" in rule and isinstance(value, str) and not re.search(rule["pattern"], value):
        raise InvalidValue(place, value, f"a text like {rule['pattern']}")


def _check_object(place: str, value: Mapping[str, Any], rule: Rule, shared: Rule) -> None:
    for key in rule.get("required", ()):
        if key not in value:
            raise InvalidValue(place, list(value), f"an object with {key}")
    known, other = rule.get("properties", {}), rule.get("additionalProperties", {})
    for key, item in value.items():
        if other is False:
            check_choice(f"{place}: a key", key, list(known))
        if inner := known.get(key, other):  # an empty rule lets pass whatever there is, however deep
            check(f"{place}.{key}", item, inner, shared)


def _kinds(rule: Rule) -> list[str]:
    kinds: str | list[str] = rule.get("type", [])
    return [kinds] if isinstance(kinds, str) else kinds


def _is_of(kinds: list[str], value: object) -> bool:
    if isinstance(value, bool):  # which Python takes for a number
        return "boolean" in kinds
    return any(isinstance(value, _KINDS[kind][0]) for kind in kinds)
