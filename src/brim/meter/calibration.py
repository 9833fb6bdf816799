"""What the reported usage of past calls tells about a model's tokens.

Each call says: so much text of this make took so many tokens. From that the price of each trait of a text is fitted by
least squares, kept near what vocabularies usually ask until there is evidence. All sums are whole numbers, so every
machine learns the same. What the fit got wrong lately is added on top: the bound tightens as the errors get smaller.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from math import isqrt
from typing import Any

from brim.amounts import units
from brim.errors import InvalidType, InvalidValue
from brim.meter.traits import NAMES, USUAL

MILLION = 1_000_000
ENOUGH = 20
"""Calls after which nothing is added for want of evidence."""

_WIDTH = 1 + len(NAMES)
"""Numbers of a mix: the estimate, and the traits."""
_GRAIN = 1 << 16
"""What sums of fractions are multiplied by before they are rounded."""
_MEMORY = 64
"""Calls that sums remember: each further one outweighs a sixty-fourth of what was before."""
_REMEMBERED = 16
"""Errors that the margin looks at. Those of the first calls tell of the start, not of what was learned."""
_SEVERAL = 8
"""Errors from which on they have a spread."""
_SWEEPS = 24
"""Rounds of the fit, each of which begins where the last call's ended."""
_SPREAD = 2
"""A price is believed to lie around the usual one by as many fifths of it."""
_PROXY_SPREAD = 300_000
"""The same for an estimate that counts by a vocabulary: three tenths around one."""
_UNKNOWN = 300_000
"""Millionths to add to a count when nothing is known yet."""
_DOUBT = 2_000
"""A price of which nothing was seen is taken half its spread higher; roots are in thousandths."""
_LEAST = 5_000
"""Millionths to add at the least."""
_WILD = 500_000
"""Millionths beyond which an error tells of something other than text, and is counted as this."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Mix:
    """What the texts of a call are made of."""

    estimate: int
    """Units by the meter that is calibrated."""
    traits: tuple[int, ...]
    """How much of each trait the texts have."""
    fixed: int = 0
    """Units that are no text: framing and media."""

    def __add__(self, other: Mix) -> Mix:
        summed = tuple(map(int.__add__, self.traits, other.traits))
        return Mix(estimate=self.estimate + other.estimate, traits=summed, fixed=self.fixed + other.fixed)

    @property
    def numbers(self) -> tuple[int, ...]:
        """The estimate and the traits."""
        return self.estimate, *self.traits


NOTHING = Mix(estimate=0, traits=(0,) * len(NAMES))


@dataclass(frozen=True, kw_only=True, slots=True)
class Calibration:
    """What is known of a model from calls whose usage was reported; `record` returns a new one that knows one more."""

    model: str | None = None
    """The model whose calls these were."""
    proxy: bool = False
    """Whether the estimate counts by a vocabulary, so that it is itself the best start, rather than by characters."""
    calls: int = 0
    """Calls that were recorded."""
    mixes: int = 0
    """Those of which the traits were told."""
    estimated: int = 0
    """Units that were estimated, of the last calls more than of the first."""
    actual: int = 0
    """Units that were reported, in the same way."""
    gram: tuple[int, ...] = (0,) * (_WIDTH * _WIDTH)
    """Sums of products of traits, each call's in relation to its size."""
    moments: tuple[int, ...] = (0,) * _WIDTH
    """Sums of traits."""
    prices: tuple[int, ...] = ()
    """Millionths of a token that a unit of the estimate, then each trait costs; empty before the first mix."""
    errors: tuple[int, ...] = ()
    """How much more than predicted the last calls took, in millionths of what they took."""

    def record(self, estimated: int | Mix, actual: int) -> Calibration:
        """Return what is known after one more call.

        `estimated` is the mix of the call's texts, as `Calibrated.mix_of` tells it. The estimate alone, a number, is
        taken too, but tells no more than a ratio.

        Raises:
            InvalidValue: a number below 0, or something else altogether.
        """
        units("actual", actual)
        mix = estimated if isinstance(estimated, Mix) else None
        fixed = mix.fixed if mix is not None else 0
        said = mix.estimate if mix is not None else units("estimated", estimated)
        took = actual - fixed
        if took < 1 or said < 1:
            return self
        error = _clipped((took - self._predicted(mix, said)) * MILLION // took)
        old = self.calls >= _MEMORY
        known = replace(
            self,
            calls=self.calls + 1,
            estimated=said + _faded(self.estimated, old=old),
            actual=took + _faded(self.actual, old=old),
            errors=(*self.errors, error)[-_REMEMBERED:],
        )
        return known if mix is None else known._learned(mix.numbers, took)

    def best(self, mix: Mix) -> int:
        """Return what the texts of a mix are expected to take, with what is fixed."""
        return self._predicted(mix, mix.estimate) + mix.fixed

    def upper(self, mix: Mix) -> int:
        """Return what the texts of a mix should not exceed, with what is fixed."""
        return priced(self.rates(), mix) + mix.fixed

    def rates(self) -> tuple[int, ...]:
        """Return millionths of a token to count for a unit of the estimate and for each trait, to be on the safe side.

        Each price is taken where it may yet be, which is nearer the more was seen of its trait, with the margin on top.
        """
        if self.calls and not self.mixes:
            prices = [MILLION * self.actual // max(1, self.estimated), *[0] * len(NAMES)]
        else:
            prices = self._ceilings()
        return tuple(-(-price * (MILLION + self.margin) // MILLION) for price in prices)

    @property
    def margin(self) -> int:
        """Millionths that the bound adds: the worst recent error, twice their spread, or what want of evidence asks."""
        missing = max(0, ENOUGH - self.calls)
        guess = _UNKNOWN * missing * missing // (ENOUGH * ENOUGH)
        if not self.errors:
            return guess
        several = len(self.errors) >= _SEVERAL
        spread = isqrt(sum(error * error for error in self.errors) // len(self.errors)) if several else 0
        return max(_LEAST, guess, 2 * spread, *self.errors)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        told = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in told.items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Calibration:
        """Return what `to_dict` wrote.

        Raises:
            InvalidValue: it is not what `to_dict` writes, or is of other traits than those known here.
        """
        names = [each.name for each in fields(cls)]
        if not isinstance(values, Mapping) or sorted(values) != sorted(names):
            raise InvalidType("calibration", values, f"a mapping with {', '.join(names)}")
        told: dict[str, Any] = dict(values)
        for name, sizes in _SIZES.items():
            told[name] = _whole(name, told[name], sizes)
        for name in ("calls", "mixes", "estimated", "actual"):
            units(f"calibration.{name}", told[name])
        if not isinstance(told["proxy"], bool) or not isinstance(told["model"], str | None):
            raise InvalidType("calibration", values, "of a model's name or none, and proxy true or false")
        return cls(**told)

    def _predicted(self, mix: Mix | None, estimate: int) -> int:
        """Return what is expected of a mix, or of an estimate alone; at least one token of any text."""
        if mix is not None and (self.mixes or not self.calls):
            return max(1, priced(self.prices or _start(proxy=self.proxy), mix))
        if self.calls:
            return max(1, estimate * self.actual // max(1, self.estimated))
        return estimate

    def _learned(self, numbers: Sequence[int], took: int) -> Calibration:
        """Return what is known with one more mix."""
        old = self.mixes >= _MEMORY
        products = [a * b * _GRAIN // took for a in numbers for b in numbers]
        gram = tuple(new + _faded(value, old=old) for new, value in zip(products, self.gram, strict=True))
        sums = tuple(
            number * _GRAIN + _faded(value, old=old) for number, value in zip(numbers, self.moments, strict=True)
        )
        prices = _fitted(gram, sums, self.prices or _start(proxy=self.proxy), proxy=self.proxy)
        return replace(self, mixes=self.mixes + 1, gram=gram, moments=sums, prices=prices)

    def _ceilings(self) -> list[int]:
        """Return each price with what it may yet be more, which is less the more was seen of its trait."""
        prices, spreads = self.prices or _start(proxy=self.proxy), _spreads(proxy=self.proxy)
        found = []
        for i, (price, spread) in enumerate(zip(prices, spreads, strict=True)):
            stiff, seen = _stiffness(spread) if spread else 1, self.gram[i * _WIDTH + i]
            found.append(price + spread * isqrt(stiff * MILLION // (stiff + seen)) // _DOUBT)
        return found


def priced(prices: Sequence[int], mix: Mix) -> int:
    """Return what a mix costs at prices in millionths, to the nearest unit, so that many short texts add up right."""
    return (sum(map(int.__mul__, prices, mix.numbers)) + MILLION // 2) // MILLION


_SIZES = {
    "gram": (_WIDTH * _WIDTH,),
    "moments": (_WIDTH,),
    "prices": (0, _WIDTH),
    "errors": tuple(range(_REMEMBERED + 1)),
}


def _start(*, proxy: bool) -> tuple[int, ...]:
    """Return the prices before any call."""
    if proxy:
        return MILLION, *[0] * len(NAMES)
    return 0, *[1000 * price for price in USUAL]


def _spreads(*, proxy: bool) -> tuple[int, ...]:
    """Return how far from there each price may lie; none moves that has none."""
    traits = [1000 * price * _SPREAD // 5 for price in USUAL]
    return _PROXY_SPREAD if proxy else 0, *traits


def _stiffness(spread: int) -> int:
    """Return what holds a price to its start, as a sum of squares of its trait would."""
    return _GRAIN * MILLION * MILLION // (spread * spread)


def _fitted(gram: Sequence[int], moments: Sequence[int], start: Sequence[int], *, proxy: bool) -> tuple[int, ...]:
    """Return the prices that explain the calls best, none below what it may be, by going over them in turn."""
    usual, spreads = _start(proxy=proxy), _spreads(proxy=proxy)
    prices = list(start)
    free = [i for i in range(_WIDTH) if spreads[i] and gram[i * _WIDTH + i]]
    for _ in range(_SWEEPS):
        for i in free:
            row, stiff = gram[i * _WIDTH : (i + 1) * _WIDTH], _stiffness(spreads[i])
            rest = sum(map(int.__mul__, row, prices)) - row[i] * prices[i]
            price = (moments[i] * MILLION - rest + stiff * usual[i]) // (row[i] + stiff)
            prices[i] = max(price, min(0, usual[i] - 2 * spreads[i]))
    return tuple(prices)


def _faded(value: int, *, old: bool) -> int:
    return value - value // _MEMORY if old else value


def _clipped(error: int) -> int:
    return max(-_WILD, min(_WILD, error))


def _whole(name: str, values: Any, sizes: Sequence[int]) -> tuple[int, ...]:
    if not isinstance(values, list | tuple) or not all(type(value) is int for value in values):
        raise InvalidType(f"calibration.{name}", values, "a list of whole numbers")
    if len(values) not in sizes:
        raise InvalidValue(f"calibration.{name}", len(values), f"of a length known here ({sizes[-1]})")
    return tuple(values)
