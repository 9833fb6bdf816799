"""How to get an exact count, where the bound of an estimate leaves much of a budget unused."""

from __future__ import annotations

_WASTE = 20
"""Percent that a bound may be above the estimate before anything is said."""


def exact_count_advice(estimate: int, bound: int, name: str) -> str | None:
    """Return how to get an exact count, if a bound is so far above the estimate that a fit wastes room.

    Args:
        estimate: the estimated tokens of a text.
        bound: the most that it may have.
        name: the model or the meter.
    """
    if bound * 100 <= estimate * (100 + _WASTE):
        return None
    own = "pip install 'brim[claude]'" if "claude" in name else "pip install 'brim[open]'"
    more = (bound - estimate) * 100 // max(1, estimate)
    return (
        f"The bound is {more} % above the estimate, and a fit keeps to the bound. For an exact count: {own}, or "
        "the path of a tokenizer.json as the model. In a session, the usage of the first answer tightens the bound."
    )
