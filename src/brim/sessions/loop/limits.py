"""The goal of a loop, and the limits at which it hands over or ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from brim.amounts import fraction, part_of, units
from brim.errors import InvalidType, InvalidValue, check_choice
from brim.sessions.loop.progress import Progress

BOUNDARIES = ("silent", "visible")


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """The goal and the limits of a loop."""

    goal: str
    tick_cap: float | str = 0.15
    """The share of the window at which a tick continues in a fresh context."""
    handoff_share: float | str = 0.25
    """The share of a tick's budget that a hand-over may take."""
    handoff_tokens: int = 5_000
    """The most tokens of a hand-over, however large the window."""
    max_iterations: int = 20
    max_sub_ticks: int = 10
    """Sub-ticks of one iteration."""
    max_steps: int = 1_000
    """Steps of one iteration."""
    max_cost: float | None = None
    """US dollars."""
    max_seconds: float | None = None
    """Time of all steps."""
    boundary: Literal["silent", "visible"] = "silent"
    """Whether the user gets a notice of each sub-tick (`visible`) or not."""

    def __post_init__(self) -> None:
        if not isinstance(self.goal, str) or not self.goal.strip():
            raise InvalidType("goal", self.goal, "a string that says what the loop is for")
        fraction("tick_cap", self.tick_cap)
        fraction("handoff_share", self.handoff_share)
        for name, least in (("handoff_tokens", 1), ("max_iterations", 1), ("max_sub_ticks", 0), ("max_steps", 1)):
            units(name, getattr(self, name), least=least)
        for name in ("max_cost", "max_seconds"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int | float) or not value > 0):
                raise InvalidValue(name, value, "a number above 0, or None")
        check_choice("boundary", self.boundary, BOUNDARIES)

    def reached(self, progress: Progress) -> str | None:
        """Return which limit on iterations, cost or time is reached; `None` if none is."""
        if progress.iterations >= self.max_iterations:
            return "max_iterations"
        if self.max_cost is not None and progress.cost >= self.max_cost:
            return "max_cost"
        if self.max_seconds is not None and progress.seconds >= self.max_seconds:
            return "max_seconds"
        return None

    def handoff(self, budget: int) -> int:
        """Return the most tokens of a hand-over, for the budget of a tick."""
        return max(1, min(part_of(fraction("handoff_share", self.handoff_share), budget), self.handoff_tokens))

    def changed(self, changes: Mapping[str, Any]) -> Limits:
        """Return the limits with some of them replaced; the goal stays.

        Raises:
            InvalidValue: a change is unknown or invalid.
        """
        for name in changes:
            check_choice("argument", name, [slot.name for slot in fields(self) if slot.name != "goal"])
        return replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        """Return the limits as JSON values."""
        return {slot.name: getattr(self, slot.name) for slot in fields(self)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Limits:
        """Return the limits from the result of `to_dict`; unknown fields are ignored."""
        known = {slot.name for slot in fields(cls)}
        return cls(**{name: value for name, value in values.items() if name in known})
