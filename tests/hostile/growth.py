"""How the time of a reader grows with its text: the exponent over the last doublings, from CPU time."""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

Read = Callable[[str], Any]
SMALLEST = 2_048


@dataclass(frozen=True, slots=True)
class Bounds:
    """Where doubling ends, and what is too fast to be measured."""

    size: int
    """Characters."""
    seconds: float
    floor: float
    """Seconds below which a time is noise."""


FULL = Bounds(size=1 << 20, seconds=1.0, floor=0.004)
QUICK = Bounds(size=1 << 13, seconds=0.05, floor=0.004)
LIMIT = 1.3


@dataclass(frozen=True, slots=True)
class Growth:
    """The times of one reader with one seed."""

    times: tuple[tuple[int, float], ...]
    floor: float

    @property
    def exponent(self) -> float:
        """The power of the size by which the time grew over the last three doublings; 0 if it is too short to tell."""
        seen = [(size, taken) for size, taken in self.times if taken >= self.floor][-4:]
        if len(seen) < 2 or (len(seen) == 2 and seen[-1][1] < 4 * self.floor):
            return 0.0
        return _power(seen[0], seen[-1])

    @property
    def is_step(self) -> bool:
        """Whether only one of the last three doublings grew too fast: from some size on, the text is read in another way."""
        last = self.times[-4:]
        return len(last) == 4 and sum(_power(*each) > LIMIT for each in pairwise(last)) == 1


def _power(one: tuple[int, float], two: tuple[int, float]) -> float:
    return math.log(two[1] / max(one[1], 1e-9)) / math.log(two[0] / one[0])


def measured(read: Read, seed: Any, bounds: Bounds, runs: int = 1) -> Growth:
    """Return the times of a reader for a seed of doubled length; of some runs, the shortest of each."""
    times: list[tuple[int, float]] = []
    size = SMALLEST
    if _timed(read, seed.of(8 * SMALLEST)) < bounds.floor / 16:  # So fast that only the longest tells something.
        text = seed.of(bounds.size)
        times.append((bounds.size, _timed(read, text)))
        if times[0][1] < 4 * bounds.floor:
            return Growth(tuple(times), bounds.floor)
        times.clear()
    while size <= bounds.size and (not times or times[-1][1] < bounds.seconds):
        text = seed.of(size)
        times.append((size, min(_timed(read, text) for _ in range(runs))))
        size *= 2
    return Growth(tuple(times), bounds.floor)


def settled(read: Read, seed: Any, bounds: Bounds) -> Growth:
    """Return the growth; one that seems too fast is measured again, since other programs run on the machine.

    A step is measured over three doublings more, which do not contain it. A power of the size has no single step.
    """
    if bounds.size <= QUICK.size:  # Short enough to begin with the longest, which mostly takes no time.
        text = seed.of(bounds.size)
        if (taken := _timed(read, text)) < bounds.floor:
            return Growth(((len(text), taken),), bounds.floor)
    for runs in (1, 3, 5, 5):
        found = measured(read, seed, bounds, runs)
        if found.exponent <= LIMIT:
            return found
    if not found.is_step:
        return found
    return measured(read, seed, Bounds(8 * found.times[-1][0], 8 * bounds.seconds, bounds.floor), runs)


def _timed(read: Read, text: str) -> float:
    gc.disable()  # A search for cycles comes at any time, and takes as long as there are objects elsewhere.
    try:
        begun = time.process_time()
        read(text)
        return time.process_time() - begun
    finally:
        gc.enable()
