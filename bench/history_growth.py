"""What one fit costs as a history grows from 10 to 10,000 messages, and the next one after one more exchange.

Each trimmer has a process of its own for each size, and is ended if it does not answer.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

from bench import clock, corpus, peers, registry, trajectories, trimmers
from bench.outcome import Cell, Gate, Outcome, Plot, Setting, Table
from bench.suite import Judge, Message, judge
from bench.trimmers import BrimHistory, Peer, StableBrimHistory
from bench.worker import Broken, Silent, ask

NUMBERS = (10, 100, 1_000, 10_000)
_EXCHANGES = 9
"""How many exchanges are added, one after the other; the median of their fits is reported."""
_SHARE = 0.25
"""The budget, as a share of the history's size."""
_PATIENCE = 150
"""Seconds that a trimmer has for one answer."""


def job(peer: str, traces: str | None, count: int, number: int) -> Iterator[dict[str, Any]]:
    """Yield the CPU seconds of tiktoken's pass and of the first fit, then of the next fits."""
    runs = trajectories.given(Path(traces) if traces else None, count)
    gc.collect()
    gc.freeze()  # The runs are the benchmark's; the history that is made of them is not frozen.
    history = trajectories.end_to_end(runs, number + 4 * _EXCHANGES)
    cut = next(end for _, end in judge.turns(history) if end >= number)
    count_one = peers.tiktoken_count()
    texts = [text for message in history[:cut] for text in judge.texts(message)]
    once = min(clock.once(_passed, (count_one, texts))[0] for _ in range(2))
    judged = Judge(count=count_one)
    budget = max(int(judged.size(history[:cut]) * _SHARE), 2 * judged.size(judge.leading(list(history[:cut]))))
    trimmer = registry.every()[peer].make()
    trimmer.begin()
    _warm(trimmer, judged)
    trimmer.begin()
    yield {"once": once, "messages": cut}
    yield {"first": _fit(trimmer, history[:cut], budget)}
    following, used = [], 0.0
    ends = [end for _, end in judge.turns(history) if end > cut][1 : 2 * _EXCHANGES : 2]
    for end in ends:
        following.append(_fit(trimmer, history[:end], budget))
        used += following[-1]
        if used > 2:
            break
    yield {"next": statistics.median(following)}


def _passed(given: Any) -> int:
    count, texts = given
    return sum(map(count, texts))


def _warm(trimmer: trimmers.Trimmer, judged: Judge) -> None:
    """Have the trimmer load what it needs, on texts that are not measured: loading is no part of a fit."""
    for make in corpus.KINDS.values():
        text = make(Random(1))
        small = (*trajectories.synthetic(1)[0].messages[:8], {"role": "user", "content": text})
        for budget in (2 * judged.size(small), judged.size(small[:2]) + judged.text(text) // 2):
            trimmer.begin()
            with suppress(Exception):
                _fit(trimmer, small, budget)


def _fit(trimmer: trimmers.Trimmer, messages: tuple[Message, ...], budget: int) -> float:
    taken = trimmer.take(messages, budget)
    start = time.process_time()
    trimmer.trim(taken, budget)
    return time.process_time() - start


def measured(setting: Setting) -> Outcome:
    """Return how every trimmer grows."""
    numbers = NUMBERS[:3] if setting.quick else NUMBERS
    rows: list[list[Cell]] = []
    lines: dict[str, list[tuple[float, float]]] = {}
    found: dict[str, dict[int, dict[str, float]]] = {}
    for peer in (*registry.own(), *registry.references()[1:], *registry.others()):
        told = found[peer.name] = _grown(peer, numbers, setting)
        lines[peer.name] = [(number, 1e3 * told[number]["first"]) for number in numbers if "first" in told[number]]
        rows.append(_row(peer.name, told, numbers))
        shown = ", ".join(f"{cell:.3g}" if isinstance(cell, float) else str(cell) for cell in rows[-1][1:])
        print(f"  growth of {peer.name}: {shown}", flush=True)
    table = Table(
        title="One fit of a long history, against one tiktoken pass over it",
        columns=[
            "trimmer",
            *(f"n={number:,}" for number in numbers),
            f"{numbers[-2]:,} to {numbers[-1]:,}",
            f"next fit at {numbers[-1]:,}, CPU ms",
        ],
        rows=rows,
        notes=[
            "Runs end to end, ids made unique; the budget is a quarter of the size, or twice the system message. The"
            f" first fit is the first that sees these texts; the next is the median of up to {_EXCHANGES} exchanges.",
            "The growth is that of the first fit's CPU; that of the tiktoken pass itself is"
            f" {_pass_growth(found, numbers):.1f}.",
        ],
    )
    plot = Plot(
        name="histories-growth",
        title="One fit of a long history",
        x_label="messages",
        y_label="CPU ms",
        lines={name: points for name, points in lines.items() if points},
    )
    gates = [] if setting.quick else _gates(found)
    return Outcome(name="growth", tables=[table], gates=gates, plots=[plot])


def _grown(peer: Peer, numbers: tuple[int, ...], setting: Setting) -> dict[int, dict[str, float]]:
    """Return the measured seconds by size; what gives no answer is not asked for more."""
    patience = setting.size(_PATIENCE)
    told: dict[int, dict[str, Any]] = {number: {} for number in numbers}
    for number in numbers:
        try:
            for answer in ask(
                "history_growth",
                patience,
                peer=peer.name,
                traces=str(setting.traces) if setting.traces else None,
                count=setting.size(120),
                number=number,
            ):
                told[number] |= answer
        except Silent:
            told[number]["note"] = f"no answer in {patience} s"
            break
        except Broken as error:
            told[number]["note"] = str(error)[:60]
    return told


def _row(name: str, told: dict[int, dict[str, Any]], numbers: tuple[int, ...]) -> list[Cell]:
    ratios: list[Cell] = [
        told[number]["first"] / told[number]["once"] if "first" in told[number] else told[number].get("note", "-")
        for number in numbers
    ]
    last = told[numbers[-1]]
    following = 1e3 * last["next"] if "next" in last else None
    return [name, *ratios, growth(told, numbers[-2], numbers[-1]), following]


def growth(told: dict[int, dict[str, Any]], small: int, big: int) -> float | None:
    """Return how many times the CPU of a fit grows while the history grows tenfold."""
    if "first" not in told[small] or "first" not in told[big]:
        return None
    return float(told[big]["first"] / told[small]["first"])


def _pass_growth(found: dict[str, dict[int, dict[str, float]]], numbers: tuple[int, ...]) -> float:
    """Return how many times tiktoken's pass grows between the two biggest sizes: messages differ in length."""
    small, big = numbers[-2:]
    grown = [told[big]["once"] / told[small]["once"] for told in found.values() if "once" in told[big]]
    return statistics.median(grown) if grown else float("nan")


def _gates(found: dict[str, dict[int, dict[str, float]]]) -> list[Gate]:
    gates = []
    nothing = float("nan")
    for kind in (BrimHistory, StableBrimHistory):
        told, big = found[kind.name], NUMBERS[-1]
        first = told[big]["first"] / told[big]["once"] if "first" in told[big] else nothing
        grown = growth(told, NUMBERS[-2], big)
        gates += [
            Gate(name=f"{kind.name}: first fit of {big:,}", value=first, limit=0.5, unit="of a tiktoken pass"),
            Gate(
                name=f"{kind.name}: next fit at {big:,}",
                value=1e3 * told[big].get("next", nothing),
                limit=1,
                unit="ms CPU",
            ),
            Gate(
                name=f"{kind.name}: growth to {big:,}",
                value=nothing if grown is None else grown,
                limit=12,
                unit="times",
            ),
        ]
    return gates
