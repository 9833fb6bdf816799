"""Lets every call of the store, of the model's server and of the clock fail once, and compares how programs end.

    python scripts/outages.py                     every call of every program, and 40 pairs of each
    python scripts/outages.py --only loops        one program
    python scripts/outages.py --every 10          every tenth call
    python scripts/outages.py --file              in a SQLite file instead of memory
    python scripts/outages.py --pins 200          pins of another process while a session runs

A call of the store fails before it is done, or after, so that only its answer is lost. An answer of the model's server
is a 500, a 429, or ends in its middle. A clock jumps by two hours, forwards or back. Programs do again what raised.
Half of the pairs are two calls by chance, the others a call and the one after it.
"""

from __future__ import annotations

import argparse
import logging
import random
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

import brim
from outages import PROGRAMS, Outage, Rig, points, rig


@dataclass
class Tally:
    """What came of the runs of one program."""

    points: int = 0
    pairs: int = 0
    differences: list[str] = field(default_factory=list)


def pair(one: Outage, other: Outage) -> Outage:
    """Return both outages in one run; of two that hit the same call, the second."""
    parts = ((*getattr(one, name), *getattr(other, name)) for name in ("store", "upstream", "clock"))
    return Outage(*(tuple(dict(part).items()) for part in parts))


def following(outage: Outage) -> Outage:
    """Return the outage in which the next call fails in the same way: most often the one that tries again."""
    parts = ([(number + 1, how) for number, how in getattr(outage, name)] for name in ("store", "upstream", "clock"))
    return Outage(*map(tuple, parts))


def run(using: Rig, name: str, *, every: int, pairs: int, seed: int, file: bool) -> Tally:
    """Run one program in every outage, and in pairs of them."""
    tally, program, dice = Tally(), PROGRAMS[name], random.Random(f"{name} {seed}")
    expected, world = using.run(program, Outage())
    single = points(world)
    chosen = single[dice.randrange(every) :: every] if every > 1 else single
    double = [pair(*dice.sample(single, 2)) for _ in range(pairs - pairs // 2)]
    double += [pair(each, following(each)) for each in dice.sample(single, min(pairs // 2, len(single)))]
    for number, outage in enumerate([*chosen, *double]):
        if file:
            with tempfile.TemporaryDirectory(prefix="brim-outage-") as folder:
                found = using.differences(program, outage, expected, Path(folder))
        else:
            found = using.differences(program, outage, expected)
        tally.differences += found
        if number < len(chosen):
            tally.points += 1
        else:
            tally.pairs += 1
    return tally


def pins(count: int) -> list[str]:
    """Pin texts from another process while a session runs, and return what was lost or raised."""
    from sessions.test_logged_state import pinned_while_it_runs

    with tempfile.TemporaryDirectory(prefix="brim-pins-") as folder:
        url = f"sqlite:///{folder}/brim.db"
        try:
            session, handles, steps = pinned_while_it_runs(url, count)
        except Exception as error:  # Whatever it raises is told.
            return [f"it raised {type(error).__name__}: {error}"]
        with brim.open_store(url) as store:
            opened = brim.Session.open(session.id, store=store)
        both = {name[:11] for name in session.pins.keys() & opened.pins.keys()}
        lost = [each for each in handles if each not in both]
    print(f"pins: {count} from another process during {steps} steps, {len(lost)} lost, 0 raised", flush=True)
    return lost


def main() -> int:
    """Read the arguments, run, and return 1 if anything ended differently."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=PROGRAMS, help="run this program alone")
    parser.add_argument("--every", type=int, default=1, help="take one call in so many")
    parser.add_argument("--pairs", type=int, default=40, help="how many runs of each program have two outages")
    parser.add_argument("--pins", type=int, default=200, help="how many texts another process pins")
    parser.add_argument("--file", action="store_true", help="keep the store in a SQLite file")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    logging.disable(logging.CRITICAL)  # Every failure is on purpose.
    total, began = Tally(), time.perf_counter()
    with rig() as using:
        for name in [given.only] if given.only else PROGRAMS:
            tally = run(using, name, every=given.every, pairs=given.pairs, seed=given.seed, file=given.file)
            told = f"{tally.points} fault points, {tally.pairs} pairs, {len(tally.differences)} differences"
            print(f"{name}: {told}", flush=True)
            print("".join(f"  {each}\n" for each in tally.differences[:20]), end="", file=sys.stderr, flush=True)
            total.points += tally.points
            total.pairs += tally.pairs
            total.differences += tally.differences
    if given.pins and not given.only:
        total.differences += pins(given.pins)
    seconds, where = time.perf_counter() - began, "a file" if given.file else "memory"
    told = f"{total.points} fault points, {total.pairs} pairs, {len(total.differences)} differences"
    print(f"store in {where}: {told}, in {seconds:.0f} s")
    return 1 if total.differences else 0


if __name__ == "__main__":
    raise SystemExit(main())
