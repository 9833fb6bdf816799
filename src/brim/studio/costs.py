"""The cost of calls by the prices in the catalogue; `None` if a price is unknown, never zero."""

from __future__ import annotations

from brim.audit.models import facts_of

_PICO = 10**12


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
    if used is None or unit != "tokens":
        return None
    spent = facts_of(model, None).cost(used, min(used, cached or 0), output or 0)
    return None if spent is None else round(spent / _PICO, 8)
