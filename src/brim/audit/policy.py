"""A policy: the budget or the window that requests are replayed under, and the options of the fit.

A policy is written on the command line: `lean:budget=32000,stable=true`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from brim.amounts import fraction, units
from brim.errors import InvalidType, InvalidValue, check_choice
from brim.history.options import Options, check_stable

WRAP = "wrap"
"""The default policy: like `brim.wrap` and the gateway, it keeps a cut, so that the provider's cache is used."""
WINDOW = "window"
"""The policy that cuts each request separately to the window of its model."""
_OPTIONS = ("select", "within", "recent", "older", "pin_first_user", "note")
_SWITCH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


@dataclass(frozen=True, kw_only=True, slots=True)
class Policy:
    """One way to fit recorded requests."""

    name: str
    budget: int | None = None
    """Maximum tokens of a request; by default the budget of the window."""
    window: int | None = None
    """Size of the window in tokens; by default that of the audit or of the catalogue."""
    cap: float | str | None = None
    """The largest share of the window to use."""
    reserve: int = 0
    """Tokens reserved for the answer, if the request does not ask for more."""
    stable: bool = False
    """Whether the start of the prompt is kept the same for the cache."""
    select: str = "recency"
    within: str = "newest_first"
    recent: int | None = None
    older: int | None = None
    pin_first_user: bool = False
    note: bool = True

    def __post_init__(self) -> None:
        place = f"policy {self.name}"
        for key, least in (("budget", 1), ("window", 1), ("reserve", 0)):
            if getattr(self, key) is not None:
                units(f"{place}: {key}", getattr(self, key), least=least)
        if isinstance(self.cap, str) and not self.cap.endswith("%"):
            raise InvalidValue(f"{place}: cap", self.cap, 'a share such as 0.2 or "20%"')
        if self.cap is not None:
            fraction(f"{place}: cap", self.cap)
        if not isinstance(self.stable, bool):
            raise InvalidType(f"{place}: stable", self.stable, "true or false")
        options = Options(**self.options)
        if self.stable:
            check_stable(options)

    @property
    def options(self) -> dict[str, Any]:
        """The options of the fit, without its size."""
        return {key: getattr(self, key) for key in _OPTIONS}


def policies_of(written: Sequence[str]) -> tuple[Policy, ...]:
    """Return the policies of the command line; by default only that of `brim.wrap` and the gateway.

    Raises:
        InvalidValue: one is invalid, or two have the same name.
    """
    policies = tuple(policy_of(each) for each in written) or (default_policy(),)
    names = [policy.name for policy in policies]
    for name in names:
        if names.count(name) > 1:
            raise InvalidValue("--policy", name, "a different name for each policy")
    return policies


def default_policy() -> Policy:
    """Return the policy of `brim.wrap` and the gateway: the window of each model, and a cut that is kept."""
    return Policy(name=WRAP, stable=True)


def policy_of(written: str) -> Policy:
    """Return a policy: `NAME:key=value,key=value`, `wrap` or `window`.

    Raises:
        InvalidValue: it is invalid.
    """
    name, colon, rest = written.partition(":")
    if not name.strip():
        raise InvalidValue("--policy", written, "of the form NAME:key=value,key=value")
    if not colon:
        if name not in (WRAP, WINDOW):
            raise InvalidValue("--policy", written, f"of the form NAME:key=value,key=value, or {WRAP} or {WINDOW}")
        return default_policy() if name == WRAP else Policy(name=name)
    values: dict[str, Any] = {}
    for each in filter(None, (part.strip() for part in rest.split(","))):
        key, equals, value = each.partition("=")
        check_choice(f"a key of policy {name}", key, [each.name for each in fields(Policy) if each.name != "name"])
        if not equals:
            raise InvalidValue(f"policy {name}: {key}", each, f"of the form {key}=VALUE")
        values[key] = _value(key, value)
    return Policy(name=name.strip(), **values)


def _value(key: str, value: str) -> Any:
    """Return a value of the command line; `Policy` checks its type."""
    if key in ("stable", "pin_first_user", "note"):
        return _SWITCH.get(value.lower(), value)
    for kind in () if key in ("select", "within") else (int, float):
        try:
            return kind(value)
        except ValueError:
            continue
    return value
