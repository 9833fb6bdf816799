"""What the agent reached for next, and whether it is still in the prompt.

At each call of a recorded run, the answer that followed names things: paths, ids, identifiers, numbers. Those that
were said before, outside the system message and the newest two messages, are what the agent needed of its past. Recall
is the share of them that the prompt holds with what stood around them on their line, so that a list of bare names is
worth nothing. Deeds are the earlier calls that the prompt still shows. Only prompts that had to be cut are measured.

The constants of the excerpts were tuned on every n-th run of each file, twelve of a file. The others are measured.
"""

from __future__ import annotations

import json
import re
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

from bench import counting, registry, trajectories
from bench.outcome import Cell, Gate, Outcome, Setting, Table
from bench.suite import Judge, Message, judge
from bench.trajectories import Trajectory
from bench.trimmers import Trimmer
from bench.worker import Broken, Silent, ask

SHARES = (0.25, 0.5)
LEAST = 2_000
"""The smallest budget."""
_READ, _WRITE = 0.1, 1.25
"""What a token costs that the provider's cache has, and one that is new."""
_AROUND = 48
"""Characters on each side that belong to a name, as far as its line goes."""
_START = 40
"""Characters of the longest argument by which a call is known."""
_TUNED = 12
"""Runs of a file that constants were tuned on."""
_RUNS = 8
"""Other runs of a file that are measured."""
_ALLOWANCE, _PATIENCE = 60, 300
"""CPU seconds that a peer may spend, and seconds without an answer after which it is given up."""
_NAME = 6
"""Characters of the shortest name."""
_WORD, _HUMP = re.compile(r"\w[\w./\-@#:]*\w"), re.compile(r"[a-z][A-Z]")
Sums = defaultdict[str, float]


def run(setting: Setting) -> Outcome:
    found = {name: _asked(name, setting) for name in registry.EVERY}
    measured = {name: sums for name, sums in found.items() if sums}
    left = [f"{name} could not be measured." for name, sums in found.items() if not sums]
    return Outcome(
        name="need",
        tables=[_table("What the next step needs, at a quarter and at half of the run", measured, left)],
        gates=_gates(measured) if setting.traces else (),
    )


def job(*, peer: str, traces: str | None, allowance: float, quick: bool) -> Iterator[dict[str, Any]]:
    """Yield the sums of each run at each share of it as budget."""
    judged = Judge(count=counting.tiktoken_count())
    trimmer = registry.EVERY[peer]()
    spent = 0.0
    for each in unseen(traces)[: 6 if quick else None]:
        for share in SHARES:
            sums = replayed(trimmer, each, share, judged)
            spent += sums["seconds"]
            yield {"share": share, **sums}
        if allowance and spent > allowance:
            return


def unseen(traces: str | None) -> list[Trajectory]:
    """Return runs that constants were not tuned on, mixed; without a folder, runs of our own."""
    if traces is None:
        return trajectories.synthetic()
    found: list[Trajectory] = []
    for path in trajectories.files(Path(traces)):
        runs = trajectories.lines(path)
        step = max(1, len(runs) // _TUNED)
        others = [each for i, each in enumerate(runs) if i % step]
        found += others[:: max(1, len(others) // _RUNS)][:_RUNS]
    Random(11).shuffle(found)
    return found


def replayed(trimmer: Trimmer, trajectory: Trajectory, share: float, judged: Judge) -> Sums:
    """Return the sums of one run: recall and deeds of the prompts that had to be cut, their fill, cost and time."""
    sizes = [judged.message(message) for message in trajectory.messages]
    budget, sums = max(LEAST, int(sum(sizes) * share)), Sums(float)
    trimmer.begin()
    last, whole = list[Message](), 0
    for length in trajectory.calls():
        history = list(trajectory.messages[:length])
        cost, whole = _cost(sum(sizes[:length]), whole), sum(sizes[:length])
        sums["whole_cost"] += cost
        sums["fits"] += 1
        start = time.process_time()
        try:
            sent = list(trimmer.give(trimmer.trim(trimmer.take(history, budget), budget)))
        except Exception:  # Whatever a peer raises, the agent has no prompt and keeps nothing.
            sums["raised"] += least(history, judged) <= budget
            sent = []
        sums["seconds"] += time.process_time() - start
        size = judged.size(sent)
        shared = sum(judged.message(now) for now in _shared(last, sent))
        sums["cost"] += _cost(size, shared)
        last = sent
        if sum(sizes[:length]) > budget and least(history, judged) <= budget:
            add(sums, _kept(history, trajectory.messages[length], sent, size / budget if size <= budget else 0.0))
            sums["over"] += size > budget
    return sums


def add(sums: Sums, more: Mapping[str, float]) -> None:
    """Add numbers to the sums of the same name."""
    for name, value in more.items():
        sums[name] += value


def _kept(history: Sequence[Message], following: Message, sent: Sequence[Message], fill: float) -> dict[str, float]:
    """Return what one prompt keeps of what the next message needs."""
    text = "\n\0".join(part for message in sent for part in judge.texts(message))
    past, wanted = _past(history), needs(history, following)
    found: dict[str, float] = {}
    if wanted:
        held = sum(any(around in text for around in surroundings(word, past)) for word in wanted)
        found |= {"steps": 1, "recall": held / len(wanted), "fill": fill}
    done = [start for message in history[:-2] for start in deeds(message)]
    if done and wanted:
        shown = [text, *(value for message in sent for value in _arguments(message))]
        found |= {"deed_steps": 1, "deeds": sum(any(start in each for each in shown) for start in done) / len(done)}
    return found


def names(text: str) -> set[str]:
    """Return the words of a text that name something: six characters, with a digit, a joint or a hump."""
    words = {word.rstrip(".:-") for word in _WORD.findall(text)}
    return {
        word
        for word in words
        if len(word) >= _NAME and (any(c.isdigit() or c in "_/#@." for c in word) or _HUMP.search(word))
    }


def needs(history: Sequence[Message], following: Message) -> set[str]:
    """Return what a message names that stands in the past, but not in the system message or the newest two."""
    past = _past(history)
    near = "\n".join(
        part
        for i, message in enumerate(history)
        if message["role"] == "system" or i >= len(history) - 2
        for part in judge.texts(message)
    )
    named = {word for part in judge.texts(following) for word in names(part)}
    return {word for word in named if word not in near and any(word in part for part in past)}


def _past(history: Sequence[Message]) -> list[str]:
    """Return the texts before the newest two messages, without those of the system."""
    return [part for message in history[:-2] if message["role"] != "system" for part in judge.texts(message)]


def surroundings(word: str, texts: Sequence[str]) -> Iterator[str]:
    """Yield each place of a word with what stands around it on its line."""
    for text in texts:
        at = text.find(word)
        while at >= 0:
            line, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
            low, high = max(line, at - _AROUND), min(len(text) if end < 0 else end, at + len(word) + _AROUND)
            yield text[low:high].rstrip()
            at = text.find(word, at + 1)


def deeds(message: Message) -> Iterator[str]:
    """Yield the start of the longest argument of each call of a message."""
    for call in message.get("tool_calls") or ():
        longest = max(_texts(call), key=len, default="")[:_START]
        if len(longest) >= _NAME:
            yield longest


def _arguments(message: Message) -> Iterator[str]:
    for call in message.get("tool_calls") or ():
        yield from _texts(call)


def _texts(call: Mapping[str, Any]) -> list[str]:
    """Return the texts among the arguments of a call."""
    try:
        values = json.loads(call["function"]["arguments"])
    except ValueError:
        return []
    return [value for value in values.values() if isinstance(value, str)] if isinstance(values, dict) else []


def least(history: list[Message], judged: Judge) -> int:
    """Return the tokens of what has to stay: the system messages, the task, the newest turn."""
    task, start = judge.task(history), judge.turns(history)[-1][0]
    kept = [message for message in history if message["role"] == "system"] + history[start:]
    kept += [task] if task and all(task is not each for each in kept) else []
    return int(judged.size(kept))


def _shared(last: Sequence[Message], sent: Sequence[Message]) -> Iterator[Message]:
    for before, now in zip(last, sent, strict=False):
        if before is not now and before != now:
            return
        yield now


def _cost(size: int, cached: int) -> float:
    return _READ * min(size, cached) + _WRITE * max(0, size - cached)


def _asked(peer: str, setting: Setting) -> dict[float, Sums]:
    """Return the sums of one trimmer by share; nothing if it cannot be measured."""
    sums: dict[float, Sums] = {}
    allowance = setting.size(_ALLOWANCE) if registry.EVERY[peer] in registry.PEERS else 0
    traces = str(setting.traces) if setting.traces else None
    try:
        for answer in ask("need", _PATIENCE, peer=peer, traces=traces, allowance=allowance, quick=setting.quick):
            add(sums.setdefault(answer.pop("share"), Sums(float)), answer)
    except (Silent, Broken) as error:
        print(f"  {peer}: {error}", flush=True)
    told = " / ".join(f"{_figures(sums[share])['recall']:.3f}" for share in sums)
    print(f"  {peer}: recall {told}", flush=True)
    return sums


def _figures(sums: Mapping[str, float]) -> dict[str, float]:
    """Return the means of the sums."""
    steps = max(1, sums.get("steps", 0))
    return {
        "recall": sums.get("recall", 0) / steps,
        "deeds": sums.get("deeds", 0) / max(1, sums.get("deed_steps", 0)),
        "fill": sums.get("fill", 0) / steps,
        "cost": sums.get("cost", 0) / max(1e-9, sums.get("whole_cost", 0)),
        "ms": 1_000 * sums.get("seconds", 0) / max(1, sums.get("fits", 0)),
        "over": sums.get("over", 0) + sums.get("raised", 0),
    }


def _table(title: str, found: Mapping[str, Mapping[float, Sums]], notes: Sequence[str]) -> Table:
    columns = ["way", "recall", "deeds", "fill", "cached cost", "CPU ms", "over or raised"]
    rows: list[list[Cell]] = []
    for name, sums in found.items():
        told = [_figures(sums[share]) for share in SHARES if share in sums]
        shown = (("recall", ".3f"), ("deeds", ".3f"), ("fill", ".2f"), ("cost", ".3f"), ("ms", ".2f"), ("over", ".0f"))
        rows.append([name, *(" / ".join(f"{each[figure]:{form}}" for each in told) for figure, form in shown)])
    steps = max((sum(each["steps"] for each in sums.values()) for sums in found.values()), default=0)
    return Table(title=title, columns=columns, rows=rows, notes=[f"{steps:,.0f} prompts that had to be cut.", *notes])


_LIMITS = {
    "brim History": {"recall": (0.88, 0.93), "deeds": (0.95, 0.97), "fill": (0.95, 0.95)},
    "brim.wrap": {"recall": (0.86, 0.92), "deeds": (0.90, 0.97), "fill": (0.85, 0.85), "cost": (0.90, 1.05)},
    "brim.Session": {"recall": (0.86, 0.92), "deeds": (0.90, 0.97), "fill": (0.85, 0.85), "cost": (0.90, 1.05)},
}


def _gates(found: Mapping[str, Mapping[float, Sums]]) -> list[Gate]:
    gates = []
    for name, limits in _LIMITS.items():
        for figure, pair in limits.items():
            for share, limit in zip(SHARES, pair, strict=True):
                value = _figures(found.get(name, {}).get(share, {}))[figure]
                told = f"need: {name}, {figure} at {share:.0%}"
                gates.append(Gate(name=told, value=value, limit=limit, unit="", at_least=figure != "cost"))
    return gates
