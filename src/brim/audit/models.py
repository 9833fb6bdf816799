"""The model of a request: its meter, its window and its prices, from the catalogue."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from brim.audit.policy import Policy
from brim.meter import DEFAULT, BaseMeter, catalogue, meter
from brim.meter.catalogue import Model
from brim.meter.window import Window

UNKNOWN = Model(id="(unknown)")
"""Used for models that are not in the catalogue."""
_MINIMUM = 1024
"""Tokens from which a prompt is cached, if the provider does not publish a minimum."""
_PICO = 10**6
"""Picodollars per token, for each dollar per million tokens."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelFacts:
    """The facts about one model that an audit needs."""

    model: Model
    """Its row in the catalogue, or `UNKNOWN`."""
    scale: BaseMeter
    """The meter of its tokens, exact or an estimate."""
    window: Window | None
    """`None` if the window is unknown."""

    def room(self, answer: int, policy: Policy | None = None) -> int | None:
        """Return the tokens that a request may have under a policy or, without one, in the model's own window.

        `None` if the window is unknown.
        """
        window, reserve, cap = self.window, answer, None
        if policy is not None:
            reserve, cap = max(answer, policy.reserve), policy.cap
            if policy.window is not None:
                window = Window(policy.window, limit=window.limit if window is not None else None)
        return None if window is None else replace(window, reserve=min(reserve, window.size - 1), cap=cap).budget

    @property
    def minimum(self) -> int:
        """The fewest tokens that the provider's prompt cache stores."""
        minimum = self.model.cache.minimum if self.model.cache is not None else None
        return _MINIMUM if minimum is None else minimum

    def cached(self, shared: int) -> int:
        """Return how many tokens of a shared prefix come from the cache: 0 if the prefix is too short to be cached."""
        return shared if shared >= self.minimum else 0

    def cost(self, used: int, cached: int, output: int = 0, *, written: bool = False) -> int | None:
        """Return the price of a call in picodollars; `None` if a price is unknown.

        Args:
            used: the tokens of the prompt, including the cached ones.
            cached: the tokens that are read from the cache.
            output: the tokens of the answer.
            written: whether the other tokens are written to the cache, if that has a price.
        """
        prices = self.model.prices
        if prices is None:
            return None
        prices = next((dearer for above, dearer in reversed(prices.tiers) if used > above), prices)
        if prices.input is None or (output and prices.output is None):
            return None
        writes = written and prices.cache_write is not None and used >= self.minimum
        fresh = prices.cache_write if writes else prices.input
        read = prices.cached_read if prices.cached_read is not None else prices.input
        return cached * _each(read) + (used - cached) * _each(fresh) + output * _each(prices.output)


@lru_cache(maxsize=1024)
def facts_of(name: str | None, size: int | None) -> ModelFacts:
    """Return the facts about a model; `size` overrides the window in the catalogue."""
    model = catalogue.lookup(name)
    scale = meter(DEFAULT if model is None or name is None else name)
    window = None if size is None else Window(size)
    if window is None and model is not None and (model.window or model.max_input):
        window = Window.of(str(name))
    return ModelFacts(model=model or UNKNOWN, scale=scale, window=window)


def _each(dollars: float | None) -> int:
    """Return the price of one token in picodollars, from the dollars per million tokens."""
    return round((dollars or 0) * _PICO)
