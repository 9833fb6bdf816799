"""One run that grows: what the next prompt costs at each length."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import brim
from bench.growth import talk
from bench.growth.case import Case, Points
from brim.sessions.loop import Loop, Step
from brim.sessions.session import Session
from brim.store import Store

_TURNS = (300, 1_000, 5_000)
_FAR = (*_TURNS, 20_000)
_AROUND = 31
"""Turns whose median is what a turn costs there."""
_MANY = 200
"""Turns over which a mean is taken, cuts included."""
_BULK = 400
"""Turns that come at once before those that are measured."""
_FLAT = 0.15


def grown(sizes: Sequence[int], step: Callable[[int, int], float]) -> Points:
    """Yield the median cost of the last turns up to each size.

    Args:
        sizes: the lengths at which the cost is told.
        step: adds so many turns from a number on, makes one prompt, and returns the CPU seconds.
    """
    number = 0
    for size in sizes:
        while number < size - _AROUND:
            count = min(_BULK, size - _AROUND - number)
            step(number, count)
            number += count
        spent = [step(each, 1) for each in range(number, size)]
        number = size
        yield size, 1e3 * statistics.median(spent)


def timed(call: Callable[..., Any], *arguments: Any, **options: Any) -> float:
    """Return the CPU seconds of a call."""
    began = time.process_time()
    call(*arguments, **options)
    return time.process_time() - began


def _history(sizes: Sequence[int]) -> Points:
    history = brim.History(meter=talk.METER, stable=True)

    def step(number: int, count: int) -> float:
        messages = talk.turns(count, number)
        return timed(history.extend, messages) + timed(history.fit, talk.BUDGET)

    return grown(sizes, step)


def _session_steps(session: Session, sizes: Sequence[int]) -> Points:
    def step(number: int, count: int) -> float:
        messages = talk.turns(count, number)
        return timed(session.add, messages) + timed(session.prompt, system="You are a careful engineer.")

    return grown(sizes, step)


def _window() -> brim.Window:
    return brim.Window(talk.WINDOW, cap=0.5)


def _session(sizes: Sequence[int]) -> Points:
    return _session_steps(Session(_window(), meter=talk.METER), sizes)


def _session_sqlite(sizes: Sequence[int]) -> Points:
    with tempfile.TemporaryDirectory() as folder, brim.open_store(f"sqlite:///{folder}/brim.db") as store:
        yield from _session_steps(Session(_window(), meter=talk.METER, store=store), sizes)


def _session_summaries(sizes: Sequence[int]) -> Points:
    with tempfile.TemporaryDirectory() as folder, brim.open_store(f"sqlite:///{folder}/brim.db") as store:
        yield from _session_steps(Session(_window(), meter=talk.METER, store=store, summarise="extract"), sizes)


def _whole(history: list[Any], **options: Any) -> Callable[[int], float]:
    """Return a step that sends the whole history through `Conversations`, as `wrap` does."""
    conversations = brim.Conversations(_window(), meter=talk.METER, **options)

    def step(number: int) -> float:
        history.extend(talk.turn(number))
        given = list(history)
        return timed(conversations.request, given, model="gpt-5", format="openai")

    return step


def _wrap(sizes: Sequence[int]) -> Points:
    history: list[Any] = []
    step = _whole(history)
    number = 0
    for size in sizes:
        # Only the turns before a size are requests: the others came at once, and are worked off by the first of these.
        first = max(number, size - 3 * _AROUND)
        history.extend(talk.turns(first - number, number))
        spent = [step(each) for each in range(first, size)]
        number = size
        yield size, 1e3 * statistics.median(spent[-_AROUND:])


def _wrap_by_history(sizes: Sequence[int]) -> Points:
    """Yield how many times the cost of a history alone requests take on average.

    A history reads at a cut what a session reads as messages come, so single turns do not compare.
    """
    history: list[Any] = []
    alone, step, number = brim.History(meter=talk.METER, stable=True), _whole(history), 0
    for size in sizes:
        first = max(number, size - _MANY)
        history.extend(talk.turns(first - number, number))
        alone.extend(talk.turns(first - number, number))
        step(first)
        alone.extend(talk.turn(first))
        alone.fit(talk.BUDGET)
        wrapped = plain = 0.0
        for each in range(first + 1, size):
            wrapped += step(each)
            plain += timed(alone.extend, talk.turn(each)) + timed(alone.fit, talk.BUDGET)
        number = size
        yield size, wrapped / plain


def _wrap_copies(sizes: Sequence[int]) -> Points:
    """As `_wrap`, by a client that builds every message anew for each request."""
    conversations = brim.Conversations(_window(), meter=talk.METER)
    for size in sizes:
        spent = []
        for number in range(max(1, size - 7), size):
            given = talk.turns(number)
            spent.append(timed(conversations.request, given, model="gpt-5", format="openai"))
        yield size, 1e3 * statistics.median(spent[1:])


def _loop(sizes: Sequence[int]) -> Points:
    with tempfile.TemporaryDirectory() as folder, brim.open_store(f"sqlite:///{folder}/brim.db") as store:
        yield from _loop_points(sizes, store)


def _loop_points(sizes: Sequence[int], store: Store) -> Points:
    loop = looped(store, "run", max(sizes))
    made = 0
    for size in sizes:
        spent = []
        while made < size:
            until = max(1, min(size - made, size - _AROUND - made))
            took = timed(loop.run, ticks=until)
            made += until
            if until == 1:
                spent.append(took)
        yield size, 1e3 * statistics.median(spent)


def looped(store: Store, id: str, steps: int) -> Loop:
    """Return a loop that makes one turn a step, each an iteration."""
    number = iter(range(10**9))

    def act(tick: Any) -> Step:  # noqa: ARG001 - the step is the same whatever the prompt is
        return Step(messages=talk.turn(next(number)), end="iteration")

    window = brim.Window(talk.WINDOW)
    return Loop("Mend the build", act, window=window, meter=talk.METER, tick_cap=0.5, store=store,
                max_iterations=steps + 10, id=id)  # fmt: skip


def _store_size(sizes: Sequence[int]) -> Points:
    """Yield how many times the text that was said the file of a session takes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "brim.db"
        with brim.open_store(f"sqlite:///{path}") as store:
            session, said = Session(_window(), meter=talk.METER, store=store), 0
            for _, number in _counted(sizes):
                messages = talk.turn(number)
                said += talk.size(messages)
                session.add(messages)
                session.prompt(system="You are a careful engineer.")
                if number + 1 in sizes:
                    yield number + 1, path.stat().st_size / said


def _loop_store_size(sizes: Sequence[int]) -> Points:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "brim.db"
        with brim.open_store(f"sqlite:///{path}") as store:
            loop, said, made = looped(store, "run", max(sizes)), 0, 0
            for size in sizes:
                loop.run(ticks=size - made)
                said += talk.size(talk.turns(size - made, made))
                made = size
                yield size, path.stat().st_size / said


def _counted(sizes: Sequence[int]) -> Iterator[tuple[int, int]]:
    return enumerate(range(max(sizes)))


_ONE = "the median of the last 31 turns before each length"
CASES = [
    Case(name="History", of="turns", sizes=_FAR, measure=_history, exponent=_FLAT,
         about=f"a turn added and a stable fit, {_ONE}"),
    Case(name="Session in memory", of="turns", sizes=_FAR, measure=_session, exponent=_FLAT,
         about=f"a turn added and a prompt, {_ONE}"),
    Case(name="Session in SQLite", of="turns", sizes=_FAR, measure=_session_sqlite, exponent=_FLAT,
         about=f"a turn added and a prompt, durable, {_ONE}"),
    Case(name="Session with summaries in SQLite", of="turns", sizes=_FAR, measure=_session_summaries, exponent=_FLAT,
         about=f"the same with extracted summaries, {_ONE}"),
    Case(name="wrap", of="turns", sizes=_FAR, measure=_wrap, exponent=_FLAT, most=3,
         about=f"a request that brings the whole history, {_ONE}"),
    Case(name="wrap by History", of="turns", sizes=_FAR, measure=_wrap_by_history, unit="x", most=3, each=True,
         about="what such a request costs, by what a history alone costs"),
    Case(name="wrap, all messages built anew", of="turns", sizes=(300, 1_000, 2_000), measure=_wrap_copies,
         exponent=1.05,
         about="the same from a client that makes equal messages for each request, so that all have to be compared"),
    Case(name="Loop in SQLite", of="turns", sizes=_FAR, measure=_loop, exponent=_FLAT,
         about="one step of a loop, an iteration each, the median of the last 31"),
    Case(name="store of a session", of="turns", sizes=(100, 300, 1_000), measure=_store_size, unit="x", most=4,
         about="bytes of the file by characters that were said"),
    Case(name="store of a loop", of="turns", sizes=(100, 300, 1_000), measure=_loop_store_size, unit="x", most=4,
         about="the same for a loop"),
]  # fmt: skip
