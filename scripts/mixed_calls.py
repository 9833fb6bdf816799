"""Makes generated calls at every door of brim, by threads, tasks, forks and processes at once, on one SQLite file.

    python scripts/mixed_calls.py                      10,000 calls
    python scripts/mixed_calls.py --calls 300          fewer
    python scripts/mixed_calls.py --only wrapped       one scene of `tests/mixed.py`
    python scripts/mixed_calls.py --seed 7             other dice

Callbacks raise, owners change their messages after `add`, sessions are purged and closed while they are used, and
somebody locks the file at times for longer than a call waits. Wrong is: an error that is not documented, a prompt over
its budget, a message that is lost, there twice, or there though its call raised, and a file, thread or child that is
left. Who comes first is up to the machine, so a seed gives the same calls, but not the same run.
"""

from __future__ import annotations

import argparse
import asyncio
import concurrent.futures.thread  # noqa: F401  # it registers what runs at a fork, and not during one
import faulthandler
import gc
import logging
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from mixed import PATIENCE, SCENES, Caller, Diary, House, check

_THREADS, _TASKS, _PROCESSES = 4, 4, 2
_SHARES = {"thread": 0.4, "task": 0.25, "fork": 0.15, "process": 0.2}
"""Who makes which share of the calls."""
_LOCKING = "locking"
"""The process that locks the store."""
_PER_FORK = 40
"""Calls of one forked child; the parent forks again and again, while its threads go on."""
_STUCK = 60.0
"""Seconds after which a fork that has not ended hangs."""


def descriptors() -> Counter[str]:
    """Return the open files of this process, by what they are."""
    found: Counter[str] = Counter()
    for each in os.listdir("/proc/self/fd"):
        with suppress(OSError):  # The one that lists them is closed.
            found[os.readlink(f"/proc/self/fd/{each}").partition(":[")[0]] += 1
    return found


def left(before: Counter[str]) -> list[str]:
    """Return the files and threads that are still open."""
    gc.collect()
    files = [f"{count} times {name} is still open" for name, count in (descriptors() - before).items()]
    threads = [each for each in threading.enumerate() if each is not threading.main_thread()]
    return files + [f"the thread {each.name} still runs" for each in threads]


def write(folder: Path, diary: Diary) -> None:
    """Write a diary where the first process finds it."""
    made = folder / f"{diary.caller}.part"
    made.write_text(diary.to_json())
    made.rename(folder / f"{diary.caller}.diary")


def play_threads(house: House, names: list[str], seed: int, calls: int, kind: str = "thread") -> list[Diary]:
    """Let threads play, and return their diaries."""
    callers = [Caller(house, name, f"{seed} {name}", kind) for name in names]
    threads = [threading.Thread(target=caller.play, args=(calls // len(names),)) for caller in callers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [caller.diary for caller in callers]


def play_tasks(house: House, seed: int, calls: int) -> list[Diary]:
    """Let tasks of one event loop play, and return their diaries."""

    async def play() -> list[Diary]:
        callers = [Caller(house, f"task{i}", f"{seed} task{i}", "task") for i in range(_TASKS)]
        await asyncio.gather(*(caller.aplay(calls // _TASKS) for caller in callers))
        return [caller.diary for caller in callers]

    return asyncio.run(play())


def play_process(folder: Path, name: str, seed: int, calls: int, scenes: list[str]) -> int:
    """Play in this process, which another one started."""
    house = House(folder, [SCENES[each] for each in scenes])
    gc.collect()
    before = descriptors()
    diaries = play_threads(house, [f"{name}a", f"{name}b"], seed, calls, "process")
    own = Diary(name, failures=[f"{name}: {told}" for told in left(before)])
    house.close()
    for diary in [*diaries, own]:
        write(folder, diary)
    return 0


def forked(house: House, name: str, seed: int, calls: int) -> list[str]:
    """Fork a child that plays, wait for it, and return what went wrong; its diary is in the folder."""
    child = os.fork()
    if not child:
        with open(house.folder / f"{name}.stuck", "w") as told:
            faulthandler.dump_traceback_later(_STUCK - 10, file=told, exit=True)
            try:
                before = descriptors()
                caller = Caller(house, name, f"{seed} {name}", "fork")
                caller.play(calls, first=caller.inherited())
                house.close()
                caller.diary.failures += [f"{name}: {each}" for each in left(before)]
                write(house.folder, caller.diary)
            except BaseException:
                traceback.print_exc(file=told)
            told.flush()
        os._exit(0)
    until = time.monotonic() + _STUCK
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if time.monotonic() > until:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            break
        time.sleep(0.02)
    if (house.folder / f"{name}.diary").exists():
        return []
    return [f"{name} did not end\n{(house.folder / f'{name}.stuck').read_text()}"]


def lock_at_times(path: Path, seed: int) -> NoReturn:
    """Lock the file of the store again and again, sometimes for longer than a call waits."""
    dice, connection = random.Random(f"{seed} locks"), sqlite3.connect(path, isolation_level=None, timeout=10)
    while True:
        time.sleep(dice.uniform(0.2, 3.0))
        with suppress(sqlite3.OperationalError):
            connection.execute(dice.choice(("BEGIN IMMEDIATE", "BEGIN EXCLUSIVE")))
            time.sleep(PATIENCE * dice.choice((0.1, 0.1, 0.1, 1.3)))
            connection.execute("ROLLBACK")


def run(folder: Path, calls: int, seed: int, scenes: list[str]) -> tuple[list[Diary], list[str]]:
    """Let all play in a folder; return their diaries, and what is wrong."""
    found: list[str] = []
    diaries: list[Diary] = []
    before, house = descriptors(), House(folder, [SCENES[each] for each in scenes])
    share = {kind: int(calls * part) for kind, part in _SHARES.items()}
    command = [sys.executable, __file__, "--folder", str(folder), "--seed", str(seed)]
    # In a process of its own: SQLite in a child of a fork takes the locks of its parent for its own, for ever.
    locking = subprocess.Popen([*command, "--process", _LOCKING])
    command += ["--calls", str(share["process"] // _PROCESSES), *(f"--only={each}" for each in scenes)]
    processes = [subprocess.Popen([*command, "--process", f"process{i}"]) for i in range(_PROCESSES)]

    def threads() -> None:
        diaries.extend(play_threads(house, [f"thread{i}" for i in range(_THREADS)], seed, share["thread"]))

    def tasks() -> None:
        diaries.extend(play_tasks(house, seed, share["task"]))

    def forks() -> None:
        times = max(2, share["fork"] // _PER_FORK)
        for i in range(times):
            found.extend(forked(house, f"fork{i}", seed, share["fork"] // times))

    def others() -> None:
        for process in processes:
            process.wait()

    players = [threading.Thread(target=each) for each in (threads, tasks, forks, others)]
    for player in players:
        player.start()
    for player in players:
        player.join()
    locking.terminate()
    locking.wait()
    house.close()
    found += [f"a process ended with {process.returncode}" for process in processes if process.returncode]
    diaries += [Diary.from_json(path.read_text()) for path in sorted(folder.glob("*.diary"))]
    with suppress(ChildProcessError):
        found.append(f"a child is left: {os.waitpid(-1, os.WNOHANG)}")
    return diaries, found + left(before)


def main() -> int:
    """Read the arguments, let all play, check, and return 1 if anything is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--only", action="append", choices=SCENES, help="play this scene alone")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, help="where the store is, and stays; else a temporary folder")
    parser.add_argument("--process", help=argparse.SUPPRESS)
    given = parser.parse_args()
    logging.disable(logging.CRITICAL)  # Every failure is on purpose.
    # Since Python 3.12 a fork beside threads warns: it is what is tried here.
    warnings.filterwarnings("ignore", message=".*multi-threaded.*", category=DeprecationWarning)
    scenes = given.only or list(SCENES)
    if given.process == _LOCKING:
        lock_at_times(given.folder / "brim.db", given.seed)
    if given.process:
        return play_process(given.folder, given.process, given.seed, given.calls, scenes)
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="brim-mixed-") as temporary:
        folder = given.folder or Path(temporary)
        diaries, found = run(folder, given.calls, given.seed, scenes)
        found += check(folder / "brim.db", diaries)
    found += [told for diary in diaries for told in diary.failures]
    calls = sum((each.calls for each in diaries), Counter[str]())
    raised = sum((each.raised for each in diaries), Counter[str]())
    for name, count in sorted(calls.items()):
        errors = [
            f"{times} {each.partition(': ')[2]}" for each, times in raised.items() if each.startswith(f"{name}: ")
        ]
        print(f"{name}: {count:,}" + (f" ({', '.join(sorted(errors))})" if errors else ""))
    print("".join(f"{told.rstrip()}\n" for told in found[:40]), end="", file=sys.stderr)
    messages, seconds = sum(len(each.kept) for each in diaries), time.perf_counter() - began
    told = f"{calls.total():,} calls by {len(diaries)} callers, {raised.total():,} documented errors"
    print(f"{told}, {messages:,} messages looked for, {len(found)} failures, in {seconds:.0f} s")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
