"""Meters without a vocabulary: characters, and the rules of thumb that divide by four.

Characters are exact. The others estimate tokens. On JSON, base64 and scripts without spaces they are wrong by a factor
of several, so use them to reproduce a figure, not to stay within a window. Their upper bound is that of an unknown
model.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from brim.meter.base import BaseMeter, refuse
from brim.meter.estimate import OTHER, SLACK, Estimate, estimate_for


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
    """Estimates tokens as a quarter of the characters, or of the UTF-8 bytes, rounded down."""

    slack = SLACK

    def __init__(self, name: str, *, of_bytes: bool = False, plus: int = 0) -> None:
        super().__init__(name)
        self._of_bytes = of_bytes
        self._plus = plus

    def measure(self, text: str) -> int:
        """Return a quarter of the size plus the constant, or 0 for an empty text."""
        size = self._size(text)
        return size // 4 + self._plus if size else 0

    count = measure

    def load(self, text: str) -> int:
        """Return the quarter rounded up, so that many short texts do not count as zero."""
        return (self._size(text) + 3) // 4 if not self._plus else self.measure(text)

    def upper_load(self, text: str) -> int:
        """Return the upper bound for an unknown model: no multiple of a quarter of the size bounds the tokens."""
        return max(self.load(text), _unknown_model().upper_load(text))

    def _size(self, text: str) -> int:
        if not isinstance(text, str):
            refuse(text)
        if not self._of_bytes or text.isascii():
            return len(text)
        return len(text.encode("utf-8", "surrogatepass"))


@cache
def _unknown_model() -> Estimate:
    return estimate_for(OTHER)


UNITS: dict[str, Callable[[], BaseMeter]] = {
    "chars": Chars,
    "chars/4": lambda: Quarters("chars/4"),
    "chars/4+1": lambda: Quarters("chars/4+1", plus=1),
    "bytes/4": lambda: Quarters("bytes/4", of_bytes=True),
}
"""The constructors of the meters by unit."""
