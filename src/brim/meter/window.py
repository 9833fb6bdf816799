"""The context window of a model, and the budget that it leaves for a prompt."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from brim.amounts import fraction, part_of, units
from brim.errors import InvalidType, InvalidValue

if TYPE_CHECKING:
    from brim.meter.catalogue import Model

_WARN_OF_BUDGET = Fraction(85, 100)
"""The share of the budget above which prompts were observed to fail."""
_ANSWER = 4_096
"""Maximum tokens that are reserved for an answer of unknown length; windows under 32,768 reserve an eighth."""


@dataclass(frozen=True, slots=True)
class Window:
    """The context window of a model, and the share of it that a prompt may use."""

    size: int
    """Tokens of the window."""
    reserve: int = 0
    """Tokens reserved for the answer."""
    cap: float | str | None = None
    """The maximum share of the window to use: 0.2 or "20%"."""
    warn: float | str | None = None
    """The share of the window above which to warn; by default 85 % of the budget."""
    limit: int | None = None
    """An absolute limit on the input, such as the model's maximum input."""

    def __post_init__(self) -> None:
        units("Window size", self.size, least=1)
        units("Window reserve", self.reserve)
        if self.limit is not None:
            units("Window limit", self.limit, least=1)
        cap = None if self.cap is None else fraction("Window cap", self.cap)
        warn = None if self.warn is None else fraction("Window warn", self.warn)
        if warn is not None and warn > (1 if cap is None else cap):
            raise InvalidValue("Window warn", self.warn, f"at most the cap of {self.cap if cap else 1}")
        if self.reserve >= self.size:
            raise InvalidValue("Window reserve", self.reserve, f"less than the window of {self.size:,}")

    @classmethod
    def of(
        cls,
        model: str,
        *,
        reserve: int | None = None,
        cap: float | str | None = None,
        warn: float | str | None = None,
        limit: int | None = None,
    ) -> Window:
        """Return the window of a model of the catalogue; its maximum input limits the budget too.

        The default `reserve` is an eighth of the window, at most 4,096 tokens.

        Raises:
            UnknownName: the catalogue has no such model.
            InvalidValue: the catalogue does not know the model's window.
        """
        from brim.meter import catalogue

        known: Model = catalogue.find(model)
        size = known.window or known.max_input
        if size is None:
            raise InvalidValue("model", model, "a model with a known window: declare it in brim.models.yaml")
        limits = [bound for bound in (limit, known.max_input) if bound is not None and bound < size]
        reserve = answer_room(size) if reserve is None else reserve
        return cls(size, reserve=reserve, cap=cap, warn=warn, limit=min(limits, default=None))

    @property
    def budget(self) -> int:
        """Tokens for input: the minimum of the absolute limit, the cap, and the size without the reserve."""
        bounds = [self.size - self.reserve]
        if self.limit is not None:
            bounds.append(self.limit)
        if self.cap is not None:
            bounds.append(part_of(fraction("Window cap", self.cap), self.size))
        return min(bounds)

    @property
    def warning(self) -> int:
        """Tokens above which to warn."""
        if self.warn is None:
            return part_of(_WARN_OF_BUDGET, self.budget)
        return part_of(fraction("Window warn", self.warn), self.size)


def answer_room(size: int) -> int:
    """Return the tokens to reserve for an answer of unknown length."""
    return min(size // 8, _ANSWER)


def budget_of(budget: object, model: str | None = None) -> int:
    """Return the tokens of a budget: a number, a window, or the window of a model.

    Raises:
        InvalidValue: it is anything else.
    """
    if isinstance(budget, Window):
        return budget.budget
    if budget is None:
        if model is None:
            raise InvalidType("budget", budget, "a whole number of at least 0 or a Window", "pass budget= or model=")
        return Window.of(model).budget
    return units("budget", budget)
