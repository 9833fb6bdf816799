"""The cost of calls by the prices in the catalogue; `None` if a price is unknown, never zero."""

from __future__ import annotations

from brim.meter import catalogue
from brim.meter.catalogue import Prices

_MILLION = 1_000_000


def prices_of(model: str | None, tokens: int = 0) -> Prices | None:
    """Return the prices of a model for a prompt of a given size, or `None` if the catalogue has none."""
    row = catalogue.lookup(model)
    if row is None or row.prices is None:
        return None
    return next((prices for above, prices in reversed(row.prices.tiers) if tokens > above), row.prices)


def cost(
    model: str | None, unit: str | None, used: int | None, cached: int | None = None, output: int | None = None
) -> float | None:
    """Return what a call costs in US dollars; `None` if a number or a price is unknown, or the unit is not tokens.

    Args:
        model: its name.
        unit: the unit of the numbers.
        used: the size of the prompt, including its cached part.
        cached: the part of the prompt that was cached.
        output: the size of the answer.
    """
    prices = prices_of(model, used or 0)
    if prices is None or used is None or prices.input is None or unit != "tokens":
        return None
    read = min(used, cached or 0)
    total = (used - read) * prices.input + read * (prices.input if prices.cached_read is None else prices.cached_read)
    if output:
        if prices.output is None:
            return None
        total += output * prices.output
    return round(total / _MILLION, 8)
