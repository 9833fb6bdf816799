"""Meters that wrap another meter: a caller's own, a shared meter tuned to a model, and an upper bound."""

from __future__ import annotations

import logging
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from brim.errors import MeterError, shown
from brim.meter.base import BaseMeter, Meter, check_counts

_SAMPLE = 400
"""Number of estimated tokens after which the bound is compared with the estimate."""
_WASTE = 20
"""Percent by which a bound may exceed the estimate without advice."""


class CallerMeter(BaseMeter):
    """A caller's own meter or counting function, with brim's caching and cutting.

    brim knows no upper bound for its counts, so it trusts them.

    Raises:
        InvalidValue: it counts nothing.
        MeterError: it fails.
    """

    def __init__(self, source: Meter | Callable[[str], int]) -> None:
        super().__init__(str(getattr(source, "name", getattr(source, "__name__", type(source).__name__))))
        self.unit = str(getattr(source, "unit", "units"))
        count: Any = getattr(source, "count", source)
        self._count: Callable[[str], int] = count
        self._exact = bool(getattr(source, "exact", False))
        check_counts(self)

    @property
    def exact(self) -> bool:
        """The caller's own `exact`; false for a function."""
        return self._exact

    def measure(self, text: str) -> int:
        """Return the count of the caller's meter or function.

        Raises:
            MeterError: the caller's code raised, or the count is not a whole number of at least zero.
        """
        try:
            size = self._count(text)
        except Exception as error:  # The caller's code may raise anything.
            raise MeterError(self._name, len(text), f"it raised {type(error).__name__}: {error}") from error
        if isinstance(size, bool) or not isinstance(size, int) or size < 0:
            problem = f"it returned {shown(size)} instead of a whole number of at least 0"
            raise MeterError(self._name, len(text), problem)
        return size


class TunedMeter(BaseMeter):
    """The meter of one model: texts are counted by a meter that models share, requests by the model's rules."""

    def __init__(self, inner: BaseMeter, model: str | None) -> None:
        self.model = model
        self.unit = inner.unit
        self.memo = inner.memo
        self.slack = inner.slack
        self._inner = inner
        for name in ("count", "upper", "upper_load", "load", "head", "tail"):
            setattr(self, name, getattr(inner, name))

    @property
    def name(self) -> str:
        """The name of the shared meter."""
        return self._inner.name

    @property
    def exact(self) -> bool:
        """Whether the shared meter counts exactly."""
        return self._inner.exact

    def measure(self, text: str) -> int:
        """Return the count of the shared meter."""
        return self._inner.measure(text)


class AssumedMeter(TunedMeter):
    """The meter of a fit without a model and a meter: its counts are an estimate, whatever the vocabulary."""

    def __init__(self, inner: BaseMeter) -> None:
        super().__init__(inner, None)
        self._warned = False

    @property
    def exact(self) -> bool:
        """Always false: the model may have another vocabulary."""
        return False

    def warn(self) -> None:
        """Log once that the count is an estimate, and what to do."""
        if not self._warned:
            self._warned = True
            logging.getLogger("brim").warning(
                "no model and no meter: prompts are counted with %s, which is only an estimate for other models. Pass"
                " model= or meter=.",
                self.name,
            )


class UpperBound(BaseMeter):
    """Counts the upper bound of another meter, so that prompts stay within their budget despite the estimate.

    The bounds of parts add up; the slack is added once, as the overhead of the whole prompt.
    """

    def __init__(self, inner: BaseMeter) -> None:
        super().__init__(f"{inner.name}, upper bound")
        self.unit = inner.unit
        self.model = inner.model
        self.slack = self.overhead = inner.slack
        self.inner = inner
        """The estimate."""
        self._seen: tuple[int, int] | None = (0, 0)
        """The estimate and the bound of the first texts; `None` after they were compared."""

    def measure(self, text: str) -> int:
        """Return an upper bound on the true count; if the bound turns out to be loose, advice is logged."""
        bound = self.inner.upper_load(text)
        if self._seen is not None:
            self._compare(self._seen[0] + self.inner.load(text), self._seen[1] + bound)
        return bound

    def _compare(self, estimate: int, bound: int) -> None:
        self._seen = (estimate, bound) if estimate < _SAMPLE else None
        name = self.model or "unknown model"
        if self._seen is None and (advice := exact_count_advice(estimate, bound, name)):
            logging.getLogger("brim").warning("%s: %s", name, advice)


def exact_count_advice(estimate: int, bound: int, name: str) -> str | None:
    """Return advice on exact counts if a bound is so loose that it wastes room, or `None`.

    Args:
        estimate: the estimated tokens of a text.
        bound: the upper bound of its tokens.
        name: the model or the meter.
    """
    if bound * 100 <= estimate * (100 + _WASTE):
        return None
    install = "pip install 'brim[open]', or " if find_spec("splintr") is None and "claude" not in name else ""
    more = (bound - estimate) * 100 // max(1, estimate)
    return (
        f"brim keeps prompts within an upper bound, which is {more} % above the estimate. For an exact count,"
        f" {install}pass the path of the model's tokenizer.json as the meter. In a session, reported usage corrects the"
        " count of what was sent."
    )
