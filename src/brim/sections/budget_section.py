"""The section that tells an agent its own budget and use.

Its own cost is inside the total that it states, so the text is worked out by repetition: state a total, count,
state the count, until the two agree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

NAME = "context_budget"

_NEAR = 90
"""Above this percentage of its limit a section is near it."""

_TRIES = 12


@dataclass(frozen=True, slots=True)
class BudgetLine:
    """One section's use, and what it may use at most."""

    name: str
    used: int
    limit: int


def told(lines: Sequence[BudgetLine], used: int, budget: int, unit: str) -> str:
    """Return the text of the budget section."""
    share = used * 100 // budget if budget else 0
    rows = [f"## Context Budget\nUsing {used}/{budget} {unit} ({share}%)"]
    for line in lines:
        near = " (near limit!)" if line.used * 100 > _NEAR * line.limit else ""
        rows.append(f"- {line.name}: {line.used}/{line.limit}{near}")
    return "\n".join(rows)


def widest(names: Sequence[str], limits: Sequence[int], budget: int, unit: str) -> str:
    """Return a text at least as long as any that `told` can return for these sections."""
    return told([BudgetLine(n, limit, limit) for n, limit in zip(names, limits, strict=True)], budget, budget, unit)


def settled(write: Callable[[int], str], count: Callable[[str], int], first: int) -> tuple[str, int]:
    """Return the text whose stated total is the count that the prompt has with it, and that count.

    Where no number agrees with itself, the smallest one found that is not less than the count is stated.
    """
    stated = first
    best: tuple[str, int] | None = None
    for _ in range(_TRIES):
        text = write(stated)
        total = count(text)
        if total == stated:
            return text, total
        if total < stated and (best is None or stated < best[1]):
            best = (text, stated)
        stated = total if total > stated or best is None else stated - 1
    text, _ = best or (write(stated), 0)
    return text, count(text)
