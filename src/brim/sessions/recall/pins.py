"""Dropped texts that were pinned: every prompt holds them until they are unpinned.

They stand at the end with memory, so that the cached prefix stays the same, and are never cut. Together they may take a
quarter of the budget.
"""

from __future__ import annotations

from collections.abc import Mapping

from brim.errors import InvalidValue
from brim.meter.base import BaseMeter

HEAD = "## Pinned"
"""The heading above the pins in a prompt."""
_SHARE = 4
"""The part of the budget, one in so many, that pins may take."""


def written(pins: Mapping[str, str]) -> str:
    """Return the pins as a prompt holds them; empty if there are none."""
    return "\n\n".join([HEAD, *pins.values()]) if pins else ""


def added(pins: Mapping[str, str], handle: str, text: str, budget: int, scale: BaseMeter) -> dict[str, str]:
    """Return the pins with one more.

    Raises:
        InvalidValue: together they would take more than a quarter of the budget.
    """
    made = {**pins, handle: text}
    units, most = scale.count(written(made)), budget // _SHARE
    if units > most:
        had = scale.count(written(pins)) if pins else 0
        advice = f"unpin some of the {had:,} {scale.unit}" if had else "restore it instead"
        told = f"a text that leaves all pins within {most:,} {scale.unit} (they would take {units:,}: {advice})"
        raise InvalidValue("pin", handle, told)
    return made
