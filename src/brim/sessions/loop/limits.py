"""The goal and the limits of a loop; they are stored, so that a resumed loop has them too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from brim.amounts import fraction, units
from brim.errors import InvalidType, InvalidValue, check_choice
from brim.meter.window import Window
from brim.sessions.loop.progress import Progress
from brim.sessions.settings import SessionSettings

BOUNDARIES = ("silent", "visible")
_CHANGES = ("handoff_share", "max_iterations", "max_sub_ticks", "max_steps", "max_cost", "max_seconds", "boundary")


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """The goal and the limits of a loop."""

    goal: str
    tick_cap: float | str = 0.15
    """The share of the window at which a tick continues in a fresh context."""
    handoff_share: float = 0.25
    """The share of a tick's budget that a continuation may take."""
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
        for name, least in (("max_iterations", 1), ("max_sub_ticks", 0), ("max_steps", 1)):
            units(name, getattr(self, name), least=least)
        for name in ("max_cost", "max_seconds"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int | float) or not value > 0):
                raise InvalidValue(name, value, "a number above 0, or None")
        check_choice("boundary", self.boundary, BOUNDARIES)

    def reached(self, progress: Progress) -> str | None:
        """Return the limit on iterations, cost or time that is reached; `None` if none is."""
        if progress.iterations >= self.max_iterations:
            return "max_iterations"
        if self.max_cost is not None and progress.cost >= self.max_cost:
            return "max_cost"
        if self.max_seconds is not None and progress.seconds >= self.max_seconds:
            return "max_seconds"
        return None

    def window(self, window: Window | int | None, model: str | None) -> Window:
        """Return a window whose budget is that of a tick.

        Raises:
            InvalidValue: there is neither a window nor a model.
            UnknownName: the model is unknown.
        """
        window = SessionSettings.of(window, model).window
        cap = fraction("tick_cap", self.tick_cap)
        if window.cap is not None:
            cap = min(cap, fraction("Window cap", window.cap))
        warn = None if window.warn is None else float(min(cap, fraction("Window warn", window.warn)))
        return replace(window, cap=float(cap), warn=warn)

    def to_dict(self) -> dict[str, Any]:
        """Return the limits as JSON values."""
        return {slot.name: getattr(self, slot.name) for slot in fields(self)}

    @classmethod
    def of(cls, values: Mapping[str, Any], changes: Mapping[str, Any]) -> Limits:
        """Return the limits of `values`, without those that this version does not know, and with changes.

        Raises:
            InvalidValue: a change is unknown or invalid.
        """
        for name in changes:
            check_choice("an argument", name, _CHANGES)
        known = {slot.name for slot in fields(cls)}
        return cls(**{name: value for name, value in {**values, **changes}.items() if name in known})
