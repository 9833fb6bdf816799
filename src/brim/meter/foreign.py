"""Meters made from something else: a caller's own, another for one model, or another's upper bound."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from brim.errors import InvalidType
from brim.meter.base import BaseMeter, Meter


class Foreign(BaseMeter):
    """A caller's own meter or counting function, with brim's searches around it."""

    def __init__(self, source: Meter | Callable[[str], int]) -> None:
        counts: Any = getattr(source, "count", source)
        super().__init__(str(getattr(source, "name", getattr(source, "__name__", type(source).__name__))))
        self.unit = str(getattr(source, "unit", "units"))
        self._count: Callable[[str], int] = counts
        self._exact = bool(getattr(source, "exact", False))

    @property
    def exact(self) -> bool:
        """What the caller's meter says of itself; a bare function says nothing, so it is an estimate."""
        return self._exact

    def measure(self, text: str) -> int:
        """Return what the caller's meter or function says.

        Raises:
            InvalidType: that is not a whole number of at least zero.
        """
        size = self._count(text)
        if isinstance(size, bool) or not isinstance(size, int) or size < 0:
            raise InvalidType(f"the count of meter {self._name!r}", size, "a whole number of at least 0")
        return size


class Tuned(BaseMeter):
    """The meter of one model: texts are counted by another, which many models share; requests by the model's rules."""

    def __init__(self, inner: BaseMeter, model: str) -> None:
        self.model = model
        self.unit = inner.unit
        self.memo = inner.memo
        self.loads_are_counts = inner.loads_are_counts
        self._inner = inner
        for name in ("count", "count_many", "count_joined", "upper", "load", "head", "tail"):
            setattr(self, name, getattr(inner, name))

    @property
    def name(self) -> str:
        """What the other is called."""
        return self._inner.name

    @property
    def exact(self) -> bool:
        """Whether the other counts exactly."""
        return self._inner.exact

    def measure(self, text: str) -> int:
        """Return what the other says."""
        return self._inner.measure(text)


class Upper(BaseMeter):
    """Another meter's upper bound, for budgets that must hold although the count is an estimate."""

    def __init__(self, inner: BaseMeter) -> None:
        super().__init__(f"{inner.name}, upper bound")
        self.unit = inner.unit
        self.model = inner.model
        self._inner = inner

    def measure(self, text: str) -> int:
        """Return what the true count does not exceed."""
        return self._inner.upper(text)
