"""The stages of work on a step, each with the tier of model that suits it and how far it has to see."""

from __future__ import annotations

from dataclasses import dataclass

from brim.errors import UnknownName


@dataclass(frozen=True, kw_only=True, slots=True)
class Stage:
    """One stage."""

    name: str
    role: str
    task: str
    scope: str
    """How much it sees: `wide`, `deep`, `narrow` or `none`."""
    sees: str
    tier: str
    """What it may cost: `cheap`, `medium`, `expensive`, or `none` where no model is asked."""


STAGES = (
    Stage(
        name="Prep",
        role="curator",
        task="gather files, summarise history",
        scope="wide",
        sees="the codebase",
        tier="cheap",
    ),
    Stage(
        name="Work",
        role="worker",
        task="write code and tests",
        scope="deep",
        sees="specific files",
        tier="expensive",
    ),
    Stage(
        name="Verify",
        role="forensic analyst",
        task="say what a change means",
        scope="narrow",
        sees="diffs and logs",
        tier="medium",
    ),
    Stage(
        name="Route",
        role="navigator",
        task="decide the path",
        scope="wide",
        sees="the graph and summaries",
        tier="expensive",
    ),
    Stage(
        name="Commit",
        role="kernel",
        task="update the ledger",
        scope="none",
        sees="nothing: pure mechanics",
        tier="none",
    ),
)


def stage(name: str) -> Stage:
    """Return the stage of a name, in any case.

    Raises:
        UnknownName: there is none.
    """
    for each in STAGES:
        if each.name.casefold() == name.casefold():
            return each
    raise UnknownName("stage", name, [each.name for each in STAGES])
