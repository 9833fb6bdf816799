"""The figures of a run, from its log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from scripts.agents.run import Run
from scripts.agents.task import END


@dataclass(frozen=True, kw_only=True, slots=True)
class Figures:
    """What the table states of a run."""

    finished: bool
    """Whether the model was asked for its report, and the program printed it."""
    steps: int
    """The last step of the task that was asked for."""
    requests: int
    refused: int
    """Requests that the upstream refused for their length."""
    overflows: int
    """Overflows that the program was told."""
    illegal: list[str]
    """Why requests were refused for their form, without those that the program itself sent so."""
    compactions: int
    """Summaries that the program asked for by itself."""
    cached: float
    """The share of all prompt tokens that was read from the cache."""
    facts: str
    """The facts that the last request shows, by their letters."""
    edits: int
    kept: bool
    """Whether the user's later words and the subagent's answer, once there, are in every later request."""
    ended: str
    seconds: float


def figures(run: Run) -> Figures:
    """Return the figures of a run."""
    rows = run.upstream.rows
    answered = [row for row in rows if row["status"] == 200]
    main = [row for row in answered if row["kind"] == "main"]
    tokens = sum(row["tokens"] for row in answered)
    steps = max((row["step"] for row in main), default=0)
    facts, edits = main[-1]["shown"] if main else ("", 0)
    return Figures(
        finished=END in run.out and steps >= run.program.task.steps,
        steps=steps,
        requests=len(answered),
        refused=sum(bool(row.get("overflow")) for row in rows),
        overflows=sum(row["overflow"] for row in run.client.rows) if run.via != "wrap" else run.out.count("exceed"),
        illegal=[row["illegal"] for row in rows if "illegal" in row and run.upstream.body(row) not in _sent(run)],
        compactions=sum(row["kind"] == "compaction" for row in answered),
        cached=sum(row["read"] for row in answered) / tokens if tokens else 0.0,
        facts=facts,
        edits=edits,
        kept=all(_stays(letter, [row["shown"][0] for row in main]) for letter in "US"),
        ended=run.ended,
        seconds=run.seconds,
    )


def _sent(run: Run) -> list[Any]:
    """Return the bodies that the program sent."""
    return [body for row in run.client.rows if (body := run.client.body(row)) is not None]


def _stays(letter: str, shown: list[str]) -> bool:
    first = next((i for i, facts in enumerate(shown) if letter in facts), len(shown))
    return all(letter in facts for facts in shown[first:])
