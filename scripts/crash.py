"""Kills writers with SIGKILL at random moments, opens what they left, and looks for what is lost or torn.

Each kill comes from a seed, though what the writer was doing at that moment does not. Killing a process shows that no
write depends on its memory; that the disk has it too is what the databases sync for, and needs a power cut to show.
"""

from __future__ import annotations

import argparse
import os
import random
import select
import signal
import sqlite3
import sys
import tempfile
import time
import traceback
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

import services
from crash_sessions import RUNNING
from crashes import LIES, Place, Scenario
from crashes import SCENARIOS as WRITING

SCENARIOS = {**WRITING, **RUNNING}
"""Everything that is killed, by name."""

_PER_PLACE = 10
"""Kills of writers in one place, one after the other, so that what was recovered is written to again."""
_LIVES = 0.1
"""Seconds that a writer may live after its first acknowledgement, at most."""
_PATIENCE = 30.0
"""Seconds until a writer must have acknowledged something."""


@dataclass(slots=True)
class _Writer:
    """One process that writes."""

    process: int
    pipe: int
    heard: bytes = b""

    def listen(self, until: float) -> None:
        """Read acknowledgements until a moment, or until the writer is dead and all is read."""
        while (left := until - time.monotonic()) > 0:
            if select.select([self.pipe], [], [], left)[0] and not self._read():
                return

    def _read(self) -> bool:
        content = os.read(self.pipe, 65_536)
        self.heard += content
        return bool(content)

    def kill(self) -> list[str]:
        """End the process, and return what it acknowledged.

        Raises:
            AssertionError: it had ended by itself.
        """
        os.kill(self.process, signal.SIGKILL)
        _, status = os.waitpid(self.process, 0)
        while self._read():
            pass
        os.close(self.pipe)
        assert os.WIFSIGNALED(status), "the writer ended by itself, see above"
        return self.heard.decode().splitlines()


@dataclass(slots=True)
class _Tally:
    """What happened in a scenario."""

    kills: int = 0
    acknowledged: int = 0
    failures: list[str] = field(default_factory=list)


def _started(scenario: Scenario, place: Place, seed: int) -> _Writer:
    """Start a process that writes until it is killed."""
    pipe, end = os.pipe()
    process = os.fork()
    if process:
        os.close(end)
        return _Writer(process, pipe)
    try:
        scenario.write(place, random.Random(seed), lambda told: os.write(end, f"{told}\n".encode()) and None)
    except BaseException:
        traceback.print_exc()
    os._exit(3)


def _round(scenario: Scenario, place: Place, dice: random.Random) -> tuple[list[str], int]:
    """Let writers write, kill them one after the other, and return what they acknowledged, and the kills."""
    writers = [_started(scenario, place, dice.getrandbits(32)) for _ in range(scenario.workers)]
    acked: list[str] = []
    try:
        limit = time.monotonic() + _PATIENCE
        while not writers[0].heard and time.monotonic() < limit:
            writers[0].listen(time.monotonic() + 0.001)
        assert writers[0].heard, f"the writer acknowledged nothing in {_PATIENCE:g} s"
        for _ in range(scenario.workers):
            writers[0].listen(time.monotonic() + dice.uniform(0, _LIVES))
            acked += writers.pop(0).kill()
    finally:
        for writer in writers:
            writer.kill()
    return acked, scenario.workers


def _whole(place: Place) -> None:
    """See that the database itself finds no fault in its file."""
    path = Path(place.url.removeprefix("sqlite:///"))
    if not place.url.startswith("sqlite:") or not path.exists():
        return
    connection = sqlite3.connect(path)
    try:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        connection.execute("INSERT INTO brim_words (brim_words) VALUES ('integrity-check')")
    finally:
        connection.close()


def run(name: str, scenario: Scenario, kills: int, seed: int, server: str | None) -> _Tally:
    """Kill the writers of a scenario so many times."""
    tally, dice = _Tally(), random.Random(f"{name} {seed}")
    while tally.kills < kills and not tally.failures:
        with tempfile.TemporaryDirectory(prefix="brim-crash-") as folder:
            url = server or f"sqlite:///{folder}/brim.db"
            place = Place(folder=Path(folder), url=url, name=f"{name} {seed} {tally.kills}")
            acked: list[str] = []
            for _ in range(_PER_PLACE):
                try:
                    heard, killed = _round(scenario, place, dice)
                    acked += heard
                    tally.kills += killed
                    tally.acknowledged += len(heard)
                    scenario.check(place, acked)
                    _whole(place)
                except Exception:
                    tally.failures.append(traceback.format_exc(limit=-2))
                    break
                if tally.kills >= kills:
                    break
    return tally


def main() -> int:
    """Read the arguments, kill, and return 1 if something was lost."""
    known = {**SCENARIOS, **LIES}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=300, help="how many, over all scenarios")
    parser.add_argument("--only", choices=known, help="run this scenario alone")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--postgres", action="store_true", help="write to a PostgreSQL server that is started for it")
    given = parser.parse_args()
    chosen = {given.only: known[given.only]} if given.only else SCENARIOS
    share, began, failed = -(-given.kills // len(chosen)), time.perf_counter(), 0
    total = _Tally()
    with services.postgres() if given.postgres else nullcontext() as server:
        for name, scenario in chosen.items():
            tally = run(name, scenario, share, given.seed, server)
            print(f"{name}: {tally.kills} kills, {tally.acknowledged:,} acknowledged, {len(tally.failures)} failures")
            print("".join(tally.failures), end="", file=sys.stderr)
            total.kills += tally.kills
            total.acknowledged += tally.acknowledged
            failed += len(tally.failures)
    where, seconds = "PostgreSQL" if given.postgres else "SQLite and files", time.perf_counter() - began
    told = "nothing lost, nothing torn" if not failed else f"{failed} scenarios lost or tore something"
    print(f"{where}: {total.kills} kills, {total.acknowledged:,} acknowledged writes, {told}, in {seconds:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
