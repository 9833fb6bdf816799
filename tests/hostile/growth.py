"""How the time of a reader grows with its text: the power of the size, from CPU time."""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable
from typing import Any

Read = Callable[[Any], Any]
LIMIT = 1.3
"""The power above which a reader is too slow: 1 is linear, 2 is quadratic."""


def power(read: Read, seed: Any, size: int, floor: float = 0.004) -> float:
    """Return the power by which the time grew up to `size`; 0 if a text of that size takes less than `floor` seconds.

    One that seems too fast is measured again, since other programs run on the machine. Beyond `size` too: from some
    size on a text may be read in another way, which is one step and no power.
    """
    if _timed(read, seed.of(size)) < floor:
        return 0.0
    found = 0.0
    for runs, largest in ((1, size), (3, size), (5, size), (3, 4 * size)):
        small, large = (min(_timed(read, seed.of(each)) for _ in range(runs)) for each in (largest // 4, largest))
        found = math.log(large / max(small, 1e-6), 4)
        if found <= LIMIT:
            break
    return found


def _timed(read: Read, text: Any) -> float:
    gc.disable()  # A search for cycles comes at any time, and takes as long as there are objects elsewhere.
    try:
        begun = time.process_time()
        read(text)
        return time.process_time() - begun
    finally:
        gc.enable()
