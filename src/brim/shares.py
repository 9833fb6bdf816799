"""Divide a total among named shares, to the last unit.

Rounding each share down loses units, so what is left over goes to the one share named for the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from brim.amount import fraction, units
from brim.errors import InvalidValue

_TOLERANCE = Fraction(1, 1000)


@dataclass(frozen=True, slots=True)
class Shares:
    """A total, and the part of it that each name has."""

    total: int
    shares: Mapping[str, float | str]
    """Shares by name: 0.4 or "40%". Together they are one, within a thousandth."""
    rest: str = "reserve"
    """The share that takes what rounding leaves, and that a name not listed is given."""

    def __post_init__(self) -> None:
        units("Shares total", self.total)
        whole = sum((fraction(f"share {name!r}", share) for name, share in self.shares.items()), Fraction(0))
        if abs(whole - 1) > _TOLERANCE:
            raise InvalidValue("shares", float(whole), "1.0 in all (within 0.001)")
        if self.rest not in self.shares:
            raise InvalidValue("rest", self.rest, f"one of the shares: {', '.join(self.shares)}")

    def of(self, name: str) -> int:
        """Return the units of a share; a name that has none is given what the rest has."""
        if name in self.shares and name != self.rest:
            return self._rounded(name)
        return self.total - sum(self._rounded(other) for other in self.shares if other != self.rest)

    def _rounded(self, name: str) -> int:
        return int(fraction(name, self.shares[name]) * self.total)
