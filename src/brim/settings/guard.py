"""The guardrails of budgets: bounds for each, and that no part is more than the whole.

A value beyond its bounds is moved to the bound and told, never refused: a run goes on with a sane budget, and the
warning says which line to put right.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from brim.settings.layer import Value

TOTAL = "budgets.context_budget_chars"
RECENT = "budgets.history_max_recent_chars"
OLDER = "budgets.history_max_older_chars"

LEAST = {TOTAL: 10_000, RECENT: 1_000, OLDER: 500}
"""The bounds of `product`: an older step may be short, the whole may not."""
STRICT_LEAST = 10_000
"""The lower bound of `strict_seed`, for all three."""
LARGEST = 600_000
SUSPICIOUS = 5_000_000


@dataclass(frozen=True, slots=True)
class Guarded:
    """The three budgets within their bounds, and what was done to them."""

    values: Mapping[str, Value]
    warnings: tuple[str, ...]


@lru_cache(maxsize=4_096)
def guard(total: Value, recent: Value, older: Value, bounds: str) -> Guarded:
    """Return the budgets within their bounds."""
    told: list[str] = []
    found = {TOTAL: total, RECENT: recent, OLDER: older}
    for key, given in found.items():
        least = STRICT_LEAST if bounds == "strict_seed" else LEAST[key]
        found[key] = _clamped(key, given, least, told)
    whole = found[TOTAL].value
    for key in (RECENT, OLDER):
        if found[key].value > whole:
            told.append(
                f"{_named(key, found[key])} of {found[key].value:,} chars is more than context_budget_chars of"
                f" {whole:,}, and was lowered to it"
            )
            found[key] = Value(whole, found[key].origin, found[key].where)
    return Guarded(found, tuple(told))


def _clamped(key: str, given: Value, least: int, told: list[str]) -> Value:
    number = given.value
    if number < least:
        told.append(f"{_named(key, given)} of {number:,} chars is below minimum {least:,}, and was raised to it")
        return Value(least, given.origin, given.where)
    if number <= LARGEST:
        return given
    odd = f" It is suspiciously large: above {SUSPICIOUS:,}." if number > SUSPICIOUS else ""
    told.append(f"{_named(key, given)} of {number:,} chars exceeds maximum {LARGEST:,}, and was lowered to it.{odd}")
    return Value(LARGEST, given.origin, given.where)


def _named(key: str, given: Value) -> str:
    where = given.where or given.origin
    return f"{where}: {key.partition('.')[2]}"
