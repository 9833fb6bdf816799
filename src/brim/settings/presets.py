"""Budgets by name and by window.

The numbers are characters of a step's history: in all, of the newest step, and of each older one. A quarter of the
window is for history, since instructions take a fifth, notes a twentieth, and the answer needs the other half.
"""

from __future__ import annotations

from dataclasses import dataclass

from brim.amounts import units

CHARS_A_TOKEN = 4
"""Characters of English prose that a token has, about."""


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
        """Return the values by name."""
        return (
            ("context_budget_chars", self.context_budget_chars),
            ("history_max_recent_chars", self.history_max_recent_chars),
            ("history_max_older_chars", self.history_max_older_chars),
        )


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
"""What suits a window of so many tokens, where that was tried; `scaled` knows the others."""


def scaled(window: int) -> Budgets:
    """Return the budgets for a window of so many tokens: its row of the table, or 25 %, 7.5 % and 1.25 % of it.

    Raises:
        InvalidValue: it is not a whole number above 0.
    """
    units("window", window, least=1)
    if window in WINDOWS:
        return WINDOWS[window]
    chars = window * CHARS_A_TOKEN
    return Budgets(chars * 25 // 100, chars * 75 // 1_000, chars * 125 // 10_000)


def detected(budgets: Budgets) -> str | None:
    """Return the name of the preset that has just these values, if one has."""
    return next((name for name, preset in PRESETS.items() if preset == budgets), None)
