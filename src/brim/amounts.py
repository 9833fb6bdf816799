"""Amounts in tokens or percent, and a total divided into named shares.

Shares are exact fractions, so that 29 % of 100 is 29 and not 28.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from brim.errors import InvalidType, InvalidValue

_PERCENT = re.compile(r"\s*(\d{1,9}(?:\.\d{1,9})?)\s*%\s*")

Amount = int | str
"""Tokens (400), or a share of the budget ("20%")."""


def counted(count: int, noun: str) -> str:
    """Return a count with its noun: `1 file`, `12 files`."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def units(place: str, value: object, *, least: int = 0) -> int:
    """Return `value` as a whole number of tokens.

    Raises:
        InvalidValue: it is not a whole number of at least `least`.
    """
    if isinstance(value, int) and not isinstance(value, bool) and value >= least:
        return value
    expected = f"a whole number of at least {least}"
    if isinstance(value, float) and value.is_integer():
        raise InvalidType(place, value, f"{expected} (write {int(value)})")
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidValue(place, value, expected)
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidType(place, value, expected)
    raise InvalidValue(place, value, expected)


def units_or_share(place: str, value: object) -> int | Fraction:
    """Return tokens as an int, or a share as a fraction of one.

    Raises:
        InvalidValue: it is neither a whole number of at least 0 nor a percentage from 0 to 100.
    """
    if not isinstance(value, str):
        return units(place, value)
    share = _share(value)
    if share is None:
        raise InvalidValue(place, value, 'a number of tokens (400) or a percentage from 0 to 100 ("20%")')
    return share


@lru_cache(256)  # A fit reads the same few values many times.
def _share(written: str) -> Fraction | None:
    match = _PERCENT.fullmatch(written)
    share = Fraction(match[1]) / 100 if match else None
    return None if share is None or share > 1 else share


def check_bounds(place: str, floor: Amount, ceiling: Amount | None) -> None:
    """Check a floor and a ceiling; tokens and a share of the budget cannot be compared before the budget is known.

    Raises:
        InvalidValue: one is not an amount, or the floor is above the ceiling.
    """
    least = units_or_share(f"{place}floor", floor) if floor or type(floor) is not int else 0
    most = None if ceiling is None else units_or_share(f"{place}ceiling", ceiling)
    if most is not None and type(least) is type(most) and least > most:
        raise InvalidValue(f"{place}floor", floor, f"at most {ceiling}, its ceiling")


def fraction(place: str, value: object) -> Fraction:
    """Return a share from a number above 0 and up to 1, or from a percentage.

    Raises:
        InvalidValue: it is neither.
    """
    if isinstance(value, str):
        share = units_or_share(place, value)
        if isinstance(share, Fraction):
            return share
    expected = 'a share above 0 and up to 1 (0.2 or "20%")'
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
        raise InvalidType(place, value, expected)
    if not math.isfinite(value) or not 0 < value <= 1:
        raise InvalidValue(place, value, expected)
    return Fraction(str(value))


def part_of(share: Fraction, total: int) -> int:
    """Return a share of a total in whole tokens, rounded down."""
    return share.numerator * total // share.denominator


def of_budget(amount: int | Fraction, budget: int) -> int | Fraction:
    """Return an amount in tokens for a budget; a share is exact, so it may be a fraction of a token."""
    if not isinstance(amount, Fraction):
        return amount
    whole, rest = divmod(amount.numerator * budget, amount.denominator)
    return amount * budget if rest else whole


_TOLERANCE = Fraction(1, 1000)


@dataclass(frozen=True, slots=True)
class Shares:
    """A total, divided into named shares."""

    total: int
    shares: Mapping[str, float | str]
    """Shares by name: 0.4 or "40%". They add up to one, within a thousandth."""
    rest: str = "reserve"
    """The share that gets the remainder of rounding, and is used for unknown names."""

    def __post_init__(self) -> None:
        units("Shares total", self.total)
        whole = sum((fraction(f"share {name!r}", share) for name, share in self.shares.items()), Fraction(0))
        if abs(whole - 1) > _TOLERANCE:
            parts = ", ".join(f"{name} {_percent(fraction(name, share))}" for name, share in self.shares.items())
            raise InvalidValue("shares", _percent(whole), f"100% in total ({parts})")
        if self.rest not in self.shares:
            raise InvalidValue("rest", self.rest, f"the name of a share: {', '.join(self.shares)}")

    def of(self, name: str) -> int:
        """Return the tokens of a share; for an unknown name, those of `rest`."""
        if name in self.shares and name != self.rest:
            return self._rounded(name)
        return self.total - sum(self._rounded(other) for other in self.shares if other != self.rest)

    def _rounded(self, name: str) -> int:
        return int(fraction(name, self.shares[name]) * self.total)


def _percent(share: Fraction) -> str:
    return f"{float(share * 100):.6g}%"
