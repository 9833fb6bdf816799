"""The figures of a run, from its log."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from scripts.agents.count import CLAUDE, OPENAI, text_tokens
from scripts.agents.request_log import Row
from scripts.agents.run import Run
from scripts.agents.task import END

_NEWEST = 10
"""So many results are looked for in the last request."""
_LEARNED = 10
"""After so many answers brim's counts must be close."""
_CALL = 200
"""Tokens of a call beside its result: thinking, arguments, what the program adds."""
_LOOSE = 3
"""Parts at the end of a prompt that a client may change without having cut it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Figures:
    """What the table states of a run."""

    finished: bool
    steps: int
    """How many parts of the task the client came to."""
    requests: int
    overflows: int
    """Overflows that the client was told."""
    refused: list[int]
    """The sizes of the requests that the upstream refused for their length."""
    illegal: list[str]
    budget: int
    """The largest budget that brim cut to, otherwise `fair`; in a direct run the window."""
    fair: int
    """What a prompt may expect: the window less the requested answer, at least half of the window."""
    peak: float
    """The largest prompt, as a share of the window."""
    mean: float
    cuts: list[float]
    """How full the budget was by the last prompt before each cut."""
    compactions: int
    """Summaries that the client asked for by itself."""
    cached: float
    """The share of all prompt tokens that was read from the cache."""
    cost: int
    """What the prompts cost, in plain prompt tokens."""
    newest: int
    """How many of the newest ten results stand whole in the last request."""
    latest: int
    """How many of these there are: ten, or fewer in a short run."""
    usual: float
    """The same on average, of the requests after the first ten results."""
    newest_fit: bool
    """Whether all of them would have stood there within 80 % of the budget."""
    drift: tuple[float, float] | None
    """brim's count against the upstream's, lowest and highest, after ten answers."""
    reported: bool
    """Whether the answers reported usage, from which brim can learn."""
    seconds: float


def figures(run: Run) -> Figures:
    """Return the figures of a run."""
    rows = run.upstream.rows
    answered = [row for row in rows if row["status"] == 200]
    main = [row for row in answered if row["kind"] == "main"]
    steps, wanted = {row["step"] for row in main}, set(range(1, run.scenario.task.steps + 1))
    tokens = sum(row["tokens"] for row in answered)
    budget = _budget(run, main)
    newest, latest, fit = _newest(run, main, budget)
    return Figures(
        finished=END in run.out and steps >= wanted,
        steps=len(steps & wanted),
        requests=len(answered),
        overflows=_overflows(run),
        refused=[row["tokens"] for row in rows if row.get("overflow")],
        illegal=[row["illegal"] for row in rows if "illegal" in row],
        budget=budget,
        fair=_fair(run, main),
        peak=max((row["tokens"] for row in answered), default=0) / run.scenario.window,
        mean=fmean(row["tokens"] for row in main) / run.scenario.window if main else 0.0,
        cuts=[row["tokens"] / budget for row in _before_cuts(main)],
        compactions=sum(row["kind"] == "compaction" for row in answered),
        cached=sum(row["read"] for row in answered) / tokens if tokens else 0.0,
        cost=sum(row["cost"] for row in answered),
        newest=newest,
        latest=latest,
        usual=fmean([_whole(run, row) for row in main if row["step"] > _NEWEST] or [newest]),
        newest_fit=fit,
        drift=_drift(run),
        reported=any(row["reports"] for row in main),
        seconds=run.seconds,
    )


def _overflows(run: Run) -> int:
    """Return how many overflows reached the program; a wrapped client stands behind brim, so its errors are read."""
    if run.via == "wrap":
        return run.errors.count("context_length_exceeded") + run.errors.count("prompt is too long")
    return sum(row["overflow"] for row in run.client.rows)


def _budget(run: Run, main: list[Row]) -> int:
    if run.via == "direct":
        return run.scenario.window
    stated = [line.get("budget_tokens") for line in _lines(run) if line.get("event", "cut") == "cut"]
    return max((each for each in stated if each), default=_fair(run, main))


def _fair(run: Run, main: list[Row]) -> int:
    asked = max((row["asked"] for row in main), default=0)
    return max(run.scenario.window - asked, run.scenario.window // 2)


def _lines(run: Run) -> Iterator[dict[str, Any]]:
    """Yield what brim printed."""
    for line in run.printed.splitlines():
        if line.startswith("{"):
            yield json.loads(line)


def _before_cuts(main: list[Row]) -> Iterator[Row]:
    """Yield the last request before each cut: the next one does not continue it."""
    for row, following in itertools.pairwise(main):
        said, now = row["messages"], following["messages"]
        same = next((i for i, (a, b) in enumerate(zip(said, now, strict=False)) if a != b), min(len(said), len(now)))
        if same < len(said) - _LOOSE or following["tokens"] < row["tokens"]:
            yield row


def _newest(run: Run, main: list[Row], budget: int) -> tuple[int, int, bool]:
    """Return how many of the newest results stand in the last request, of how many, and whether all would fit."""
    if not main:
        return 0, 0, False
    task, steps = run.scenario.task, _newest_steps(main[-1])
    vocabulary = CLAUDE if run.scenario.program.api == "messages" else OPENAI
    needed = main[0]["tokens"] + sum(text_tokens(task.part(step), vocabulary) + _CALL for step in steps)
    return _whole(run, main[-1]), len(steps), needed <= 0.8 * budget


def _newest_steps(row: Row) -> range:
    return range(max(1, row["step"] - _NEWEST), row["step"])


def _whole(run: Run, row: Row) -> int:
    """Return how many of the newest results stand whole in a request."""
    body = run.upstream.body(row)
    text = json.dumps(body.get("messages") or body.get("input"), ensure_ascii=False)
    parts = map(run.scenario.task.part, _newest_steps(row))
    return sum(all(line in text for line in part.split("\n")) for part in parts)


def _drift(run: Run) -> tuple[float, float] | None:
    """Return by how much brim's count was off, lowest and highest, once it had seen ten answers."""
    reported = [row["tokens"] for row in run.upstream.rows if row["status"] == 200]
    if run.via == "wrap":
        told = [line["after"] for line in _lines(run)]
        pairs = list(zip(told, reported, strict=False))
    else:
        by_id = {f"req_{row['n']:05d}": row["tokens"] for row in run.upstream.rows if row["status"] == 200}
        pairs = [
            (int(row["brim"]["tokens-after"]), by_id[row["request_id"]])
            for row in run.client.rows
            if "tokens-after" in row["brim"] and row["request_id"] in by_id
        ]
    off = [after / tokens - 1 for after, tokens in pairs[_LEARNED:]]
    return (min(off), max(off)) if off else None
