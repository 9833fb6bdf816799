"""The goal, limits and progress of a loop, which are stored so that it can be resumed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

from brim.amounts import fraction, units
from brim.errors import InvalidType, InvalidValue, check_choice
from brim.history.compact.continuation import Continuation
from brim.meter.window import Window
from brim.sessions.settings import SessionSettings
from brim.store.base import Body, LogEntry
from brim.store.store import Store
from brim.store.values import interpreting

RESULT, CONTINUATION = "result", "continuation"
"""The kinds of entries for results and continuations; a resumed loop reads all results and the last continuation."""
_LOGGED = ("iterations", "sub_tick", "sub_ticks", "steps", "steps_here", "fresh", "cost", "seconds", "ended", "state")


@dataclass(slots=True)
class Progress:
    """The progress of a loop, which every step writes to the log."""

    iterations: int = 0
    """Iterations that are finished."""
    sub_tick: int = 0
    """Sub-ticks of the current iteration."""
    sub_ticks: int = 0
    """Sub-ticks of all iterations."""
    steps: int = 0
    steps_here: int = 0
    """Steps of the current iteration."""
    fresh: bool = True
    """Whether there was no step in this context yet."""
    cost: float = 0.0
    seconds: float = 0.0
    ended: str | None = None
    state: dict[str, Any] = field(default_factory=dict)
    continuation: Continuation | None = None
    """The hand-over of the last context."""
    results: list[Any] = field(default_factory=list)

    def copy(self) -> Progress:
        """Return an independent copy."""
        return replace(self, results=list(self.results))

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values, without results and continuation, which have separate entries."""
        return {name: getattr(self, name) for name in _LOGGED}

    def apply(self, body: Mapping[str, Any]) -> None:
        """Apply one entry of the log."""
        for name, value in body["progress"].items():
            if name in _LOGGED:
                setattr(self, name, value)


def first_event(store: Store, loop: str) -> Body | None:
    """Return the first event of a loop; `None` if there is no such loop."""
    found = store.entries(loop, kinds=["event"], limit=1)
    return found[0].body if found and "progress" in found[0].body else None


def progress_in(store: Store, loop: str, begun: Body, until: int) -> Progress:
    """Return the progress of a loop from its log up to the entry `until`; another worker may have written more.

    Raises:
        StoreError: the store cannot be read, or the log is damaged.
    """
    made = Progress()
    with interpreting(store.url, loop):
        made.apply(_newest(store, loop, until, "event", "progress") or begun)
        if (last := _newest(store, loop, until, CONTINUATION, CONTINUATION)) is not None:
            made.continuation = Continuation.from_dict(last[CONTINUATION])
        made.results = [entry.body[RESULT] for entry in store.entries(loop, kinds=[RESULT]) if entry.number <= until]
    return made


def _newest(store: Store, loop: str, until: int, kind: str, name: str) -> Body | None:
    """Return the newest entry of a kind with a field, up to the entry `until`; `None` if there is none."""
    for limit in (1, None):  # The newest one, almost always.
        entries: list[LogEntry] = store.entries(loop, kinds=[kind], limit=limit, newest=True)
        found = [entry.body for entry in entries if entry.number <= until and name in entry.body]
        if found:
            return found[-1]
    return None


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
        """Return which limit on iterations, cost or time is reached; `None` if none is."""
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
        """Return the limits in `values` that this version knows, with changes applied.

        Raises:
            InvalidValue: a change is unknown or invalid.
        """
        for name in changes:
            check_choice("argument", name, _CHANGES)
        known = {slot.name for slot in fields(cls)}
        return cls(**{name: value for name, value in {**values, **changes}.items() if name in known})
