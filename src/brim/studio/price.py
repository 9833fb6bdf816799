"""What calls cost, by the prices of the catalogue; what it does not know is unknown, and never nothing."""

from __future__ import annotations

from brim.errors import BrimError
from brim.meter import catalogue
from brim.meter.model import Prices

_MILLION = 1_000_000


def prices_of(model: str | None, tokens: int = 0) -> Prices | None:
    """Return the prices of a model for a prompt of so many tokens; nothing where the catalogue has none."""
    if not model:
        return None
    try:
        found = catalogue.find(model).prices
    except BrimError:
        return None
    if found is None:
        return None
    return next((prices for above, prices in reversed(found.tiers) if tokens > above), found)


def cost(
    model: str | None, unit: str | None, used: int | None, cached: int | None = None, output: int | None = None
) -> float | None:
    """Return what a call costs in US dollars; nothing where a number or a price is missing, or no tokens are counted.

    Args:
        model: its name.
        unit: what is counted.
        used: units of the prompt, those that the cache holds included.
        cached: units of it that the cache holds.
        output: units of the answer.
    """
    known = prices_of(model, used or 0)
    if known is None or used is None or known.input is None or unit != "tokens":
        return None
    held = min(used, cached or 0)
    read = known.cached_read if known.cached_read is not None else known.input
    total = (used - held) * known.input + held * read
    if output:
        if known.output is None:
            return None
        total += output * known.output
    return round(total / _MILLION, 8)
