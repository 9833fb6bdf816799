"""Check JSON of receipts against their published schema.

The schema alone defines what a receipt may contain, for brim and for other programs. The checker supports only the JSON
Schema keywords that this schema uses, so reading a receipt needs no library.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from brim.errors import InvalidType, InvalidValue, check_choice

Rule = Mapping[str, Any]

_KINDS: dict[str, tuple[type | tuple[type, ...], str]] = {
    "boolean": (bool, "true or false"),
    "object": (Mapping, "an object"),
    "array": ((list, tuple), "a list"),
    "string": (str, "a string"),
    "integer": (int, "a whole number"),
    "null": (type(None), "null"),
}
"""The kinds of values by their Python types; `bool` comes first, since it is a subclass of `int`."""
_USUAL = {dict: "object", list: "array", str: "string", int: "integer", bool: "boolean", type(None): "null"}
"""The types that a JSON parser returns: looking them up is faster, and a receipt may have thousands of parts."""


@cache
def schema() -> Rule:
    """Return the schema of a receipt."""
    from importlib.resources import files

    rule: Rule = json.loads(files("brim.receipts").joinpath("receipt.schema.json").read_text("utf-8"))
    return rule


def check(place: str, value: Any, part: str | None = None) -> None:
    """Check `value` against the schema, or against one part of its `$defs`.

    Raises:
        InvalidValue: it is invalid; the message has the path of the wrong value.
    """
    shared = schema()["$defs"]
    _check(place, value, shared[part] if part else schema(), shared)


def _check(place: str, value: Any, rule: Rule, shared: Rule) -> None:
    if "$ref" in rule:
        rule = shared[rule["$ref"].rpartition("/")[2]]
    kind = _kind(value)
    if "anyOf" in rule:  # Our schema uses it only for "null or ...": take the first of the right kind, or the last.
        rule = next((each for each in rule["anyOf"] if kind in _kinds(each)), rule["anyOf"][-1])
        return _check(place, value, rule, shared)
    kinds = _kinds(rule)
    if kinds and kind not in kinds:
        raise InvalidType(place, value, " or ".join(_KINDS[each][1] for each in kinds))
    if "const" in rule and not (type(value) is type(rule["const"]) and value == rule["const"]):
        raise InvalidValue(place, value, repr(rule["const"]))
    if "enum" in rule:
        check_choice(place, value, rule["enum"])
    if kind == "integer" and value < rule.get("minimum", value):
        raise InvalidValue(place, value, f"at least {rule['minimum']}")
    if kind == "string" and "pattern" in rule and not re.search(rule["pattern"], value):
        raise InvalidValue(place, value, f"a string like {rule['pattern']}")
    if kind == "object":
        _check_object(place, value, rule, shared)
    elif kind == "array" and "items" in rule:
        for i, item in enumerate(value):
            _check(f"{place}[{i}]", item, rule["items"], shared)
    return None


def _check_object(place: str, value: Mapping[str, Any], rule: Rule, shared: Rule) -> None:
    for key in rule.get("required", ()):
        if key not in value:
            raise InvalidValue(place, list(value), f"an object with {key}")
    known, other = rule.get("properties", {}), rule.get("additionalProperties", {})
    for key, item in value.items():
        if other is False and key not in known:
            check_choice(f"{place}: a key", key, list(known))
        if inner := known.get(key, other):  # An empty rule accepts anything.
            _check(f"{place}.{key}", item, inner, shared)


def _kinds(rule: Rule) -> Sequence[str]:
    kinds: str | list[str] = rule.get("type", ())
    return (kinds,) if isinstance(kinds, str) else kinds


def _kind(value: object) -> str | None:
    """Return the name of a value's kind, or `None` if the schema has no such kind."""
    known = _USUAL.get(type(value))
    return known or next((kind for kind, (type_, _) in _KINDS.items() if isinstance(value, type_)), None)
