"""What a section asks of the allocator, in whole units."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple


class Claim(NamedTuple):
    """One section as the allocator sees it: numbers, no text."""

    wanted: int
    """Units that it would use if it could."""
    least: int = 1
    """The smallest grant that it can use."""
    held: int | Fraction = 0
    """What is held for it against more essential claims. A share of the budget is kept as the exact fraction."""
    rank: int = 0
    """Its priority: lower is more essential."""
    required: bool = False
    """Whether it must be present."""
    weight: int | Fraction = 1
    """Its part of a fair share, against the others of its rank."""
    toll: int = 0
    """Units that its presence costs beside its own, such as a separator."""

    @property
    def need(self) -> int | Fraction:
        """What is held for it, toll included."""
        return self.held + self.toll if self.held and self.wanted else 0

    @property
    def full(self) -> int:
        """Everything that it could take, toll included."""
        return self.wanted + self.toll if self.wanted else 0
