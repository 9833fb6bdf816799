"""The three character budgets of a history: presets, the budgets for a window, and bounds.

History gets a quarter of the window; instructions usually take a fifth, notes a twentieth, and the answer half. A value
out of bounds is replaced by the bound, with a warning instead of an error, so that the run continues.
"""

from __future__ import annotations

from dataclasses import dataclass

from brim.amounts import units
from brim.settings.values import Value

TOTAL = "budgets.context_budget_chars"
RECENT = "budgets.history_max_recent_chars"
OLDER = "budgets.history_max_older_chars"

LEAST = {TOTAL: 10_000, RECENT: 1_000, OLDER: 500}
"""The lower bounds of `product`: older steps may be short, but not the whole history."""
STRICT_LEAST = 10_000
"""The lower bound of `strict_seed`, for all three."""
LARGEST = 600_000
SUSPICIOUS = 5_000_000

CHARS_A_TOKEN = 4
"""Characters per token of English prose, roughly."""


@dataclass(frozen=True, slots=True)
class Budgets:
    """The three budgets of a history, in characters."""

    context_budget_chars: int
    """All steps together."""
    history_max_recent_chars: int
    """The newest step."""
    history_max_older_chars: int
    """Each older step."""

    def items(self) -> tuple[tuple[str, int], ...]:
        """Return the budgets by name."""
        return tuple((name, getattr(self, name)) for name in self.__slots__)


PRESETS = {
    "lean": Budgets(100_000, 30_000, 5_000),
    "balanced": Budgets(200_000, 60_000, 10_000),
    "heavy": Budgets(400_000, 120_000, 20_000),
}

DEFAULT = "balanced"

WINDOWS = {
    200_000: Budgets(200_000, 60_000, 10_000),
    128_000: Budgets(125_000, 40_000, 7_500),
    131_072: Budgets(125_000, 40_000, 7_500),
    32_000: Budgets(30_000, 10_000, 2_500),
    32_768: Budgets(30_000, 10_000, 2_500),
}
"""Tested budgets by window size in tokens; `scaled` computes the others."""


def least_of(key: str, bounds: str) -> int:
    """Return the lower bound of a budget."""
    return STRICT_LEAST if bounds == "strict_seed" else LEAST[key]


def scaled(window: int) -> Budgets:
    """Return the budgets for a window in tokens: from the table, or else 25 %, 7.5 % and 1.25 % of the window.

    Raises:
        InvalidValue: the window is not a whole number above 0.
    """
    units("window", window, least=1)
    if window in WINDOWS:
        return WINDOWS[window]
    chars = window * CHARS_A_TOKEN
    return Budgets(chars * 25 // 100, chars * 75 // 1_000, chars * 125 // 10_000)


def detected(budgets: Budgets) -> str | None:
    """Return the name of the preset with exactly these values, or `None`."""
    return next((name for name, preset in PRESETS.items() if preset == budgets), None)


def bounded(
    total: Value, recent: Value, older: Value, bounds: str
) -> tuple[dict[str, Value], tuple[tuple[str, str], ...]]:
    """Return the budgets within their bounds, with no part above the total, and a warning by key for each change."""
    warnings: list[tuple[str, str]] = []
    found = {TOTAL: total, RECENT: recent, OLDER: older}

    def move(key: str, bound: int, reason: str, ending: str = "") -> None:
        old = found[key]
        name = f"{old.where or old.origin}: {key.partition('.')[2]}"
        verb = "raised" if old.value < bound else "lowered"
        warnings.append((key, f"{name} of {old.value:,} chars {reason} {bound:,}, and was {verb} to it{ending}"))
        found[key] = Value(bound, old.origin, old.where)

    for key, given in tuple(found.items()):
        least, size = least_of(key, bounds), given.value
        if size < least:
            move(key, least, "is below minimum")
        elif size > LARGEST:
            odd = f". It is suspiciously large: above {SUSPICIOUS:,}." if size > SUSPICIOUS else "."
            move(key, LARGEST, "exceeds maximum", odd)
    whole = found[TOTAL].value
    for key in (RECENT, OLDER):
        if found[key].value > whole:
            move(key, whole, "is more than context_budget_chars of")
    return found, tuple(warnings)
