"""The model of a request: its meter, its window and its prices, from the catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from brim.audit.policy import Policy
from brim.meter import DEFAULT, BaseMeter, catalogue, meter
from brim.meter.model import Model, Prices
from brim.meter.window import Window

UNKNOWN = "(unknown)"
"""The label of models that are not in the catalogue."""
_MINIMUM = 1024
"""Tokens from which a prompt is cached, if the provider does not publish a minimum."""
_PICO = 10**6
"""Picodollars per token, for each dollar per million tokens."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelFacts:
    """The facts about one model that an audit needs."""

    label: str
    """Its id in the catalogue, or `UNKNOWN`."""
    scale: BaseMeter
    """The meter of its tokens, exact or an estimate."""
    size: int | None
    """The tokens of its window; `None` if unknown."""
    limit: int | None
    """The most tokens of a prompt, however short the answer."""
    minimum: int
    """The fewest tokens that the provider's prompt cache stores."""
    prices: Prices | None

    def room(self, answer: int, policy: Policy | None = None) -> int | None:
        """Return the tokens that a request may have under a policy or, without one, in the model's own window.

        `None` if the window is unknown.
        """
        size = policy.window if policy is not None and policy.window is not None else self.size
        if size is None:
            return None
        reserve = max(answer, policy.reserve if policy is not None else 0)
        cap = policy.cap if policy is not None else None
        return Window(size, reserve=min(reserve, size - 1), cap=cap, limit=self.limit).budget

    def cached(self, shared: int) -> int:
        """Return how many of the tokens shared with the previous prompt a cache has: 0 if they are too few."""
        return shared if shared >= self.minimum else 0

    def cost(self, used: int, cached: int) -> int | None:
        """Return the price of a prompt in picodollars; `None` if no price is known.

        The cached tokens are read from the cache. The others are written to it, if writing has a price.
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
        return cached * _each(read) + (used - cached) * _each(fresh)


def facts_of(name: str | None, window: int | None) -> ModelFacts:
    """Return the facts about a model; if the catalogue does not have it, only the window that is passed."""
    row = catalogue.lookup(name)
    known = row or Model(id=UNKNOWN)
    size = window if window is not None else known.window or known.max_input
    limit = known.max_input if window is None else None
    minimum = known.cache.minimum if known.cache is not None else None
    return ModelFacts(
        label=known.id,
        scale=meter(DEFAULT if row is None or name is None else name),
        size=size,
        limit=limit if limit is not None and size is not None and limit < size else None,
        minimum=_MINIMUM if minimum is None else minimum,
        prices=known.prices,
    )


@lru_cache(maxsize=256)
def _each(dollars: float) -> int:
    """Return the price of one token in picodollars, from the dollars per million tokens."""
    return int(Fraction(str(dollars)) * _PICO)
