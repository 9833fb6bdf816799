"""`brim gateway` as a process of its own, with what it prints in a file."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

_ENDS = 10
"""Seconds that a gateway has to end."""


@contextmanager
def running_gateway(upstream: str, folder: Path) -> Iterator[str]:
    """Run the gateway before an upstream, with its output in a folder, and yield its address.

    It is told nothing: the window is found out by the first refusal.
    """
    command = [sys.executable, "-m", "brim", "gateway", "--upstream", upstream, "--port", "0", "--json"]
    with (
        tempfile.TemporaryDirectory() as empty,
        (folder / "gateway.out").open("w") as out,
        (folder / "gateway.err").open("w") as errors,
        subprocess.Popen(command, cwd=empty, stdout=subprocess.PIPE, stderr=errors, text=True) as process,
    ):
        assert process.stdout is not None
        first = process.stdout.readline()
        if not first:
            raise RuntimeError(f"the gateway did not start; what it printed is in {errors.name}")
        threading.Thread(target=_copy, args=(process.stdout, out), daemon=True).start()
        try:
            yield json.loads(first)["address"].removesuffix("/v1")
        finally:
            process.terminate()
            try:
                process.wait(_ENDS)
            except subprocess.TimeoutExpired:
                process.kill()


def _copy(source: IO[str], target: IO[str]) -> None:
    for line in source:
        target.write(line)
        target.flush()
