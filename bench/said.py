"""Whether things that were said in passing are still in the prompt at the end of a long run.

The runs are our own, with known sentences at known places; see `bench/said_runs.py`. At a quarter of a run's tokens,
the share of the sentences is counted that stand in the last prompt word for word, in each provider's format.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from statistics import fmean

import brim
from bench import registry, said_formats, said_runs
from bench.outcome import Cell, Gate, Outcome, Setting, Table
from bench.said_runs import SaidRun
from bench.suite import Message
from bench.trimmers import Brim, Trimmer, prompt

WAYS = ("plain", "wrap", "session")
_RUNS = 4
"""Runs in each format."""
_SHARE = 0.25
"""The budget, as a share of the tokens of the run."""
_LIMIT = 0.95
"""The share of the sentences that must stay."""

Kept = dict[str, bool]
"""For each sentence of a run, whether the last prompt has it."""


def run(setting: Setting) -> Outcome:
    runs = [said_runs.run(seed) for seed in range(setting.runs or max(1, setting.size(_RUNS)))]
    found: dict[str, dict[str, list[Kept]]] = {}
    for format in said_formats.FORMATS:
        found[format] = {way: [kept(way, each, format, seed) for seed, each in enumerate(runs)] for way in WAYS}
        told = ", ".join(f"{way} {share(each):.3f}" for way, each in found[format].items())
        print(f"  {format}: {told}", flush=True)
    return Outcome(name="said", tables=[_by_format(found)], gates=_gates(found))


def kept(way: str, each: SaidRun, format: str, seed: int) -> Kept:
    """Return what the last prompt of one run has of what was said; one that is over its budget has nothing."""
    parts = said_formats.FORMATS[format](each.messages, Random(seed))
    whole = [message for part in parts for message in part]
    meter = brim.meter(Brim.meter)
    budget = int(meter.count_messages(whole) * _SHARE)
    sent = last_prompt(registry.READERS[way](), parts, each.messages, budget)
    shown = "\n".join(said_formats.texts(sent)) if meter.count_messages(sent) <= budget else ""
    return {sentence: sentence in shown for sentence in each.said}


def last_prompt(
    trimmer: Trimmer, parts: said_formats.Parts, messages: Sequence[Message], budget: int
) -> Sequence[Message]:
    """Return the prompt at the end of a run, after those of all calls before; nothing if the trimmer raised."""
    trimmer.begin()
    history: list[Message] = []
    for part, message in zip(parts, messages, strict=True):
        if message["role"] == "assistant":
            prompt(trimmer, list(history), budget)
        history += part
    return prompt(trimmer, history, budget) or []


def share(runs: Sequence[Kept]) -> float:
    """Return the share of all sentences of runs that were kept."""
    return fmean(value for each in runs for value in each.values())


def _by_format(found: Mapping[str, Mapping[str, Sequence[Kept]]]) -> Table:
    rows: list[list[Cell]] = [
        [format, *(f"{share(runs):.3f}" for runs in ways.values())] for format, ways in found.items()
    ]
    first = next(iter(found.values()))[WAYS[0]]
    note = (
        f"{len(first)} runs of {said_runs.STEPS} steps, {sum(map(len, first))} sentences, at a quarter of the tokens."
    )
    return Table(
        title="Things said that are still in the last prompt", columns=["format", *WAYS], rows=rows, notes=[note]
    )


def _gates(found: Mapping[str, Mapping[str, Sequence[Kept]]]) -> list[Gate]:
    return [
        Gate(name=f"said: {format}, {way}", value=share(runs), limit=_LIMIT, unit="of the sentences", at_least=True)
        for format, ways in found.items()
        for way, runs in ways.items()
    ]
