"""The table of the runs, as text."""

from __future__ import annotations

from scripts.agents.figures import Figures
from scripts.agents.scenario import Scenario, Via

_HEADS = (
    "agent",
    "window",
    "via",
    "finished",
    "steps",
    "requests",
    "overflows seen",
    "refused",
    "illegal",
    "budget",
    "peak",
    "mean",
    "cuts (lowest fill)",
    "own summaries",
    "cached",
    "cost",
    "newest results",
    "drift",
    "seconds",
)


def table(results: list[tuple[Scenario, Via, Figures]]) -> str:
    """Return the runs as a Markdown table, aligned."""
    rows = [_HEADS, *(_row(scenario, via, each) for scenario, via, each in results)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(_HEADS))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows
    ]
    return "\n".join([lines[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *lines[1:]])


def _row(scenario: Scenario, via: Via, each: Figures) -> tuple[str, ...]:
    cuts = f"{len(each.cuts)} ({min(each.cuts):.0%})" if each.cuts else "0"
    drift = "-" if each.drift is None else f"{each.drift[0]:+.1%} {each.drift[1]:+.1%}"
    drift += "" if each.reported else " (no usage)"
    return (
        scenario.name,
        f"{scenario.window:,}",
        via,
        "yes" if each.finished else "NO",
        f"{each.steps} of {scenario.task.steps}",
        str(each.requests),
        str(each.overflows),
        str(len(each.refused)),
        str(len(each.illegal)),
        f"{each.budget:,}",
        f"{each.peak:.0%}",
        f"{each.mean:.0%}",
        cuts,
        str(each.compactions),
        f"{each.cached:.1%}",
        f"{each.cost:,}",
        f"{each.newest} of {each.latest}{'' if each.newest_fit else ' (too long)'}, {each.usual:.1f}",
        drift,
        f"{each.seconds:.0f}",
    )
