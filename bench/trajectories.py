"""Recorded agent runs to replay: read from files, or made up.

The files are JSON lines, plain or gzipped, a run a line: `{"id": ..., "messages": [...]}` in OpenAI's chat shape. Other
lines are passed over. Nothing of what is read is stored.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import said_formats, said_runs
from bench.outcome import Half, Setting
from bench.suite import Message


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


def sample(setting: Setting, count: int) -> dict[str, list[Trajectory]]:
    """Return up to `count` runs of each file, spread evenly over the half that the setting names, by file.

    Without a folder there is one group of runs of our own.

    Raises:
        ValueError: there is no run in the files of the folder.
    """
    if setting.traces is None:
        return {"made up": spread(synthetic(2 * count), setting.half, count)}
    found = {path.name.split(".")[0]: spread(lines(path), setting.half, count) for path in files(setting.traces)}
    if not any(found.values()):
        raise ValueError(f"there is no trajectory in the .jsonl and .jsonl.gz files of {setting.traces}")
    return {name: runs for name, runs in found.items() if runs}


def spread(runs: Sequence[Trajectory], half: Half, count: int) -> list[Trajectory]:
    """Return up to `count` runs of one half: the first of them, and others at equal distances."""
    taken = {"even": runs[0::2], "odd": runs[1::2], "both": runs}[half]
    return list(taken[:: max(1, len(taken) // count)][:count])


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
