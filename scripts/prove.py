"""Runs generated fits against the promise, in as many processes as there are cores.

Each case comes from a seed: `python scripts/prove.py --only histories --seed 123` runs one again, with its traceback.
"""

from __future__ import annotations

import argparse
import logging
import os
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

import compacted_histories
import counted_requests
import items_traffic
import joint_requests
import outages
import promise
import reported_traffic
import shared_beginnings
import traffic

_BLOCK = 500
_opened = ExitStack()
"""The servers of a process, which end with it."""


@cache
def _rig() -> outages.Rig:
    logging.disable(logging.CRITICAL)  # Every failure is on purpose.
    return _opened.enter_context(outages.rig())


@cache
def _undisturbed(name: str) -> tuple[Any, list[outages.Outage]]:
    """Return how a program ends where nothing fails, and every way in which one of its calls can fail."""
    expected, world = _rig().run(outages.PROGRAMS[name], outages.Outage())
    return expected, outages.points(world)


def _outage(seed: int) -> str:
    """Let one call of the store, the model's server or the clock fail, or two; the program must end as if none had."""
    dice = random.Random(seed)
    name: str = dice.choice(sorted(outages.PROGRAMS))
    expected, points = _undisturbed(name)
    one, other = dice.choices(points, k=2) if dice.random() < 0.2 else (dice.choice(points), outages.Outage())
    both = ((*getattr(one, part), *getattr(other, part)) for part in ("store", "upstream", "clock"))
    outage = outages.Outage(*(tuple(dict(part).items()) for part in both))
    assert (found := _rig().differences(outages.PROGRAMS[name], outage, expected)) == [], (outage, found)
    return name


PROOFS: dict[str, tuple[Callable[[int], str], int]] = {
    "fits": (lambda seed: promise.check(promise.Case.of(seed)), 200_000),
    "histories": (lambda seed: traffic.check(traffic.Case.of(seed)), 50_000),
    "histories of Gemini and Bedrock": (lambda seed: traffic.check(traffic.Case.of(seed, traffic.NEW_FORMATS)), 50_000),
    "items of histories": (items_traffic.check, 10_000),
    "growing histories": (traffic.check_stable, 20_000),
    "histories that a provider has compacted": (compacted_histories.check, 10_000),
    "requests": (lambda seed: joint_requests.check(joint_requests.Case.of(seed, traffic.ALL_FORMATS)), 50_000),
    "texts anywhere in requests": (counted_requests.check, 20_000),
    "outages": (_outage, 4_000),
    "conversations with reported usage": (reported_traffic.check, 800),
    "users with equal beginnings": (shared_beginnings.check, 5_000),
    "programs of 20 conversations that go on": (shared_beginnings.check_going_on, 100),
    "growing histories of Gemini and Bedrock": (lambda seed: traffic.check_stable(seed, traffic.NEW_FORMATS), 10_000),
}
"""What is proved, by name: the check of one seed, and how many seeds by default."""


def run(name: str, first: int, last: int) -> tuple[Counter[str], list[tuple[int, str]]]:
    """Check the cases of a range of seeds; return how they ended and what failed."""
    ends: Counter[str] = Counter()
    failures = []
    for seed in range(first, last):
        try:
            ends[PROOFS[name][0](seed)] += 1
        except Exception:
            failures.append((seed, traceback.format_exc(limit=-3)))
    return ends, failures


def prove(name: str, cases: int, start: int) -> int:
    """Check so many cases from seed `start` on; return the number of violations."""
    began = time.perf_counter()
    blocks = [(name, first, min(first + _BLOCK, start + cases)) for first in range(start, start + cases, _BLOCK)]
    ends: Counter[str] = Counter()
    failures: list[tuple[int, str]] = []
    with ProcessPoolExecutor(max_workers=os.cpu_count()) as pool:
        for done, (counted, failed) in enumerate(pool.map(run, *zip(*blocks, strict=True)), start=1):
            ends += counted
            failures += failed
            for seed, told in failed:
                print(f"seed {seed}\n{told}", flush=True)
            if sys.stderr.isatty() or done % 40 == 0 or done == len(blocks):
                print(f"{sum(ends.values()) + len(failures):,} {name}, {len(failures)} violations", file=sys.stderr)
    seconds = time.perf_counter() - began
    told = ", ".join(f"{count:,} {end}" for end, count in sorted(ends.items()))
    print(f"{cases:,} generated {name} in {seconds:.0f} s: {told}; {len(failures)} violations of the promise")
    return len(failures)


def main() -> int:
    """Read the arguments and prove."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=PROOFS, help="prove this alone")
    parser.add_argument("--share", type=float, default=1.0, help="how much of the default number of cases to run")
    parser.add_argument("--start", type=int, default=0, help="the first seed")
    parser.add_argument("--seed", type=int, help="run this one alone")
    given = parser.parse_args()
    names = [given.only] if given.only else list(PROOFS)
    if given.seed is not None:
        for name in names:
            print(name, PROOFS[name][0](given.seed))
        return 0
    return 1 if sum(prove(name, int(PROOFS[name][1] * given.share), given.start) for name in names) else 0


if __name__ == "__main__":
    raise SystemExit(main())
