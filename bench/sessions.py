"""A session of 5,000 turns: every prompt fits, and neither what a turn costs nor what a session holds grows.

A turn is a question, a call, its result and an answer, written to a store, and the prompt for the next call. Turns in
which the conversation is compacted are rare and dear, so the median tells what a turn costs and the mean what it costs
with its share of them.
"""

from __future__ import annotations

import statistics
import sys
import time
from random import Random
from typing import Any

import brim
from bench.outcome import Cell, Gate, Outcome, Setting, Table
from brim.sessions import Session

TURNS = 5_000
_WINDOW = brim.Window(32_000, cap=0.5, warn=0.4)
_METER = "o200k_base"
_PARTS = 10
"""Rows of the table: the last tenth of the turns is compared with the first."""
_MOST = 1.5


def run(setting: Setting) -> Outcome:
    turns = setting.size(TURNS)
    times, over, told = _talked(turns)
    part = turns // _PARTS
    rows: list[list[Cell]] = []
    for stop in range(part, turns + 1, part):
        spent = times[stop - part : stop]
        rows.append([f"{stop:,}", 1000 * statistics.median(spent), 1000 * statistics.mean(spent)])
    first, last = (statistics.median(times[at : at + part]) for at in (0, turns - part))
    growth = _growth(turns // 10)
    table = Table(
        title=f"Milliseconds of a turn, {turns:,} turns, a prompt after each",
        columns=["up to turn", "median", "mean"],
        rows=rows,
        notes=[
            f"{told.compactions:,} compactions, {told.warnings:,} warnings, peak {told.peak:,} of {told.budget:,}.",
            "The store is SQLite in memory: what a disk adds to each write is not in here.",
        ],
    )
    return Outcome(
        name="sessions",
        tables=[table],
        gates=[
            Gate(name="sessions: prompts over the budget", value=over, limit=0, unit="prompts"),
            Gate(name="sessions: the last tenth of the turns by the first", value=last / first, limit=_MOST, unit="x"),
            Gate(name="sessions: what is held after three times the turns", value=growth, limit=_MOST, unit="x"),
        ],
    )


def _talked(turns: int) -> tuple[list[float], int, brim.Status]:
    """Return the seconds of each turn, how many prompts were over, and the status at the end."""
    times, over = [], 0
    with brim.open_store("sqlite:///:memory:") as store:
        session = Session(_WINDOW, meter=_METER, store=store)
        for number in range(turns):
            messages = _turn(number)
            began = time.perf_counter()
            session.add(messages)
            fitted = session.prompt(system="You are a careful engineer.")
            times.append(time.perf_counter() - began)
            over += fitted.used > fitted.budget
        return times, over, session.status()


def _growth(turns: int) -> float:
    """Return how much more a session holds after three times as many turns, each time just after a compaction.

    The store's own memory is not in it, nor what the process remembers about texts, which is bounded for itself.
    """
    held = []
    with brim.open_store("sqlite:///:memory:") as store:
        session = Session(_WINDOW, meter=_METER, store=store)
        for number in range(3 * turns):
            session.add(_turn(number))
            session.prompt(system="You are a careful engineer.")
            if number + 1 in (turns, 3 * turns):
                session.compact()
                held.append(_size(vars(session), {id(store), id(session.meter)}))
    return held[1] / held[0]


def _size(value: Any, seen: set[int]) -> int:
    """Return the bytes of a value and of all that it refers to."""
    if id(value) in seen:
        return 0
    seen.add(id(value))
    total = sys.getsizeof(value)
    if isinstance(value, dict):
        return total + sum(_size(key, seen) + _size(each, seen) for key, each in value.items())
    if isinstance(value, list | tuple | set):
        return total + sum(_size(each, seen) for each in value)
    slots = [getattr(value, name, None) for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
    return total + sum(_size(each, seen) for each in (*slots, *getattr(value, "__dict__", {}).values()))


def _turn(number: int) -> list[dict[str, Any]]:
    random = Random(number)
    call = {"id": f"c{number}", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    asked = f"Question {number}: why did build {number * 7} fail? " + "word " * random.randint(1, 40)
    return [
        {"role": "user", "content": asked},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": f"/srv/m{number}.py: line\n" * random.randint(1, 30)},
        {"role": "assistant", "content": f"We decided to use queue {number}. " + "answer " * random.randint(1, 40)},
    ]
