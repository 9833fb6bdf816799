"""How likely is what the agent really did next, after this prompt? A small language model is the judge.

At steps of recorded runs each way to shorten the past makes its prompt. The figure is the mean negative log-likelihood
of the recorded next message, in nats a token: lower is better. It needs no labels and no rule of ours: a prompt that
lost a needed value makes the next message less likely, and so does one that is hard to read. `names` is the same for
the tokens of names that the agent took from its past, `tail` for the dearest tenth of the tokens.

By default a few steps at one budget: three minutes on two idle cores. The whole bench takes about a day there:

    make bench BENCH="likelihood --traces DIR --runs 12 --steps 8 --budgets 2000 4000 5500"

Even-numbered runs are for tuning and odd-numbered ones are reported: `--half even` while tuning.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from random import Random
from statistics import fmean

import brim
from bench import counting, need, registry, small_model, trajectories
from bench.outcome import Cell, Outcome, Setting, Table
from bench.suite import Judge, Message
from bench.trajectories import Trajectory
from bench.trimmers import Brim, prompt

WAYS = ("plain", "wrap", "clear")
_HELD = ("wrap",)
"""Ways whose prompt depends on those before it, so that every step is replayed."""
_BASE = "clear"
"""The way that the others are compared with."""
_RUNS, _STEPS, _BUDGETS = 2, 1, (2_000,)
"""Runs of each file, steps of a run at each budget, and budgets in tokens: 32 prompts of the shared runs."""
_ANSWER = 320
"""Tokens of an answer that are scored: the rest of a long one is mostly a file that it writes."""
_WINDOW = 8_190
"""Tokens that the model reads, prompt and answer."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """A step of a run, with the prompt of each way."""

    run: str
    budget: int
    step: int
    prompts: Mapping[str, Sequence[Message]]
    answer: Message
    """What the agent did next."""
    needed: frozenset[str]
    """The names in it that it took from its past."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Score:
    """How likely an answer is after one prompt."""

    nats: float
    names: float | None
    """`None` where the agent took no name from its past."""
    tail: float
    size: int
    """Tokens of the prompt, by brim's count."""


Scorer = Callable[[Sequence[Message], str, frozenset[str]], Score | None]
"""Takes a prompt, the answer, and the names that count; `None` if they are more than the model reads."""


def run(setting: Setting) -> Outcome:
    try:
        scorer = model_scorer(*small_model.load())
    except ImportError as error:
        note = f"It could not be measured: {error}. `make bench BENCH=likelihood` installs what it needs."
        return Outcome(name="likelihood", tables=[Table(title="Likelihood", columns=["way"], rows=[], notes=[note])])
    groups = trajectories.sample(setting, setting.runs or max(1, setting.size(_RUNS)))
    rows: dict[int, list[dict[str, Score]]] = {budget: [] for budget in setting.budgets or _BUDGETS}
    for name, runs in groups.items():
        for each, budget in product(runs, rows):
            rows[budget] += scored(cases(each, budget, setting.steps or _STEPS), scorer)
        print(f"  {name}: {sum(map(len, rows.values()))} steps so far", flush=True)
    return Outcome(name="likelihood", tables=[table(budget, found, setting) for budget, found in rows.items()])


def cases(trajectory: Trajectory, budget: int, count: int, ways: Sequence[str] = WAYS) -> Iterator[Case]:
    """Yield up to `count` steps of a run that have to be cut and can be, in order, if every way has a prompt there."""
    meter, judged, messages = brim.meter(Brim.meter), Judge(count=counting.tiktoken_count()), trajectory.messages
    steps = [
        step
        for step in trajectory.calls()
        if small_model.shown(messages[step])
        and meter.count_messages(messages[:step]) > budget >= need.least(list(messages[:step]), judged)
    ]
    chosen = sorted(Random(f"{trajectory.name} {budget}").sample(steps, min(count, len(steps))))
    made = {way: _prompts(way, trajectory, budget, chosen) for way in ways}
    for step in chosen:
        prompts = {way: sent for way in ways if (sent := made[way][step]) is not None}
        if len(prompts) == len(ways):
            yield Case(
                run=trajectory.name,
                budget=budget,
                step=step,
                prompts=prompts,
                answer=messages[step],
                needed=frozenset(need.needs(messages[:step], messages[step])),
            )


def _prompts(
    way: str, trajectory: Trajectory, budget: int, chosen: Sequence[int]
) -> dict[int, Sequence[Message] | None]:
    """Return the prompts of one way at the chosen steps."""
    trimmer = registry.READERS[way]()
    trimmer.begin()
    steps = [step for step in trajectory.calls() if chosen and step <= chosen[-1]] if way in _HELD else chosen
    return {step: prompt(trimmer, trajectory.messages[:step], budget) for step in steps}


def scored(found: Iterator[Case], scorer: Scorer) -> Iterator[dict[str, Score]]:
    """Yield the scores of each case by way; cases that are too long for the model with any way are left out."""
    for case in found:
        text = small_model.shown(case.answer)
        scores = {way: scorer(sent, text, case.needed) for way, sent in case.prompts.items()}
        told = {way: score for way, score in scores.items() if score is not None}
        if len(told) == len(scores):
            yield told


def model_scorer(model: small_model.Llama, tokens: small_model.ChatTokens) -> Scorer:
    """Return the scorer of a model."""
    meter = brim.meter(Brim.meter)

    def score(sent: Sequence[Message], text: str, needed: frozenset[str]) -> Score | None:
        before, (answer, spans) = tokens.prompt(sent), tokens.answer(text)
        answer = answer[:_ANSWER]
        if len(before) + len(answer) > _WINDOW:
            return None
        losses = model.losses([*before, *answer], len(before))
        return summary(losses, named(text, spans[:_ANSWER], needed), meter.count_messages(sent))

    return score


def named(text: str, spans: Sequence[tuple[int, int]], needed: frozenset[str]) -> list[int]:
    """Return the tokens that hold a part of a needed name, by their number."""
    places = [found.span() for name in sorted(needed) for found in re.finditer(re.escape(name), text)]
    return [i for i, (low, high) in enumerate(spans) if any(low < end and high > start for start, end in places)]


def summary(losses: Sequence[float], hard: Sequence[int], size: int) -> Score:
    """Return the means over all tokens of an answer, over those of names, and over the dearest tenth."""
    dearest = sorted(losses, reverse=True)[: max(1, len(losses) // 10)]
    names = fmean(losses[i] for i in hard) if hard else None
    return Score(nats=fmean(losses), names=names, tail=fmean(dearest), size=size)


def difference(one: Sequence[float], other: Sequence[float]) -> tuple[float, float]:
    """Return the mean of the paired differences and its standard error."""
    found = [a - b for a, b in zip(one, other, strict=True)]
    mean = fmean(found)
    return mean, math.sqrt(fmean((each - mean) ** 2 for each in found) / len(found))


def table(budget: int, found: Sequence[Mapping[str, Score]], setting: Setting) -> Table:
    """Return the ways at one budget, the likeliest first."""
    ways = sorted(found[0], key=lambda way: fmean(row[way].nats for row in found)) if found else []
    rows: list[list[Cell]] = []
    for way in ways:
        nats = [row[way].nats for row in found]
        mean, error = difference(nats, [row[_BASE].nats for row in found])
        names = [score.names for row in found if (score := row[way]).names is not None]
        rows.append(
            [
                way,
                f"{fmean(nats):.4f}",
                f"{mean:+.4f} ± {error:.4f}",
                f"{fmean(names):.3f}" if names else None,
                f"{fmean(row[way].tail for row in found):.3f}",
                round(fmean(row[way].size for row in found)),
            ]
        )
    return Table(
        title=f"Likelihood of the next message, {budget:,} tokens, {len(found)} steps of the half '{setting.half}'",
        columns=["way", "nats a token", f"against {_BASE}", "names", "tail", "tokens of the prompt"],
        rows=rows,
        notes=[
            "Lower is better. Against: the mean of the paired differences and its standard error.",
            "A few steps tell ways apart only if they differ much; for the whole bench,"
            " `--runs 12 --steps 8 --budgets 2000 4000 5500`.",
        ],
    )
