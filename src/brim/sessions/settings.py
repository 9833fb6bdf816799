"""The settings of a session. They are logged, so opening a session again needs none of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from typing import Any, cast

from brim.amounts import fraction, part_of, units_or_share
from brim.errors import BrimError, InvalidType
from brim.history.stable import Stable
from brim.meter import DEFAULT
from brim.meter.window import Window
from brim.sessions.options import OPTIONS, SessionOptions
from brim.wire.base import Format

_MEMORY_SHARE = 4
"""The part of the budget, one in so many, that memory may take."""
_BELOW_WARNING = 0.95
"""The share of the warning line below which a cut ends."""
_LEAST_RESULT = 64
"""Tokens that a tool result is never cut below."""
_KEPT = {name: option for name, option in OPTIONS.items() if option.check is not None}
"""The options that are kept in the log."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionSettings:
    """How a session keeps within its window."""

    window: Window
    model: str | None = None
    meter: str | None = None
    """The name of the meter, if one was chosen by name."""
    own_meter: bool = False
    """Whether the meter is the caller's own, so it has to be passed again."""
    format: Format | None = None
    """The format of the messages; without it, it is detected."""
    options: SessionOptions = field(default_factory=SessionOptions)
    """All options that the log keeps."""

    def __post_init__(self) -> None:
        if not isinstance(self.window, Window):
            raise InvalidType("window", self.window, "a Window, its size, or left out where a model is named")
        given: Mapping[str, Any] = self.options
        made = {name: given.get(name, option.default) for name, option in _KEPT.items()}
        for name, value in made.items():
            if (check := _KEPT[name].check) is not None:
                check(name, value)
        object.__setattr__(self, "options", made)

    @classmethod
    def of(
        cls,
        window: Window | int | None,
        model: str | None = None,
        *,
        meter: str | None = None,
        own_meter: bool = False,
        options: Mapping[str, Any] | None = None,
    ) -> SessionSettings:
        """Return the settings for a window, for its size, or for the window of a model.

        Raises:
            InvalidValue: there is neither a window nor a model, or a setting is invalid.
            UnknownName: there is no such model.
        """
        if window is None and model is None:
            raise InvalidType("window", window, "a Window or its size, where no model is named")
        if window is None and model is not None:
            window = Window.of(model)
        elif isinstance(window, int) and not isinstance(window, bool):
            window = Window(window)
        given: dict[str, Any] = {"window": window, "model": model, "meter": meter, "own_meter": own_meter}
        told = dict(options or {})
        return cls(**given, format=told.get("format"), options=cast("SessionOptions", told))

    def changed(self, given: Mapping[str, Any]) -> SessionSettings:
        """Return the settings with those that are given in their place; the format stays.

        A window that was that of the model becomes that of the new model; any other stays.

        Raises:
            InvalidValue: a setting is invalid.
            UnknownName: there is no such model.
        """
        told = {name: given[name] for name in ("window", "model") if given.get(name) is not None}
        more = {name: value for name, value in given.items() if name in _KEPT and value is not None}
        if type(told.get("window")) is int:
            told["window"] = Window(told["window"])
        if told.get("model", self.model) != self.model:
            told["meter"] = None if self.model is None and self.meter == DEFAULT else self.meter
            if "window" not in told and self._has_window_of_model():
                told["window"] = Window.of(told["model"])
        return replace(self, **told, options=cast("SessionOptions", {**self.options, **more}))

    def _has_window_of_model(self) -> bool:
        try:
            return self.model is not None and self.window == Window.of(self.model)
        except BrimError:  # It has left the catalogue.
            return False

    @property
    def budget(self) -> int:
        """Tokens that a prompt may take."""
        return self.window.budget

    def line(self, budget: int) -> int | None:
        """Return the use at which the history is compacted, for a prompt of this budget."""
        at = self.options["compact_at"]
        if at == "never":
            return None
        if at == "cap":
            return budget + 1
        if at == "warning":
            return min(self.window.warning, budget + 1)
        return part_of(fraction("compact_at", at), budget)

    @property
    def high(self) -> float:
        """The share of the budget over which the history is cut."""
        line = self.line(self.budget)
        return 1.0 if line is None else min(1.0, line / max(1, self.budget))

    @property
    def low(self) -> float:
        """The share of the budget that a cut leaves: less than the warning line, so that it does not warn at once."""
        return min(Stable().low, _BELOW_WARNING * self.window.warning / max(1, self.budget))

    @property
    def longest_result(self) -> int:
        """The most tokens of one tool result."""
        amount = units_or_share("tool_limit", self.options["tool_limit"])
        return max(_LEAST_RESULT, part_of(amount, self.budget) if isinstance(amount, Fraction) else amount)

    @property
    def most_memory(self) -> int:
        """The most tokens of memory in a prompt."""
        return min(self.options["memory_limit"], self.budget // _MEMORY_SHARE)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as JSON values."""
        told: dict[str, Any] = {slot.name: getattr(self, slot.name) for slot in fields(self)}
        told["window"] = {slot.name: getattr(self.window, slot.name) for slot in fields(Window)}
        return told

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> SessionSettings:
        """Return what `to_dict` wrote; fields of another version are ignored."""
        known = {slot.name for slot in fields(cls)}
        told = {name: value for name, value in values.items() if name in known}
        return cls(**{**told, "window": Window(**values["window"])})
