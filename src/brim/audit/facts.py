"""What is known of the model that a request was for: how it counts, what it holds, what it costs."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from brim.audit.policy import Policy
from brim.errors import UnknownName
from brim.meter import DEFAULT, BaseMeter, catalogue, meter
from brim.meter.model import Model, Prices
from brim.meter.window import Window

UNKNOWN = "(unknown)"
"""How models are called that the catalogue does not have."""
_MINIMUM = 1024
"""Tokens below which a prompt is not kept, where the maker does not say."""
_PICO = 10**6
"""Millionths of a millionth of a dollar for each token, for each dollar a million tokens cost."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Facts:
    """What is known of one model."""

    label: str
    """Its name in the catalogue, or that it is unknown."""
    scale: BaseMeter
    """What counts its tokens: the best count there is, which may be an estimate."""
    size: int | None
    """Tokens that it holds; `None` where nobody knows."""
    limit: int | None
    """Tokens that a prompt may have, however short the answer."""
    minimum: int
    """Tokens from which the start of a prompt is kept in the maker's cache."""
    prices: Prices | None

    def room(self, answer: int, policy: Policy | None = None) -> int | None:
        """Return the tokens that a request may take; `None` where the window is unknown.

        Without a policy that is what the model itself allows.
        """
        size = policy.window if policy is not None and policy.window is not None else self.size
        if size is None:
            return None
        reserve = max(answer, policy.reserve if policy is not None else 0)
        cap = policy.cap if policy is not None else None
        return Window(size, reserve=min(reserve, size - 1), cap=cap, limit=self.limit).budget

    def cost(self, used: int, kept: int) -> int | None:
        """Return what a prompt costs, in millionths of a millionth of a dollar; `None` where no price is known.

        `kept` of its units are read from the cache, and the others written to it where writing has a price.
        """
        prices = self.prices
        if prices is None or prices.input is None:
            return None
        for above, dearer in prices.tiers:
            if used > above and dearer.input is not None:
                prices = dearer
        assert prices.input is not None
        fresh = prices.cache_write if prices.cache_write is not None and used >= self.minimum else prices.input
        read = prices.cached_read if prices.cached_read is not None else prices.input
        return kept * _each(read) + (used - kept) * _each(fresh)


def facts_of(name: str | None, window: int | None) -> Facts:
    """Return what is known of a model; of one that the catalogue lacks, no more than the window that was given."""
    known = Model(id=UNKNOWN)
    if name is not None:
        try:
            known = catalogue.find(name)
        except UnknownName:
            name = None
    size = window if window is not None else known.window or known.max_input
    limit = known.max_input if window is None else None
    held = known.cache.minimum if known.cache is not None else None
    return Facts(
        label=known.id,
        scale=meter(DEFAULT if name is None else name),
        size=size,
        limit=limit if limit is not None and size is not None and limit < size else None,
        minimum=_MINIMUM if held is None else held,
        prices=known.prices,
    )


@lru_cache(maxsize=256)
def _each(dollars: float) -> int:
    """Return what one token costs, of the price of a million."""
    return int(Fraction(str(dollars)) * _PICO)
