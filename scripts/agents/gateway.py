"""`brim gateway` as a process of its own, with what it prints in a file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

_ENDS = 10
"""Seconds that a gateway has to end."""


class GatewayProcess(NamedTuple):
    """A gateway that runs."""

    address: str
    """Without `/v1`."""
    pid: int


@contextmanager
def running_gateway(
    upstream: str, folder: Path, window: int | None, meter: str | None = None, *, lowers: bool = False
) -> Iterator[GatewayProcess]:
    """Run the gateway before an upstream, and yield it.

    Args:
        upstream: the address of the upstream.
        folder: where the output is written.
        window: the window that the gateway is told, or None if it has to find out.
        meter: the meter that it is told, or None if it has to find out.
        lowers: whether it may ask for a shorter answer.
    """
    told = [] if window is None else ["--window", str(window)]
    told += [] if meter is None else ["--meter", meter]
    env = {**os.environ, "BRIM_GATEWAY__LOWER_ANSWER": str(lowers).lower()}
    command = [sys.executable, "-m", "brim", "gateway", "--upstream", f"{upstream}/v1", "--port", "0", "--json", *told]
    with (
        tempfile.TemporaryDirectory() as empty,
        (folder / "gateway.out").open("w") as out,
        (folder / "gateway.err").open("w") as errors,
        subprocess.Popen(command, cwd=empty, env=env, stdout=subprocess.PIPE, stderr=errors, text=True) as process,
    ):
        assert process.stdout is not None
        first = process.stdout.readline()
        if not first:
            raise RuntimeError(f"the gateway did not start; what it printed is in {errors.name}")
        threading.Thread(target=_copy, args=(process.stdout, out), daemon=True).start()
        try:
            yield GatewayProcess(json.loads(first)["address"].removesuffix("/v1"), process.pid)
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
