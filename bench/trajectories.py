"""Recorded agent runs to replay: read from files, or made up.

The files are JSON lines, plain or gzipped, a run a line: `{"id": ..., "messages": [...]}` in OpenAI's chat shape. Other
lines are passed over. Nothing of what is read is stored.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from bench import said_formats, said_runs
from bench.suite import Message

_TUNED = 12
"""Runs of a file that constants were tuned on: every n-th."""
_RUNS = 8
"""Other runs of a file that are measured."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Trajectory:
    """One recorded run, from the system message to the last answer."""

    name: str
    messages: tuple[Message, ...]

    def calls(self) -> Iterator[int]:
        """Yield where the model was called: the index of each of its answers, which is the length of its prompt."""
        for i, message in enumerate(self.messages):
            if i and message["role"] == "assistant":
                yield i


def unseen(traces: Path | None) -> list[Trajectory]:
    """Return runs of each file that constants were not tuned on, mixed; without a folder, runs of our own."""
    if traces is None:
        return synthetic()
    found: list[Trajectory] = []
    for path in files(traces):
        runs = lines(path)
        step = max(1, len(runs) // _TUNED)
        others = [each for i, each in enumerate(runs) if i % step]
        found += others[:: max(1, len(others) // _RUNS)][:_RUNS]
    Random(11).shuffle(found)
    return found


def files(folder: Path) -> list[Path]:
    """Return the files of a folder that may hold runs, in the order of their names."""
    return sorted([*folder.glob("*.jsonl"), *folder.glob("*.jsonl.gz")])


def lines(path: Path) -> list[Trajectory]:
    """Return the runs of one file."""
    found = []
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as rows:
        for number, line in enumerate(rows):
            row = json.loads(line)
            if row.get("messages"):
                name = str(row.get("id", f"{path.name}:{number}"))
                found.append(Trajectory(name=name, messages=tuple(row["messages"])))
    return found


def synthetic(count: int = 48) -> list[Trajectory]:
    """Return runs of our own, the same on every machine: those of `bench/said_runs.py`, in OpenAI's chat format."""
    return [
        Trajectory(
            name=f"made up {seed}",
            messages=tuple(part for message in said_runs.run(seed, 60).messages for part in said_formats.chat(message)),
        )
        for seed in range(count)
    ]
