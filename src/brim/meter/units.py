"""Meters without a vocabulary: characters, and the rules of thumb that divide by four.

Characters are exact. The others estimate tokens. On JSON, base64 and scripts without spaces they are wrong by a factor
of several, so use them to reproduce a figure, not to stay within a window. Their upper bound is that of an unknown
model.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from brim.meter.base import BaseMeter, refuse
from brim.meter.estimate import OTHER, SLACK, Estimate


class Chars(BaseMeter):
    """Counts characters as Python does: code points."""

    unit = "chars"

    def __init__(self) -> None:
        super().__init__("chars")

    @property
    def exact(self) -> bool:
        """Always true."""
        return True

    def measure(self, text: str) -> int:
        """Return the number of code points."""
        return len(text) if isinstance(text, str) else refuse(text)

    count = measure


class Quarters(BaseMeter):
    """Estimates tokens as a quarter of the characters, rounded down, plus a constant."""

    slack = SLACK

    def __init__(self, name: str, *, plus: int = 0) -> None:
        super().__init__(name)
        self._plus = plus

    def measure(self, text: str) -> int:
        """Return a quarter of the characters plus the constant, or 0 for an empty text."""
        if not isinstance(text, str):
            refuse(text)
        return len(text) // 4 + self._plus if text else 0

    count = measure

    def load(self, text: str) -> int:
        """Return the quarter rounded up, so that many short texts do not count as zero."""
        return self.measure(text) if self._plus else (len(text) + 3) // 4

    def upper_load(self, text: str) -> int:
        """Return the upper bound for an unknown model: no multiple of a quarter of the characters bounds the tokens."""
        return max(self.load(text), _unknown_model().upper_load(text))


@cache
def _unknown_model() -> Estimate:
    return Estimate(OTHER)


UNITS: dict[str, Callable[[], BaseMeter]] = {
    "chars": Chars,
    "chars/4": lambda: Quarters("chars/4"),
    "chars/4+1": lambda: Quarters("chars/4+1", plus=1),
}
"""The constructors of the meters by unit."""
