"""The rules of the gateway as a kind of setting: which requests, and what holds for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from brim.settings.kinds import Choice, Flag, Kind, Text, Whole

POLICIES = ("fit", "warn", "refuse", "pass")
"""What is done with a request that is too long: fit it, only say so, refuse it as the provider would, or nothing."""
ROUTES = ("chat", "responses", "messages")

_FIELDS: dict[str, Kind] = {
    "model": Text(),
    "key": Text(),
    "route": Choice(ROUTES),
    "policy": Choice(POLICIES),
    "window": Whole(least=1),
    "meter": Text(),
    "recall": Flag(),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Rules(Kind):
    """A list of rules, each a mapping of what it matches and of what holds then."""

    @property
    def expected(self) -> str:
        """What is taken."""
        return f"a list of rules, each a mapping with some of {', '.join(_FIELDS)}"

    def takes(self, value: object) -> bool:
        """Return whether it is a list of rules."""
        return isinstance(value, list | tuple) and all(map(_is_rule, value))

    def schema(self) -> dict[str, Any]:
        """Return the fields of a rule."""
        fields = {name: kind.schema() for name, kind in _FIELDS.items()}
        item = {"type": "object", "properties": fields, "additionalProperties": False, "minProperties": 1}
        return {"type": "array", "items": item}


def _is_rule(value: object) -> bool:
    return (
        isinstance(value, Mapping)
        and bool(value)
        and all(name in _FIELDS and _FIELDS[name].takes(each) for name, each in value.items())
    )
