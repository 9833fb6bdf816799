"""Numbers of an audit in the words that the terminal and the page share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def percent(share: float | None) -> str:
    """Return a share for a reader; what is unknown says so."""
    return "unknown" if share is None else f"{100 * share:.1f} %"


def dollars(amount: float | None) -> str:
    """Return an amount for a reader; what is unknown says so."""
    if amount is None:
        return "unknown"
    size = abs(amount)
    return ("-" if amount < 0 else "") + (f"${size:,.2f}" if size >= 1 or not size else f"${size:,.4f}")


def numbers_of(recorded: Mapping[str, Any]) -> list[tuple[str, int, bool]]:
    """Return what was recorded in a few numbers: each with its name, and whether any of it is bad."""
    rows = [
        ("conversations", recorded["conversations"], False),
        ("requests", recorded["requests"], False),
        ("over the window", recorded["overflows"], True),
        ("refused as too long", recorded["refused_by_provider"], True),
        ("illegal", recorded["illegal"], True),
        ("units", recorded["units"], False),
        ("units of the longest", recorded["longest"], False),
    ]
    optional = (
        ("in part with the provider", "partial"),
        ("not judged", "unreadable"),
        ("of unknown window", "unknown_window"),
    )
    return rows + [(name, recorded[key], True) for name, key in optional if recorded[key]]
