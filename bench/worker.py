"""Run a measurement in a process of its own, so that a trimmer can be stopped and cannot disturb another.

The process answers in JSON lines. Whatever a library prints goes nowhere near them.
"""

from __future__ import annotations

import json
import logging
import os
import queue
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import IO, Any

Answer = dict[str, Any]
Job = Callable[..., Iterator[Answer]]

JOBS = {
    "growth": "bench.growth.cases",
    "conformance": "bench.conformance",
    "engines": "bench.engines",
    "need": "bench.need",
}
"""The modules whose `job` can be asked for."""


class Silent(Exception):
    """The process gave no further answer in the time that it had, and was ended."""


class Broken(Exception):
    """The process ended by itself with an error, of which this is the last line."""


def ask(kind: str, seconds: float, first: float = 180, **values: Any) -> Iterator[Answer]:
    """Yield the answers to a job, each within `seconds` of the last, the first within `first`.

    Raises:
        Silent: an answer took longer.
        Broken: the process failed.
    """
    root = Path(__file__).parents[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=root,
    )
    assert process.stdin
    process.stdin.write(json.dumps({"kind": kind, **values}))
    process.stdin.close()
    lines: queue.Queue[str | None] = queue.Queue()
    errors: list[str] = []
    readers = [
        threading.Thread(target=_read, args=(process.stdout, lines.put), daemon=True),
        threading.Thread(target=_read, args=(process.stderr, lambda line: errors.append(line or "")), daemon=True),
    ]
    for reader in readers:
        reader.start()
    limit = first
    try:
        while (line := lines.get(timeout=limit)) is not None:
            limit = seconds
            yield json.loads(line)
        if process.wait():
            readers[-1].join()
            raise Broken(next((line.strip() for line in reversed(errors) if line.strip()), "no error was told"))
    except queue.Empty:
        raise Silent(f"no answer in {limit:.0f} s") from None
    finally:
        process.kill()
        process.wait()
        for reader in readers:
            reader.join()


def _read(source: IO[str] | None, put: Callable[[str | None], object]) -> None:
    assert source
    with source:
        for line in source:
            put(line)
    put(None)


def main() -> None:
    """Do the job that standard input tells of, and write each answer as a line."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    values = json.load(sys.stdin)
    # Libraries print what they like to standard output: it is theirs, and the answers have a pipe of their own.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    job: Job = import_module(JOBS[values.pop("kind")]).job
    for answer in job(**values):
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
    # Some libraries leave threads behind that would keep the process from ending.
    os._exit(0)


if __name__ == "__main__":
    main()
