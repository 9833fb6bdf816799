"""Run a measurement in a process of its own, so that a trimmer can be stopped and cannot disturb another.

The process answers in JSON lines. Whatever a library prints goes nowhere near them.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any


class Silent(Exception):
    """The process gave no further answer in the time that it had, and was ended."""


class Broken(Exception):
    """The process ended by itself with an error, of which this is the last line."""


def ask(module: str, seconds: float, **values: Any) -> Iterator[dict[str, Any]]:
    """Yield the answers of the `job` of a module of this package, each within `seconds` of the last.

    Raises:
        Silent: an answer took longer.
        Broken: the process failed.
    """
    command = [sys.executable, "-m", "bench.worker", module, json.dumps(values)]
    root = Path(__file__).parents[1]
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=root) as process,
    ):
        assert process.stdout
        try:
            while True:
                timer = threading.Timer(seconds, process.kill)
                timer.start()
                line = process.stdout.readline()
                ended = timer.finished.is_set()
                timer.cancel()
                if not line:
                    break
                yield json.loads(line)
            code = process.wait()
        finally:
            process.kill()
        if ended:
            raise Silent(f"no answer in {seconds:.0f} s")
        if code:
            errors.seek(0)
            raise Broken(next((line.strip() for line in reversed(errors.readlines()) if line.strip()), "no error"))


def main(module: str, values: str) -> None:
    """Do a job, and write each answer as a line."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    # Libraries print what they like to standard output: it is theirs, and the answers have a pipe of their own.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    for answer in import_module(f"bench.{module}").job(**json.loads(values)):
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
    # Some libraries leave threads behind that would keep the process from ending.
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
