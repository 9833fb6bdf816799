"""How long the command line takes to start, in CPU time beside `import typer`, which no command of it can do without.

Each program runs as a process of its own with its bytecode in place; the least of several runs counts, since everything
that disturbs a run makes it longer.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import brim
from bench.outcome import Cell, Gate, Outcome, Setting, Table

_RUNS = 12
_BRIM = ("-m", "brim")
_VOCABULARY = "import brim; brim.meter('o200k_base').count('word')"


def run(setting: Setting) -> Outcome:
    runs = 3 if setting.quick else _RUNS
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder, "small.txt")
        text.write_text("word " * 50, "utf-8")
        with brim.open_store(f"sqlite:///{folder}/brim.db") as store:
            session = brim.Session(8_000, model="gpt-5", store=store, id="s")
            session.add({"role": "user", "content": "hello"})
            session.prompt()
        programs: dict[str, tuple[str, ...]] = {
            "python -c pass": ("-c", "pass"),
            "import typer": ("-c", "import typer"),
            "import brim": ("-c", "import brim"),
            "brim --version": (*_BRIM, "--version"),
            "brim --help": (*_BRIM, "--help"),
            "brim status --line": (*_BRIM, "status", "--line"),
            "load of the vocabulary": ("-c", _VOCABULARY),
            "brim count FILE": (*_BRIM, "count", str(text)),
        }
        took = {name: _least(program, folder, runs) for name, program in programs.items()}
    bare, typer = took["python -c pass"], took["import typer"]
    rows: list[list[Cell]] = [[name, 1e3 * each, each / typer] for name, each in took.items()]
    more = took["brim count FILE"] - took["load of the vocabulary"]
    gates = [
        Gate(
            name="start: import brim above bare Python", value=1e3 * (took["import brim"] - bare), limit=60, unit="ms"
        ),
        Gate(name="start: --version", value=took["brim --version"] / typer, limit=1.5, unit="x import typer"),
        Gate(name="start: --help", value=took["brim --help"] / typer, limit=1.5, unit="x import typer"),
        Gate(name="start: status --line", value=took["brim status --line"] / typer, limit=2.0, unit="x import typer"),
        Gate(name="start: count above the vocabulary's load", value=1e3 * more, limit=200, unit="ms"),
    ]
    columns = ["program", "CPU ms", "x import typer"]
    table = Table(title="Start of the command line", columns=columns, rows=rows, notes=[f"The least of {runs} runs."])
    return Outcome(name="startup", tables=[table], gates=gates)


def _least(program: tuple[str, ...], folder: str, runs: int) -> float:
    """Return the least CPU seconds of a program in a folder of its own."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("BRIM_")}
    found = []
    for _ in range(runs + 1):  # The first one writes the bytecode.
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *program], cwd=folder, env=environ, capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(found[1:])
