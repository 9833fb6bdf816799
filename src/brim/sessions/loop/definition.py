"""What a loop is: its goal and limits, its window and model, and what every request contains.

It is stored, so that another process can resume the loop. The window of its session follows from it: the caller's
window, or else the model's, with the share that a tick may use.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from brim.amounts import fraction
from brim.meter.window import Window
from brim.sessions.log.cut_record import storable
from brim.sessions.loop.limits import Limits
from brim.sessions.settings import SessionSettings
from brim.store.store import Store
from brim.store.values import interpreting, stored

KIND = "loop"
"""The kind of the entries; the newest one counts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Definition:
    """The definition of a loop."""

    limits: Limits
    window: Window | None = None
    """The caller's window; `None` for that of the model."""
    model: str | None = None
    system: Any = None
    """The system prompt of every context, as JSON values."""
    tools: Any = None
    """The tool definitions of every request, as JSON values."""

    @classmethod
    def of(cls, limits: Limits, window: Window | int | None, model: str | None, system: Any, tools: Any) -> Definition:
        """Return the definition of a new loop.

        Raises:
            InvalidValue: an argument is invalid.
        """
        return cls(limits=limits).changed({}, window=window, model=model, system=system, tools=tools)

    def changed(
        self, limits: Mapping[str, Any], *, window: Window | int | None, model: str | None, system: Any, tools: Any
    ) -> Definition:
        """Return the definition with the limits, and the other values that are not `None`, replaced.

        Raises:
            InvalidValue: a value is invalid.
        """
        values = {
            "model": model,
            "system": stored("system", storable(system)),
            "tools": stored("tools", storable(tools)),
        }
        if window is not None:
            values["window"] = SessionSettings.of(window).window
        changes = {name: value for name, value in values.items() if value is not None}
        return replace(self, limits=self.limits.changed(limits), **changes)

    @property
    def tick_window(self) -> Window:
        """The window whose budget is that of a tick.

        Raises:
            InvalidValue: there is neither a window nor a model.
            UnknownName: the model is unknown.
        """
        window = SessionSettings.of(self.window, self.model).window
        cap = fraction("tick_cap", self.limits.tick_cap)
        if window.cap is not None:
            cap = min(cap, fraction("Window cap", window.cap))
        warn = None if window.warn is None else float(min(cap, fraction("Window warn", window.warn)))
        return replace(window, cap=float(cap), warn=warn)

    def to_dict(self) -> dict[str, Any]:
        """Return the definition as JSON values."""
        window = (
            None if self.window is None else {slot.name: getattr(self.window, slot.name) for slot in fields(Window)}
        )
        values = {slot.name: getattr(self, slot.name) for slot in fields(self)}
        return {**values, "limits": self.limits.to_dict(), "window": window}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Definition:
        """Return the definition from the result of `to_dict`; unknown fields are ignored."""
        known: dict[str, Any] = {slot.name: values.get(slot.name) for slot in fields(cls)}
        known["window"] = None if known["window"] is None else Window(**known["window"])
        known["limits"] = Limits.from_dict(values["limits"])
        return cls(**known)


def definition_in(store: Store, loop: str) -> Definition | None:
    """Return the definition of a loop; `None` if there is no such loop.

    Raises:
        StoreError: the store cannot be read, or the log is damaged.
    """
    found = store.entries(loop, kinds=[KIND], limit=1, newest=True)
    with interpreting(store.url, loop):
        return Definition.from_dict(found[0].body) if found else None
