"""What to replay under: a budget or a window, and how a history is fitted to it.

A policy is written on the command line (`lean:budget=32000,stable=true`), or is a profile of `brim.yaml` by its name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from brim.amounts import fraction, units
from brim.errors import InvalidType, InvalidValue, check_choice
from brim.history.options import Options, check_held

if TYPE_CHECKING:
    from brim.settings.config import Config
    from brim.settings.resolved import Resolved

WINDOW = "window"
"""The name of the policy that is taken where none is given: each model's own window."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Policy:
    """One way to fit what was recorded."""

    name: str
    budget: int | None = None
    """Units that a request may take; without it, what the window leaves."""
    window: int | None = None
    """Tokens that the model holds; without it, those of the audit or of the catalogue."""
    cap: float | str | None = None
    """The largest share of the window to use."""
    reserve: int = 0
    """Tokens kept free for the answer, where the request does not ask for more."""
    meter: str | None = None
    """What the budget is counted with; without it, the model's tokens."""
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
        if self.cap is not None:
            fraction(f"{place}: cap", self.cap)
        if not isinstance(self.stable, bool):
            raise InvalidType(f"{place}: stable", self.stable, "true or false")
        options = Options(**self.asked)
        if self.stable:
            check_held(options)

    @property
    def asked(self) -> dict[str, Any]:
        """The arguments of the fit that are not about its size."""
        return {key: getattr(self, key) for key in ("select", "within", "recent", "older", "pin_first_user", "note")}

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


_KINDS: Mapping[str, str] = {
    **dict.fromkeys(("budget", "window", "reserve", "recent", "older"), "number"),
    **dict.fromkeys(("stable", "pin_first_user", "note"), "switch"),
    **dict.fromkeys(("cap", "meter", "select", "within"), "text"),
}


def policies_of(written: Sequence[str], config: Config | None) -> tuple[Policy, ...]:
    """Return the policies of the command line; without any, that of each model's own window.

    Raises:
        InvalidValue: one cannot be, or two have the same name.
        UnknownName: no profile has the name.
    """
    made = tuple(policy_of(each, config) for each in written) or (Policy(name=WINDOW),)
    names = [policy.name for policy in made]
    for name in names:
        if names.count(name) > 1:
            raise InvalidValue("--policy", name, "a name of its own for each policy")
    return made


def policy_of(written: str, config: Config | None) -> Policy:
    """Return a policy: `NAME:key=value,key=value`, the name of a profile, or `window`.

    Raises:
        InvalidValue: it cannot be.
        UnknownName: no profile has the name.
    """
    name, parted, rest = written.partition(":")
    if not name.strip():
        raise InvalidValue("--policy", written, "written NAME:key=value,key=value")
    if not parted:
        if name == WINDOW or config is None:
            return Policy(name=name)
        return of_settings(name, config.resolve(profile=name))
    given: dict[str, Any] = {}
    for each in filter(None, (part.strip() for part in rest.split(","))):
        key, equals, value = each.partition("=")
        check_choice(f"policy {name}: a key", key, tuple(_KINDS))
        if not equals:
            raise InvalidValue(f"policy {name}: {key}", each, f"written {key}=VALUE")
        given[key] = _value(f"policy {name}: {key}", _KINDS[key], value)
    return Policy(name=name.strip(), **given)


def _value(place: str, kind: str, value: str) -> Any:
    if kind == "number":
        try:
            return int(value)
        except ValueError:
            raise InvalidValue(place, value, "a whole number") from None
    if kind == "switch":
        if value.lower() not in ("true", "false", "yes", "no", "1", "0"):
            raise InvalidValue(place, value, "true or false")
        return value.lower() in ("true", "yes", "1")
    if place.endswith("cap") and not value.endswith("%"):
        try:
            return float(value)
        except ValueError:
            raise InvalidValue(place, value, 'a share such as 0.2 or "20%"') from None
    return value


def of_settings(name: str, settings: Resolved) -> Policy:
    """Return the policy that settings make of a history; what needs a model or a function is left out."""
    from brim.settings.guard import OLDER, RECENT, TOTAL
    from brim.settings.making import counts_history, window

    room = window(settings)
    counted = counts_history(settings, room)
    stable = bool(settings.value("history.stable"))
    own: dict[str, Any] = {}
    if counted:
        own = {"meter": settings.value("meter") or "chars", "budget": settings.value(TOTAL)}
        if not stable:
            own |= {"recent": settings.value(RECENT), "older": settings.value(OLDER)}
    if settings.value("window.size") is not None:
        own["window"] = settings.value("window.size")
    return Policy(
        name=name,
        cap=settings.value("window.cap"),
        reserve=settings.value("window.reserve") or 0,
        stable=stable,
        select=settings.value("history.selection"),
        within=settings.value("history.within"),
        pin_first_user=settings.value("history.pin_first_user"),
        note=settings.value("history.note"),
        **own,
    )
