"""How the cost of long runs grows: many turns, many conversations.

Each case is measured at three sizes or more, in a process of its own and in CPU time of that process, so that other
programs on the machine change little. The exponent is the slope between the logarithms of size and cost: 0 costs the
same at any length, 1 grows as the run does. The constant is the cost at the smallest size.
"""

from __future__ import annotations

import gc
import json
import os
import statistics
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import brim
from bench import clock, gateway
from bench.outcome import Cell, Gate, Outcome, Setting, Table, exponent
from bench.suite import Message
from bench.worker import Broken, Silent, ask
from brim.store import Store

METER = "o200k_base"
WINDOW, BUDGET = 32_000, 16_000
_SYSTEM = "You are a careful engineer."
_TURNS, _ONCE, _WINDOWS = (300, 1_000, 5_000, 20_000), (1_000, 5_000, 20_000), (8_000, 200_000, 1_000_000)
_AROUND = 31
"""Turns whose median is what a turn costs there."""
_BULK = 50
"""Turns that come at once before those that are measured: what is done once is measured at multiples of it."""
_FLAT, _LINEAR = 0.15, 1.05
_ONLY = os.environ.get("BRIM_GROWTH", "")
_PATIENCE = 1_800
"""Seconds that one size of a case may take."""

Points = Iterator[tuple[int, float]]
"""Sizes, each with what was measured there."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """One thing whose cost may grow, and the limits that it is held to."""

    name: str
    of: str
    """What the size counts: turns, tools, conversations."""
    sizes: Sequence[int]
    measure: Callable[[Sequence[int]], Points]
    """Yields what each size costs, in ascending order."""
    unit: str = "ms"
    """The unit of what is measured; CPU unless it says otherwise."""
    exponent: float | None = None
    """The most that the exponent may be; `None` if the case has no such limit."""
    most: float | None = None
    """The most at the largest size."""
    about: str


def run(setting: Setting) -> Outcome:
    """Measure every case, or those whose names have a part of `BRIM_GROWTH`."""
    rows: list[list[Cell]] = []
    gates: list[Gate] = []
    chosen = [case for case in CASES if any(name in case.name for name in _ONLY.split(","))]
    most = max(len(case.sizes) for case in chosen)
    for case in chosen:
        points, note = _measured(case, setting)
        grown = exponent(points) if len(points) > 1 and all(value > 0 for _, value in points) else None
        cells: list[Cell] = [f"{size:,}: {value:.3g}" for size, value in points]
        limits = [f"exponent {case.exponent:g}"] if case.exponent is not None else []
        limits += [f"{case.most:g} {case.unit}"] if case.most is not None else []
        cells = [*cells, note or None, *[None] * most][:most]
        rows.append([case.name, case.of, *cells, case.unit, grown, ", ".join(limits)])
        print(f"  {rows[-1]}", flush=True)
        nothing = float("nan")
        if case.exponent is not None:
            value = nothing if grown is None else grown
            gates.append(Gate(name=f"{case.name}: exponent", value=value, limit=case.exponent, unit=""))
        if case.most is not None:
            value = points[-1][1] if points else nothing
            gates.append(Gate(name=case.name, value=value, limit=case.most, unit=case.unit))
    columns = ["case", "size", *(f"at size {i + 1}" for i in range(most)), "unit", "exponent", "limit"]
    notes = [f"{case.name}: {case.about}" for case in chosen]
    return Outcome(
        name="growth", tables=[Table(title="What grows, and how", columns=columns, rows=rows, notes=notes)], gates=gates
    )


def _measured(case: Case, setting: Setting) -> tuple[list[tuple[int, float]], str]:
    """Return the points of a case, and why there are no more of them."""
    sizes = sorted({max(1, setting.size(size)) for size in case.sizes})
    points: list[tuple[int, float]] = []
    try:
        answers = ask("growth", _PATIENCE, case=case.name, sizes=sizes)
        points.extend((answer["size"], answer["value"]) for answer in answers)
    except (Silent, Broken) as error:
        return points, str(error)[:80]
    return points, ""


def job(case: str, sizes: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Yield what a case costs at each size."""
    gc.collect()
    gc.freeze()
    [chosen] = [each for each in CASES if each.name == case]
    for size, value in chosen.measure(sizes):
        yield {"size": size, "value": value}


def turn(number: int) -> list[Message]:
    """Return the messages of one turn: a question, a call, its result and an answer."""
    random = Random(number)
    call = {"id": f"c{number}", "type": "function", "function": {"name": "read", "arguments": f'{{"n": {number}}}'}}
    asked = f"Question {number}: why did build {number * 7} fail? " + "word " * random.randint(1, 30)
    return [
        {"role": "user", "content": asked},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": f"/srv/m{number}.py: line\n" * random.randint(1, 20)},
        {"role": "assistant", "content": f"We decided to use queue {number}. " + "answer " * random.randint(1, 30)},
    ]


def turns(count: int, since: int = 0) -> list[Message]:
    """Return the messages of some turns."""
    return [message for number in range(since, since + count) for message in turn(number)]


def timed(call: Callable[..., Any], *arguments: Any, **options: Any) -> float:
    """Return the CPU seconds of a call."""
    return clock.once(lambda _: call(*arguments, **options), None)[0]


@contextmanager
def _store() -> Iterator[Store]:
    with tempfile.TemporaryDirectory() as folder, brim.open_store(f"sqlite:///{folder}/brim.db") as store:
        yield store


def _window() -> brim.Window:
    return brim.Window(WINDOW, cap=0.5)


def _grown(sizes: Sequence[int], step: Callable[[int, int], float]) -> Points:
    """Yield the median cost of the last turns up to each size; a step adds so many turns from a number on."""
    number = 0
    for size in sizes:
        while number < size - _AROUND:
            count = min(_BULK, size - _AROUND - number)
            step(number, count)
            number += count
        spent = [step(each, 1) for each in range(number, size)]
        number = size
        yield size, 1e3 * statistics.median(spent)


def _history(sizes: Sequence[int]) -> Points:
    history = brim.History(meter=METER, stable=True)

    def step(number: int, count: int) -> float:
        messages = turns(count, number)
        return timed(history.extend, messages) + timed(history.fit, BUDGET)

    return _grown(sizes, step)


def _session(sizes: Sequence[int]) -> Points:
    with _store() as store:
        session = brim.Session(_window(), meter=METER, store=store)

        def step(number: int, count: int) -> float:
            messages = turns(count, number)
            return timed(session.add, messages) + timed(session.prompt, system=_SYSTEM)

        yield from _grown(sizes, step)


def _wrap(sizes: Sequence[int]) -> Points:
    """Yield what a request costs that brings the whole history, as those of `wrap` do."""
    history: list[Message] = []
    conversations = brim.Conversations(_window(), meter=METER)

    def step(number: int, count: int) -> float:
        history.extend(turns(count, number))
        return timed(conversations.request, list(history), model="gpt-5", format="openai")

    return _grown(sizes, step)


def _loop_on(store: Store, steps: int) -> brim.Loop:
    """Return a loop that makes one turn a step, each an iteration."""
    number = iter(range(10**9))

    def act(tick: Any) -> brim.Step:  # noqa: ARG001 - the step is the same whatever the prompt is
        return brim.Step(messages=turn(next(number)), end="iteration")

    return brim.Loop("Mend the build", act, window=brim.Window(WINDOW), meter=METER, tick_cap=0.5, store=store,
                     max_iterations=steps + 10, id="run")  # fmt: skip


def _loop(sizes: Sequence[int]) -> Points:
    with _store() as store:
        loop = _loop_on(store, max(sizes))
        yield from _grown(sizes, lambda _, count: timed(loop.run, ticks=count))


def _store_size(sizes: Sequence[int]) -> Points:
    """Yield how many times the text that was said the file of a session takes."""
    with tempfile.TemporaryDirectory() as folder:
        path, said = Path(folder) / "brim.db", 0
        with brim.open_store(f"sqlite:///{path}") as store:
            session = brim.Session(_window(), meter=METER, store=store)
            for number in range(max(sizes)):
                messages = turn(number)
                said += sum(len(str(message.get("content") or message.get("tool_calls"))) for message in messages)
                session.add(messages)
                session.prompt(system=_SYSTEM)
                if number + 1 in sizes:
                    yield number + 1, path.stat().st_size / said


def _memory(sizes: Sequence[int]) -> Points:
    """Yield the kilobytes of each conversation beyond the bound."""

    def open_up(known: brim.Conversations, numbers: range) -> None:
        for number in numbers:
            said = [{"role": "system", "content": _SYSTEM}, {"role": "user", "content": f"Task {number}"}]
            known.request(said, model="gpt-5", format="openai")
        gc.collect()

    for size in sizes:
        with _store() as store:
            known = brim.Conversations(brim.Window(WINDOW), meter=METER, store=store, most=64)
            open_up(known, range(64))
            tracemalloc.start()
            open_up(known, range(64, 64 + size))
            held, _ = tracemalloc.get_traced_memory()
            tracemalloc.stop()
        yield size, max(1e-3, held / 1024 / size)


def _opened(sizes: Sequence[int]) -> Points:
    """Yield what it costs to open a session again and to make its first prompt."""
    with _store() as store:
        session = brim.Session(_window(), meter=METER, store=store, id="run")
        for number in range(0, max(sizes), _BULK):
            session.add(turns(_BULK, number))
            session.prompt(system=_SYSTEM)
            if number + _BULK in sizes:
                first = (timed(lambda: brim.Session.open("run", store=store).prompt(system=_SYSTEM)) for _ in range(3))
                yield number + _BULK, 1e3 * min(first)


def _resumed(sizes: Sequence[int]) -> Points:
    with _store() as store:
        loop, made = _loop_on(store, max(sizes)), 0
        for size in sizes:
            loop.run(ticks=size - made)
            made = size
            yield size, 1e3 * min(timed(brim.Loop.resume, "run", act=loop._act, store=store) for _ in range(3))


def _dearest(sizes: Sequence[int]) -> Points:
    """Yield the dearest prompt of sessions that fill their window once and a half."""
    for size in sizes:
        with _store() as store:
            session = brim.Session(brim.Window(size), meter=METER, store=store)
            spent, step = [], max(1, size // 800)
            for number in range(0, int(1.5 * size / 250), step):  # A turn has about 250 tokens.
                session.add(turns(step, number))
                spent.append(timed(session.prompt, system=_SYSTEM))
            yield size, 1e3 * max(spent)


def _body(kilobytes: int, later: int) -> bytes:
    """Return the request of a conversation that began with about so many kilobytes, so many turns later."""
    messages: list[Message] = []
    size = number = 0
    while size < kilobytes * 1_000:
        messages += turn(number)
        number += 1
        size += sum(len(json.dumps(message)) for message in messages[-4:])
    messages.append({"role": "user", "content": "And now?"})
    for each in range(later):
        messages += [{"role": "assistant", "content": f"Step {each} is done."}, {"role": "user", "content": "Go on."}]
    return json.dumps({"model": "local", "messages": messages}).encode()


def _requests(sizes: Sequence[int], window: Callable[[int], int]) -> Points:
    """Yield the CPU of the gateway's process for one request of a conversation that it knows."""
    for size in sizes:
        options = ("--window", str(window(size)), "--meter", METER, "--quiet")
        with gateway.model() as upstream, gateway.gateway(upstream, *options) as (url, process):
            count, best = max(4, 200 // size), float("inf")
            gateway.post(url, [_body(size, number) for number in range(3)])
            for start in range(3, 3 + 3 * count, count):
                before = gateway.spent(process)
                gateway.post(url, [_body(size, start + each) for each in range(count)])
                time.sleep(0.1)
                best = min(best, (gateway.spent(process) - before) / count)
        yield size, 1e3 * best


_ONE = "the median of the last 31 turns before each length"
CASES = [
    Case(name="History", of="turns", sizes=_TURNS, measure=_history, exponent=_FLAT,
         about=f"a turn added and a stable fit, {_ONE}"),
    Case(name="Session in SQLite", of="turns", sizes=_TURNS, measure=_session, exponent=_FLAT,
         about=f"a turn added and a prompt, durable, {_ONE}"),
    Case(name="wrap", of="turns", sizes=_TURNS, measure=_wrap, exponent=_FLAT, most=3,
         about=f"a request that brings the whole history, {_ONE}"),
    Case(name="Loop in SQLite", of="turns", sizes=_TURNS, measure=_loop, exponent=_FLAT,
         about="one step of a loop, an iteration each, the median of the last 31"),
    Case(name="store of a session", of="turns", sizes=(100, 300, 1_000), measure=_store_size, unit="x", most=4,
         about="bytes of the file by characters that were said"),
    Case(name="memory of conversations", of="conversations", sizes=(200, 400, 800), measure=_memory, unit="kB", most=5,
         about="each conversation above the bound, with a store"),
    Case(name="first prompt of an opened session", of="turns", sizes=_ONCE, measure=_opened, most=150,
         about="a session opened after so many turns, and its first prompt: it reads the messages since its last cut"),
    Case(name="Loop.resume", of="turns", sizes=_ONCE, measure=_resumed, most=100,
         about="a loop resumed after so many steps"),
    Case(name="dearest prompt", of="window", sizes=_WINDOWS, measure=_dearest, most=250,
         about="the dearest call of `prompt()` of a session in SQLite that fills its window and is cut"),
    Case(name="gateway, 1 MB that fits", of="kB", sizes=(6, 200, 1_000), exponent=_LINEAR, most=15,
         measure=lambda sizes: _requests(sizes, lambda _: 4_000_000),
         about="CPU of the gateway's process for one request that fits, by its size"),
    Case(name="gateway, cut", of="kB", sizes=(6, 60, 200), exponent=_LINEAR,
         measure=lambda sizes: _requests(sizes, lambda size: max(2_000, 125 * size)),
         about="the same if half of it fits"),
]  # fmt: skip
