"""Measure what a call costs, in CPU seconds of this process.

Other programs on the machine stretch wall time, not CPU time; what noise is left is dealt with by repeating.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")
A = TypeVar("A")

_SHORTEST = 0.01
"""Seconds that a measured run takes at the least: the clock's own steps and cost must not show."""


def once(call: Callable[[A], T], given: A) -> tuple[float, T]:
    """Return the CPU seconds of one call, and its result."""
    start = time.process_time()
    result = call(given)
    return time.process_time() - start, result


def best(call: Callable[[A], object], given: A, repeats: int = 5) -> float:
    """Return the CPU seconds of a call: the best of several runs, short calls many times a run."""
    seconds, _ = once(call, given)
    times = 1 if seconds >= _SHORTEST else min(int(_SHORTEST / max(seconds, 1e-8)) + 1, 100_000)
    for _ in range(repeats):
        start = time.process_time()
        for _ in range(times):
            call(given)
        seconds = min(seconds, (time.process_time() - start) / times)
    return seconds


def median(call: Callable[[A], object], each: Iterable[A]) -> float:
    """Return the median CPU seconds of a call on each of some inputs, once each: for what only happens once."""
    return statistics.median(once(call, given)[0] for given in each)
