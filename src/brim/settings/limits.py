"""The meter, the window and the budget of a prompt or a history.

If a budget is in characters and the model's window in tokens is known too, both hold: a result that fits its
characters but not the window is fitted again to fewer characters, until it fits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, TypeVar

from brim.amounts import fraction
from brim.errors import InvalidValue, SourceError, UnknownName
from brim.history.result import Fitted
from brim.meter import BaseMeter, meter_for
from brim.meter import meter as meter_named
from brim.meter.units import UNITS
from brim.meter.window import Window, answer_room, budget_of
from brim.sections.prompt_fit import Prompt
from brim.settings.budgets import CHARS_A_TOKEN, OLDER, RECENT, TOTAL
from brim.settings.lookup import Lookup

Result = TypeVar("Result", Prompt, Fitted)

_WINDOW = ("reserve", "cap", "warn", "limit")
_ERROR = "error"
"""The value of `unknown_model` that refuses a model of an unknown name."""
_WIDE = Fraction(1, 2)
"""A larger share of the window leaves no room for instructions and the answer."""


class PromptLimits(Lookup):
    """Settings that make a meter, a window and a budget."""

    __slots__ = ()

    def window(self) -> Window | None:
        """Return the window, or `None` if neither its size nor a model is set.

        Raises:
            SourceError: the settings of the window are invalid.
        """
        size, model = self.value("window.size"), self.value("model")
        options = {name: self.value(f"window.{name}") for name in _WINDOW}
        try:
            if size is not None:
                return Window(size, **options)
            return None if model is None else Window.of(model, **options)
        except UnknownName as error:
            if self.value("unknown_model") != _ERROR:
                return None
            raise self.blame("model", error) from error
        except InvalidValue as error:
            if error.place != "model":
                raise self.blame(error.place.lower().replace(" ", "."), error) from error
            if any(self.is_set(f"window.{name}") for name in _WINDOW):
                raise self.blame("model", error) from error
            return None

    def _answered_window(self) -> Window | None:
        """Return the window, with a part of it reserved for the answer if no reserve is set."""
        window = self.window()
        if window is None or self.is_set("window.reserve"):
            return window
        return replace(window, reserve=answer_room(window.size))

    def meter(self) -> BaseMeter:
        """Return the meter that is set, or that of the model, or the default one.

        Raises:
            SourceError: no meter or model has that name.
        """
        named = self.value("meter")
        try:
            return meter_named(named) if named is not None else self.token_meter()
        except (UnknownName, SourceError) as error:
            raise self.blame("meter" if named is not None else "model", error) from error

    def token_meter(self) -> BaseMeter:
        """Return the meter that counts the tokens of the model, or that of `unknown_model` if no model has its name.

        Either counts upper bounds if it is an estimate.
        """
        model, other = self.value("model"), self.value("unknown_model")
        try:
            return meter_for(None, model)
        except UnknownName:
            if other == _ERROR:
                raise
        self.log(f"the model {model!r} is not in the catalogue, and is counted with the meter {other!r}")
        # A rule of thumb is kept as it is: whoever names it wants its figure.
        return meter_named(other) if other in UNITS else meter_for(None, other)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences about budgets that were moved to their bounds, or that are suspicious."""
        found = (*self._budgets().warnings, *self._window_warnings())
        self.log(*found)
        return found

    def limits_history(self) -> bool:
        """Return whether the character budgets limit a history: if one is set, or if no window is known."""
        return self.window() is None or any(self.is_set(key) for key in (TOTAL, RECENT, OLDER))

    def within_margin(self, budget: int, meter: BaseMeter) -> int:
        """Return a budget without the safety margin, which is left free if the meter estimates."""
        margin = fraction("safety_margin", self.value("safety_margin") or "0%")
        return budget if meter.exact else int(budget * (1 - margin))

    def _window_warnings(self) -> tuple[str, ...]:
        window, total = self.window(), self[TOTAL]
        tokens = total.value // CHARS_A_TOKEN
        if window is None or not self.limits_history() or tokens <= _WIDE * window.size:
            return ()
        return (
            f"{total.where or total.origin}: context_budget_chars of {total.value:,} is about {tokens:,} tokens,"
            f" {100 * tokens // window.size} % of the window of {window.size:,}: little is left for instructions and"
            f" the answer. A quarter of the window ({window.size * CHARS_A_TOKEN // 4:,} chars) is usual",
        )

    def _measured(
        self, scale: BaseMeter, total: int | None, window: Window | None, options: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the options of a fit, with a meter and a budget if they have none."""
        made: dict[str, Any] = {} if options.keys() & {"meter", "model"} else {"meter": scale}
        made |= options
        if made.get("budget") is not None or "model" in options:
            budget = budget_of(made.get("budget"), made.get("model"))
            if made.get("budget") is None:
                budget = self.within_margin(budget, meter_for(made.get("meter"), made.get("model")))
            elif window is not None and "model" not in options and meter_for(made.get("meter"), None).unit == "tokens":
                budget = min(budget, window.budget)
            return {**made, "budget": budget}
        bounds = [total] if total is not None else []
        if window is not None and (scale.unit == "tokens" or not bounds):
            bounds.append(window.budget)
        return {**made, "budget": self.within_margin(min(bounds), scale)}

    def _token_limit(self, window: Window | None, options: Mapping[str, Any]) -> int | None:
        """Return the tokens that a result may have, if a window is known and the meter does not count its tokens."""
        scale = options.get("meter")
        if window is None or scale is None:
            return None
        named = meter_named(scale)
        rough = named.unit == "chars" or (self.value("meter") is not None and not named.exact)
        return window.budget if rough else None

    @staticmethod
    def _within_both(
        fit: Callable[[int], Result],
        budget: int,
        used: Callable[[Result], int],
        limit: int | None,
        tokens: Callable[[Result], int],
    ) -> Result:
        """Return the result for a budget, or for a smaller one as long as it has more tokens than the limit."""
        result = fit(budget)
        while limit is not None and (count := tokens(result)) > limit:
            budget = min(budget - 1, used(result) * limit // count)
            result = fit(max(budget, 0))
        return result
