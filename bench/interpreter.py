"""How long other threads wait while brim counts: the longest gap that a ticking thread sees."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import TypeVar

import brim
from bench import corpus
from bench.outcome import Cell, Gate, Outcome, Setting, Table
from brim.meter.vocabularies import vocabulary

T = TypeVar("T")

_TICK = 0.0005
"""Seconds that the ticking thread sleeps between two looks at the clock."""
_LIMIT = 25
"""Milliseconds that no call may hold the interpreter for."""


def run(setting: Setting) -> Outcome:
    meter = vocabulary("o200k_base")
    meter.count("loaded")
    small, big = setting.size(10_000_000), setting.size(100_000_000)
    rows: list[list[Cell]] = [
        ["nothing: the main thread sleeps", None, *_gaps(time.sleep, [1] * 5)],
        ["nothing: the main thread runs Python", None, *_gaps(_busy, [1] * 5)],
    ]
    worst: dict[int, float] = {}
    for size, repeats in ((small, 5), (big, 3)):
        for name, make in _TEXTS.items():
            row = _gaps(meter.count, (_new(make(size)) for _ in range(repeats)), before=meter.memo.clear)
            worst[size] = max(worst.get(size, 0), row[0])
            rows.append([f"count: {name}", size, *row])
    texts = [_new(corpus.long(small)) for _ in range(3)]
    limit = meter.measure(texts[0]) // 2
    for name, call in (("head", meter.head), ("tail", meter.tail), ("fit", _fit)):
        row = _gaps(partial(call, limit=limit), (_new(text) for text in texts), before=meter.memo.clear)
        rows.append([f"{name}: mixed, to half of its tokens", small, *row])
    table = Table(
        title="The longest gap between two ticks of another thread",
        columns=["what the main thread does", "characters", "median ms", "least ms", "most ms", "runs"],
        rows=rows,
        notes=[
            "The first two rows are the noise of the machine and of the interpreter's own 5 ms switch interval.",
            "The gates are on counting; the last three rows are for information.",
        ],
    )
    gates = [
        Gate(name=f"interpreter: longest gap, {size:,} characters", value=gap, limit=_LIMIT, unit="ms")
        for size, gap in worst.items()
    ]
    return Outcome(name="interpreter", tables=[table], gates=gates)


_TEXTS: dict[str, Callable[[int], str]] = {
    "ASCII prose": corpus.ascii_prose,
    "mixed": corpus.long,
    "CJK with spaces": lambda size: corpus.cjk(size, spaces=True),
    "CJK without spaces": lambda size: corpus.cjk(size, spaces=False),
}


def _gaps(
    call: Callable[[T], object], given: Iterable[T], before: Callable[[], object] = bool
) -> tuple[float, float, float, int]:
    """Return the median, the least and the greatest of the longest gaps of some runs, in ms, and their number."""
    longest = []
    for each in given:
        before()
        longest.append(_longest_gap(call, each) * 1e3)
    return statistics.median(longest), min(longest), max(longest), len(longest)


def _new(text: str) -> str:
    """Return the text as an object of its own: Python keeps a text's hash and UTF-8 form with the object."""
    return (text + "x")[:-1]


def _longest_gap(call: Callable[[T], object], given: T) -> float:
    """Return the seconds of the longest gap that a ticking thread sees while `call` runs."""
    ready, done = threading.Event(), threading.Event()
    longest = 0.0

    def tick() -> None:
        nonlocal longest
        last = time.perf_counter()
        ready.set()
        while not done.is_set():
            time.sleep(_TICK)
            now = time.perf_counter()
            longest = max(longest, now - last)
            last = now

    ticking = threading.Thread(target=tick)
    ticking.start()
    ready.wait()
    try:
        call(given)
    finally:
        done.set()
        ticking.join()
    return longest


def _fit(text: str, limit: int) -> brim.Prompt:
    half = len(text) // 2
    return brim.fit(
        [brim.Section("first", text[:half]), brim.Section("second", text[half:])], limit, meter="o200k_base"
    )


def _busy(seconds: float) -> None:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        sum(range(1_000))
