"""The figures of an audit as text, shared by the terminal and the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def percent(share: float | None) -> str:
    """Return a share as text."""
    return "unknown" if share is None else f"{100 * share:.1f} %"


def dollars(amount: float | None) -> str:
    """Return an amount as text."""
    if amount is None:
        return "unknown"
    size = abs(amount)
    return ("-" if amount < 0 else "") + (f"${size:,.2f}" if size >= 1 or not size else f"${size:,.4f}")


def summary(recorded: Mapping[str, Any]) -> list[tuple[str, int, bool]]:
    """Return the main numbers of the recorded requests: each with its label, and whether it counts problems."""
    rows = [
        ("conversations", "conversations", False),
        ("requests", "requests", False),
        ("over the window", "overflows", True),
        ("refused as too long", "refused_by_provider", True),
        ("illegal", "illegal", True),
        ("tokens", "units", False),
        ("tokens of the longest", "longest", False),
    ]
    optional = (
        ("partly stored by the provider", "partial", True),
        ("not replayed", "unreadable", True),
        ("of unknown window", "unknown_window", True),
    )
    rows += [row for row in optional if recorded[row[1]]]
    return [(label, recorded[key], problem) for label, key, problem in rows]


HEADS = (
    *("policy", "avoided", "repaired", "do not fit", "changed", "tokens sent"),
    *("saved", "cost", "cost saved", "cache share"),
)
"""The columns of the table of policies."""
_COUNTS = ("overflows_avoided", "repaired", "does_not_fit", "changed", "units")


def policy_rows(values: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return the rows of the table of policies, the recorded requests first."""
    recorded = values["recorded"]
    sent, cost, cached = f"{recorded['units']:,}", dollars(recorded["cost_usd"]), percent(recorded["cache_share"])
    rows: list[tuple[str, ...]] = [("as recorded", "", "", "", "", sent, "", cost, "", cached)]
    for each in values["policies"]:
        counts = (f"{each[key]:,}" for key in _COUNTS)
        costs = (dollars(each["cost_usd"]), dollars(each["cost_saved_usd"]))
        rows.append((each["name"], *counts, percent(each["units_saved_share"]), *costs, percent(each["cache_share"])))
    return rows
