"""Run an example as a reader would: a process of its own, in a directory of its own."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent / "examples"


def run(name, cwd, *arguments):
    """Return what an example printed."""
    environ = {key: value for key, value in os.environ.items() if not key.startswith("BRIM_")}
    command = [sys.executable, str(ROOT / name / "main.py"), *map(str, arguments)]
    done = subprocess.run(command, cwd=cwd, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout
