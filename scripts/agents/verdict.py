"""What must hold for the runs with brim, and what did not."""

from __future__ import annotations

from collections.abc import Iterator

from scripts.agents.figures import Figures
from scripts.agents.scenario import Scenario

_MOST_RETRIES = 1
_FILL = 0.8
_LOW, _HIGH = -0.01, 0.05
_NOISE = 0.001
"""The ids in the requests of two runs differ, and with them a few tokens."""
MOST_CPU = 30.0
"""Milliseconds for the decision on a request of the size of Claude Code's."""


def failures(scenario: Scenario, direct: Figures | None, brim: Figures) -> Iterator[str]:
    """Yield what does not hold, a sentence each."""
    if not brim.finished:
        yield f"did not finish: step {brim.steps} of {scenario.task.steps}"
    if brim.overflows:
        yield f"{brim.overflows} overflows reached the client"
    if brim.illegal:
        yield f"{len(brim.illegal)} illegal requests: {brim.illegal[0]}"
    if len(brim.refused) > _MOST_RETRIES:
        yield f"{len(brim.refused)} requests were refused: {brim.refused}"
    if brim.budget < _FILL * brim.fair:
        yield f"the prompt was given {brim.budget:,} tokens of a window of {scenario.window:,}"
    counts = brim.reported or scenario.meter is not None  # Otherwise counts stay a bound, and so does the fill.
    if counts and (low := [fill for fill in brim.cuts if fill < _FILL]):
        yield f"{len(low)} of {len(brim.cuts)} cuts came before {_FILL:.0%} of the budget was used: {min(low):.0%}"
    if brim.newest_fit and brim.newest < brim.latest:
        yield f"{brim.newest} of the newest {brim.latest} results are in the last request, though all would fit"
    if brim.drift is not None and counts and not (brim.drift[0] >= _LOW and brim.drift[1] <= _HIGH):
        yield f"counts are {brim.drift[0]:+.1%} to {brim.drift[1]:+.1%} off after ten answers"
    if direct is None or not direct.finished:
        return
    if scenario.program.name == "claude" and brim.cached < direct.cached - _NOISE:
        yield f"{brim.cached:.1%} of the prompts were read from the cache, {direct.cached:.1%} without brim"
    if scenario.cost and brim.cost > direct.cost * (1 + _NOISE):
        yield f"the prompts cost {brim.cost:,}, {direct.cost:,} without brim"
