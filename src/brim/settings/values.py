"""Values of settings with their origin, and the kinds of values.

A kind says what is accepted. It checks a value without converting it, so that an error shows the value as it was
written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from brim.amounts import fraction, units_or_share
from brim.errors import InvalidValue, SourceError
from brim.receipts.section import KEEPS, Priority
from brim.sections.stages import WAYS, staged

MOST = 10**12
"""The largest accepted integer, larger than any prompt."""
POLICIES = ("fit", "warn", "refuse", "pass")
"""What the gateway does with a request that is too long."""

_PRIORITIES = tuple(name.lower() for name in Priority.__members__)


@dataclass(frozen=True, slots=True)
class Value:
    """A value with its origin."""

    value: Any
    origin: str
    """The layer: defaults, user, project, profile, flow, step, env or flags."""
    where: str = ""
    """The file and line, the environment variable or the flag; empty for defaults."""
    refusal: str = ""
    """If not empty, why the value must not be used: the user has not trusted the project that sets it."""

    @property
    def is_override(self) -> bool:
        """Whether it comes from a stronger layer than the files of the project and the user."""
        return self.origin in ("profile", "flow", "step", "env", "flags")

    def to_dict(self) -> dict[str, Any]:
        """Return the value and its origin as JSON values."""
        return {"value": self.value, "origin": self.origin, "where": self.where}


Values = Mapping[str, Value]
"""The settings of one layer by their keys."""


def error_at(where: str, problem: str) -> SourceError:
    """Return an error about a file and line, an environment variable or a flag."""
    path, _, line = where.rpartition(":")
    return SourceError(path, problem, line=int(line)) if path and line.isdigit() else SourceError(where, problem)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of value."""

    expected: str
    """What is accepted, as a phrase that follows "must be"."""
    takes: Callable[[Any], bool]
    """Return whether a value is accepted."""
    names: tuple[str, ...] = ()
    """The accepted names, for suggestions."""
    reads_text: bool = False
    """Whether a string from the environment is used as is, rather than parsed as YAML."""
    percent: bool = False
    """Whether a whole number above 1 means percent."""


def whole(least: int = 0, most: int = MOST) -> Kind:
    """Return the kind of an integer within bounds."""
    upto = f" and at most {most:,}" if most < MOST else ""
    return Kind(
        f"a whole number of at least {least:,}{upto}",
        lambda value: type(value) is int and least <= value <= most,
    )


def number(most: int) -> Kind:
    """Return the kind of a number above 0; NaN is refused."""
    return Kind(
        f"a number above 0 and at most {most:,}",
        lambda value: not isinstance(value, bool) and isinstance(value, int | float) and 0 < value <= most,
    )


def text(*, empty: bool = False) -> Kind:
    """Return the kind of a string, which may be empty only if `empty` is set."""
    return Kind(
        "a string" if empty else "a non-empty string",
        lambda value: isinstance(value, str) and (empty or bool(value)),
        reads_text=True,
    )


def choice(names: tuple[str, ...]) -> Kind:
    """Return the kind of a name from a list."""
    return Kind(
        f"one of {', '.join(names)}",
        lambda value: isinstance(value, str) and value in names,
        names=names,
        reads_text=True,
    )


def combination(names: tuple[str, ...]) -> Kind:
    """Return the kind of a name from a list, or of two names joined by a plus sign."""

    def takes(value: Any) -> bool:
        ways = [way.strip() for way in value.split("+")] if isinstance(value, str) else []
        return 0 < len(ways) <= 2 and len(set(ways)) == len(ways) and set(ways) <= set(names)

    expected = f"one of {', '.join(names)}, or two of them joined by a plus sign"
    return Kind(expected, takes, names=names, reads_text=True)


def share(*, zero: bool = False, percent: bool = False) -> Kind:
    """Return the kind of a share: 0.2 or "20%"; with `percent`, 20 too."""

    def takes(value: Any) -> bool:
        if percent and type(value) is int and 1 < value <= 100:
            return True
        if zero and value in (0, "0%") and not isinstance(value, bool):
            return True
        try:
            return fraction("", value) > 0 or zero
        except InvalidValue:
            return False

    expected = f'a share {"from 0 up" if zero else "above 0 and up"} to 1 (0.2 or "20%")'
    return Kind(
        'a share above 0 and up to 1, or percent (0.2, "20%" or 20)' if percent else expected, takes, percent=percent
    )


def choice_or_share(names: tuple[str, ...]) -> Kind:
    """Return the kind of a name from a list, or of a share."""
    named, part = choice(names), share()
    return Kind(
        f"{named.expected}, or {part.expected}",
        lambda value: named.takes(value) or part.takes(value),
        names=names,
    )


def amount(*, least: int = 0) -> Kind:
    """Return the kind of a token count (400), or a percentage of the budget ("20%")."""

    def takes(value: Any) -> bool:
        if isinstance(value, int) and value > MOST:
            return False
        try:
            return units_or_share("", value) > 0 or not least
        except InvalidValue:
            return False

    if not least:
        return Kind('tokens (400) or a percentage from 0 to 100 ("20%")', takes)
    return Kind('tokens above 0 (400) or a percentage above 0, up to 100 ("20%")', takes)


KEEP = choice(KEEPS)
"""The `keep` of a section."""

PRIORITY = Kind(
    f"{', '.join(_PRIORITIES)} or a whole number",
    lambda value: value.lower() in _PRIORITIES if isinstance(value, str) else type(value) is int and abs(value) <= MOST,
)
"""The priority of a section: a name, or an integer."""


def stages() -> Kind:
    """Return the kind of a list of stages, each with a section and what to keep of it."""

    def takes(value: Any) -> bool:
        try:
            return isinstance(value, list | tuple) and bool(staged(value) or not value)
        except InvalidValue:
            return False

    return Kind(f"a list of stages, each with a section and one of {', '.join(WAYS)}", takes)


FLAG = Kind("true or false", lambda value: isinstance(value, bool))
"""True or false; 1 and 0 are refused."""

TEXTS = Kind(
    "a list of strings",
    lambda value: isinstance(value, list | tuple) and all(isinstance(item, str) and item for item in value),
)
"""A list of strings, none of them empty."""

_RULE: dict[str, Kind] = {
    "model": text(),
    "key": text(),
    "route": choice(("chat", "responses", "messages", "gemini", "bedrock")),
    "policy": choice(POLICIES),
    "window": whole(least=1),
    "meter": text(),
}
"""The fields of a rule of the gateway: which requests it matches, and their settings."""


def rules() -> Kind:
    """Return the kind of the gateway's rules."""

    def takes(value: Any) -> bool:
        return isinstance(value, list | tuple) and all(
            isinstance(rule, Mapping)
            and bool(rule)
            and all(name in _RULE and _RULE[name].takes(each) for name, each in rule.items())
            for rule in value
        )

    return Kind(f"a list of rules, each a mapping with some of {', '.join(_RULE)}", takes)
