"""Whether a reader, and so a model, can go on from a prompt: what stays of older turns, looked at as text.

The figures are shares over all prompts that had to be cut, at a quarter of each run:

words    short texts (8 to 120 tokens) of the agent and the user that stand whole in the prompt
torn     lines of the prompt that are no whole line of a message that they come from
hollow   results shown with nothing but a mark
altered  calls shown whose arguments are not what was called
after    tokens of the prompt just after the first cut, as a share of the budget

A line in brackets is a mark. The newest message of a prompt is not looked at. A long value of a call that is replaced
by a mark counts as altered, and a few of those are right.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import brim
from bench import counting, need, registry, trajectories
from bench.need import Sums, add
from bench.outcome import Cell, Gate, Outcome, Setting, Table
from bench.suite import Judge, Message, judge
from bench.trajectories import Trajectory
from bench.trimmers import Brim, Trimmer, prompt

_RUNS = 8
"""Runs of each file."""
_SHARE, _LEAST = 0.25, 3_000
"""The budget as a share of the run, and the smallest in tokens."""
_SHORT = range(8, 121)
"""Tokens of a short text. Shorter ones say little, and longer ones may be shortened."""
_LINE = 8
"""Characters of a line that can be told from others."""
_MARK = re.compile(r"\s*(…|\.\.\.|\[[^\]]*\]|<[^>]*>)?\s*")
_NOTE = "[CONTEXT"
"""How the note begins that says that something was omitted."""
_OWN = ("plain", "wrap", "session")
_LIMITS = {"words": 0.90, "torn": 0.0, "hollow": 0.15, "altered": 0.03, "after": 0.60}
_AT_LEAST = ("words", "after")


def run(setting: Setting) -> Outcome:
    groups = trajectories.sample(setting, setting.runs or max(1, setting.size(_RUNS)))
    runs = [each for group in groups.values() for each in group]
    found: dict[str, Sums] = {}
    for name, kind in registry.READERS.items():
        found[name] = measured(kind(), runs)
        print(f"  {name}: words {figures(found[name])['words']:.3f}", flush=True)
    return Outcome(
        name="readable", tables=[_table(found, len(runs), setting)], gates=_gates(found) if setting.traces else ()
    )


def measured(trimmer: Trimmer, runs: Sequence[Trajectory]) -> Sums:
    """Return the sums over the prompts of runs that had to be cut."""
    meter, judged = brim.meter(Brim.meter), Judge(count=counting.tiktoken_count())
    sums = Sums(float)
    for each in runs:
        budget = max(_LEAST, int(meter.count_messages(each.messages) * _SHARE))
        trimmer.begin()
        first = True
        for length in each.calls():
            history = list(each.messages[:length])
            sent = prompt(trimmer, history, budget)
            if not meter.count_messages(history) > budget >= need.least(history, judged):
                continue
            size = meter.count_messages(sent or ())
            add(sums, {"steps": 1, "raised": sent is None, "over": size > budget})
            add(sums, look(history, sent or [], meter))
            if first:
                add(sums, {"first": 1, "after": min(1, size / budget)})
            first = False
    return sums


def look(history: Sequence[Message], sent: Sequence[Message], meter: brim.Meter) -> Sums:
    """Return what one prompt shows of a history, as counts."""
    sums = Sums(float)
    whole = "\n".join(map(judge.body, sent))
    for message in history[: judge.turns(history)[-1][0]]:
        text = judge.body(message).strip()
        if message["role"] in ("assistant", "user") and meter.count(text) in _SHORT:
            add(sums, {"said": 1, "words": text in whole})
    lines = {line.rstrip() for message in history for line in judge.body(message).split("\n")}
    calls = {call["id"]: call["function"]["arguments"] for m in history for call in m.get("tool_calls") or ()}
    for message in sent[:-1]:
        text = judge.body(message)
        if text.startswith(_NOTE):
            continue
        shown = [line for line in text.split("\n") if not _MARK.fullmatch(line)]
        if message["role"] == "tool":
            add(sums, {"results": 1, "hollow": not shown})
        told = [line.rstrip() for line in shown if len(line.strip()) >= _LINE]
        add(sums, {"lines": len(told), "torn": sum(line not in lines for line in told)})
        made = [call for call in message.get("tool_calls") or () if call["id"] in calls]
        altered = sum(call["function"]["arguments"] != calls[call["id"]] for call in made)
        add(sums, {"calls": len(made), "altered": altered})
    return sums


def figures(sums: Mapping[str, float]) -> dict[str, float]:
    """Return the shares of the sums."""
    whole = {"words": "said", "torn": "lines", "hollow": "results", "altered": "calls", "after": "first"}
    return {name: sums.get(name, 0) / max(1, sums.get(of, 0)) for name, of in whole.items()}


def _table(found: Mapping[str, Sums], runs: int, setting: Setting) -> Table:
    rows: list[list[Cell]] = [
        [
            name,
            *(f"{value:.3f}" for value in figures(sums).values()),
            *(int(sums[name]) for name in ("steps", "over", "raised")),
        ]
        for name, sums in found.items()
    ]
    return Table(
        title="What a reader finds of older turns",
        columns=["way", *_LIMITS, "prompts", "over", "raised"],
        rows=rows,
        notes=[f"{runs} runs of the half '{setting.half}', at a quarter of each, {_LEAST:,} tokens at least."],
    )


def _gates(found: Mapping[str, Sums]) -> list[Gate]:
    gates = []
    for way in _OWN:
        for name, value in figures(found[way]).items():
            told = round(value, 2) if name == "torn" else value
            gate = Gate(
                name=f"readable: {way}, {name}", value=told, limit=_LIMITS[name], unit="", at_least=name in _AT_LEAST
            )
            gates.append(gate)
    return gates
