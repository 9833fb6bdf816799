"""How many facts of other people's conversations survive five contexts, each of which hands over a continuation alone.

The conversations are those of the `locomo*.jsonl` files in the folder of traces, which `bench.recall` describes. Each
session is a context, five in a row are a run. The facts are what its authors ask about: questions whose answer stands
word for word in the turns that they name as evidence. A fact survives if all words of its answer stand in lines of
the last text that come from that evidence.

The recorded agent runs of the folder are cut into five contexts, and ten such facts are planted in each, a sentence
each, said by the agent between its calls. Nothing of what is read is stored. At last a loop makes 10,000 steps of
results that nobody has read when its context is full, and each has to be in a prompt.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import brim
from bench import trajectories
from bench.outcome import Cell, Gate, Outcome, Setting, Table
from bench.suite import Message, judge
from brim.history.compact.continuation import AS_ABOVE, Continuation, continuation
from brim.history.compact.lines import sentences
from brim.meter.words import terms

CONTEXTS, PLANTED = 5, 10
STEPS = 10_000
LIMITS = (750, 1_000, 1_500, 3_000)
_GATED, _LEAST = 1_500, 0.80
_METER = "o200k_base"
_RESULT = re.compile(r"RESULT (\d{1,9}):")
_ANSWERABLE = (1, 2, 4)
"""The kinds of questions that have an answer in the text."""
_FROM = 0.6
"""The part of a line's words that stand in the evidence if the line comes from it."""
_RUNS = 60
"""Recorded runs in which facts are planted."""


@dataclass(frozen=True, slots=True)
class AskedFact:
    """A fact that somebody asks for: the words of its answer, and the turns that hold it."""

    answer: frozenset[str]
    evidence: tuple[str, ...]

    def survives(self, text: str) -> bool:
        """Return whether a text has the answer, in lines that come from the evidence."""
        told = [set(terms(turn)) for turn in self.evidence]
        found: set[str] = set()
        for line in text.split("\n"):
            words = set(terms(line))
            if words and any(len(words & turn) >= _FROM * len(words) for turn in told):
                found |= words
        return self.answer <= found


@dataclass(frozen=True, slots=True)
class FactRun:
    """The messages of five contexts, and the facts in them."""

    contexts: Sequence[Sequence[Any]]
    facts: Sequence[AskedFact]
    goal: str = AS_ABOVE
    """The task, which stands above the text."""


def run(setting: Setting) -> Outcome:
    talks = list(_talks(setting.traces))
    runs = {"LoCoMo, a session a context": [each for talk in talks for each in _sessions(talk)]}
    if setting.traces and talks:
        recorded = [each for each in trajectories.read(setting.traces) if len(each.messages) > 4 * CONTEXTS]
        step = max(1, len(recorded) // (_RUNS // 10 if setting.quick else _RUNS))
        runs["agent runs, ten facts planted"] = list(_planted(recorded[::step], talks))
    rows: list[list[Cell]] = []
    gates = []
    for name, every in runs.items():
        each = every[::10] if setting.quick else every
        total = sum(len(one.facts) for one in each)
        shares = {limit: _share(each, limit) for limit in LIMITS} if each else {}
        rows.append([name, len(each), total, *(100 * share for share in shares.values())])
        rows.append([f"{name}: newest messages", len(each), total, *(100 * _newest(each, limit) for limit in shares)])
        if each:
            told = f"continuation: facts of others that survive {CONTEXTS} contexts in {_GATED:,} tokens, {name}"
            gates.append(Gate(name=told, value=shares[_GATED], limit=_LEAST, unit="of the facts", at_least=True))
    notes = [] if talks else ["There is no locomo*.jsonl file in the folder of --traces, so nothing was measured."]
    columns = ["conversations", "runs", "facts", *(f"{limit:,}" for limit in LIMITS)]
    title = f"Facts in the text after {CONTEXTS} contexts, percent, by its limit"
    table = Table(title=title, columns=columns, rows=rows if talks else [], notes=notes)
    steps = setting.size(STEPS)
    unread, contexts = _unread(steps)
    told = "Results of calls that were in no prompt"
    read = Table(title=told, columns=["steps", "contexts", "unread"], rows=[[steps, contexts, unread]])
    gates.append(Gate(name=f"continuation: results unread in {STEPS:,} steps", value=unread, limit=0, unit="results"))
    return Outcome(name="continuation", tables=[table, read], gates=gates)


def _unread(steps: int) -> tuple[int, int]:
    """Return how many results of a loop were in no prompt, and how many contexts it had."""
    random, seen, made = Random(1), set[int](), 0

    def act(tick: brim.Tick) -> brim.Step:
        nonlocal made
        last = [str(message.get("content")) for message in tick.messages if message["role"] == "tool"]
        seen.update(int(found[1]) for text in last if (found := _RESULT.match(text)))
        made += 1
        calls = [f"c{made}-{i}" for i in range(random.choice((1, 1, 1, 2, 4)))]
        said = [{"id": each, "type": "function", "function": {"name": "read", "arguments": "{}"}} for each in calls]
        text = f"RESULT {made}: " + "a line of code. " * int(random.lognormvariate(3, 1.2))
        answers = [{"role": "tool", "tool_call_id": each, "content": text} for each in calls]
        messages = [{"role": "assistant", "content": None, "tool_calls": said}, *answers]
        return brim.Step(messages=messages, end="goal" if made > steps else "continue")

    window = brim.Window(20_000)
    loop = brim.Loop(
        "Read all.", act, window=window, meter="chars/4", tick_cap=0.15, max_steps=2 * steps, max_sub_ticks=steps
    )
    outcome = loop.run()
    return len(set(range(1, steps + 1)) - seen), outcome.sub_ticks + 1


def _share(runs: Sequence[FactRun], limit: int) -> float:
    """Return the share of all facts that are in the last hand-over."""
    found = total = 0
    for each in runs:
        text = handed_over(each, limit)
        found += sum(fact.survives(text) for fact in each.facts)
        total += len(each.facts)
    return found / max(1, total)


def _newest(runs: Sequence[FactRun], limit: int) -> float:
    """Return the share of all facts in the newest messages: what is kept if nothing is extracted."""
    meter, found, total = brim.meter(_METER), 0, 0
    for each in runs:
        texts = [str(message.get("content") or "") for context in each.contexts for message in context]
        text = meter.tail("\n".join(texts), limit)
        found += sum(fact.survives(text) for fact in each.facts)
        total += len(each.facts)
    return found / max(1, total)


def handed_over(run: FactRun, limit: int) -> str:
    """Return the text with which the context after the last would begin, below the goal."""
    meter = brim.meter(_METER)
    known: Continuation | None = None
    for messages in run.contexts:
        known = continuation(messages, goal=AS_ABOVE, meter=meter, limit=limit, previous=known)
    text = "" if known is None else known.text(meter, limit, run.goal)
    if meter.count(text) > limit:
        raise AssertionError(f"a hand-over of {meter.count(text):,} tokens is over {limit:,}")
    return text


def _talks(folder: Path | None) -> Iterator[dict[str, Any]]:
    for path in sorted(folder.glob("locomo*.jsonl*")) if folder else ():
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
            yield from map(json.loads, lines)


def _asked(talk: dict[str, Any]) -> Iterator[tuple[AskedFact, list[dict[str, Any]]]]:
    """Yield the facts of a conversation whose answer stands in their evidence, each with the turns of it."""
    turns = {turn["dia_id"]: turn for turn in talk["turns"]}
    for row in talk["qa"]:
        evidence = [turns.get(name) for name in row["evidence"]]
        found = [turn for turn in evidence if turn is not None]
        answer = frozenset(terms(str(row.get("answer", ""))))
        if row["category"] in _ANSWERABLE and answer and found and len(found) == len(evidence):
            texts = tuple(turn["text"] for turn in found)
            if answer <= {word for text in texts for word in terms(text)}:
                yield AskedFact(answer, texts), found


def _sessions(talk: dict[str, Any]) -> Iterator[FactRun]:
    """Yield runs of five sessions in a row, with the facts that lie within them."""
    asked = list(_asked(talk))
    numbers = sorted({turn["session"] for turn in talk["turns"]})
    for first in range(0, len(numbers) - CONTEXTS + 1, CONTEXTS):
        chosen = numbers[first : first + CONTEXTS]
        facts = [fact for fact, turns in asked if all(turn["session"] in chosen for turn in turns)]
        contexts = [[_said(talk, turn) for turn in talk["turns"] if turn["session"] == number] for number in chosen]
        yield FactRun(contexts, facts)


def _said(talk: dict[str, Any], turn: dict[str, Any]) -> Message:
    return {"role": "user" if turn["speaker"] == talk["speakers"][0] else "assistant", "content": turn["text"]}


def _planted(recorded: Sequence[trajectories.Trajectory], talks: Sequence[dict[str, Any]]) -> Iterator[FactRun]:
    """Yield recorded runs in five contexts with facts of the conversations between their turns."""
    pool = [(fact, line) for talk in talks for fact, _ in _asked(talk) if (line := _sentence(fact))]
    for number, each in enumerate(recorded):
        random = Random(number)
        chosen = random.sample(pool, PLANTED)
        body = each.messages[len(judge.leading(list(each.messages))) :]
        spans = list(judge.turns(body))
        contexts: list[list[Any]] = []
        for part in range(CONTEXTS):
            mine = spans[len(spans) * part // CONTEXTS : len(spans) * (part + 1) // CONTEXTS]
            lines = [line for _, line in chosen[part * PLANTED // CONTEXTS : (part + 1) * PLANTED // CONTEXTS]]
            after = sorted(random.sample(range(len(mine)), min(len(lines), len(mine))))
            made: list[Any] = []
            for at, (start, end) in enumerate(mine):
                made += body[start:end]
                if at in after:
                    made.append({"role": "assistant", "content": lines[after.index(at)]})
            contexts.append(made)
        goal = next((str(message["content"]) for message in body if message["role"] == "user"), AS_ABOVE)
        yield FactRun(contexts, [AskedFact(fact.answer, (line,)) for fact, line in chosen], goal)


def _sentence(fact: AskedFact) -> str | None:
    """Return the one sentence that holds an answer, or `None` if it takes several."""
    if len(fact.evidence) > 1:
        return None
    return next((each for each in sentences(fact.evidence[0]) if fact.answer <= set(terms(each))), None)
