"""The section that shows an agent its own budget and use.

Its own tokens are part of the total that it states, so the text is found by iteration: state a total, count the prompt,
state that count, until the two agree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

NAME = "context_budget"

_NEAR = 90
"""Percentage of its limit above which a section is marked."""


class BudgetLine(NamedTuple):
    """The use and the limit of one section."""

    name: str
    used: int
    limit: int


def written(lines: Sequence[BudgetLine], used: int, budget: int, unit: str) -> str:
    """Return the text of the budget section."""
    share = used * 100 // budget if budget else 0
    rows = [f"## Context Budget\nUsing {used}/{budget} {unit} ({share}%)"]
    for line in lines:
        near = " (near limit!)" if line.used * 100 > _NEAR * line.limit else ""
        rows.append(f"- {line.name}: {line.used}/{line.limit}{near}")
    return "\n".join(rows)


def consistent(write: Callable[[int], str], count: Callable[[str], int], first: int) -> str:
    """Return the text that states the count of the prompt that contains it.

    If no number agrees exactly, the text states the smallest number found that is not below the count.
    """
    stated, counts = first, dict[int, int]()
    while stated not in counts:
        counts[stated] = total = count(write(stated))
        stated = total if total >= stated else stated - 1
    agreed = counts[stated] == stated
    return write(stated if agreed else min(number for number, total in counts.items() if total < number))
