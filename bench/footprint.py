"""What brim costs before it does anything: import time, memory, what it touches, what it installs."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.outcome import Cell, Gate, Outcome, Setting, Table

_ROOT = Path(__file__).parents[1]
_REPEATS = 7
_TOOLS = ("pip", "setuptools", "pkg_resources", "_distutils_hack", "distutils-precedence.pth", "wheel")
"""What an empty environment holds already."""

_IMPORT = """
import sys, time
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096
touched = []
def hook(event, arguments):
    if event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+"):
        touched.append(f"{event} {arguments[0]}")
    elif event.startswith(("socket.", "os.mkdir", "os.rename", "subprocess.", "urllib.")):
        touched.append(f"{event} {arguments}"[:80])
sys.addaudithook(hook)
before, wall, cpu = resident(), time.perf_counter(), time.process_time()
import brim
told = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu, "memory": resident() - before}
told["touched"] = list(touched)
told["modules"] = len(sys.modules)
start = time.process_time()
brim.meter("o200k_base").count("first")
told["first count"] = time.process_time() - start
told["memory then"] = resident() - before
import json
print(json.dumps(told))
"""
"""What it measures needs no module that brim needs too: it would take that module's cost off the account."""


def run(setting: Setting) -> Outcome:
    with tempfile.TemporaryDirectory() as folder, _bytecode_in(folder):
        tables, gates = _import()
    if setting.install:
        table, gate = _install()
        tables.append(table)
        gates.append(gate)
    return Outcome(name="footprint", tables=tables, gates=gates)


def _import() -> tuple[list[Table], list[Gate]]:
    found = [_told() for _ in range(_REPEATS)]
    bare = min(_process_time("pass") for _ in range(_REPEATS))
    whole = min(_process_time("import brim") for _ in range(_REPEATS))
    wall, cpu, memory = (min(each[key] for each in found) for key in ("wall", "cpu", "memory"))
    touched = sorted({event for each in found for event in each["touched"]})
    rows: list[list[Cell]] = [
        ["import brim, wall, measured inside", wall * 1e3, "ms"],
        ["import brim, CPU, measured inside", cpu * 1e3, "ms"],
        ["python -c 'import brim' minus python -c 'pass', CPU", (whole - bare) * 1e3, "ms"],
        ["memory that the import adds", memory / 1e6, "MB"],
        ["modules loaded afterwards", found[0]["modules"], ""],
        ["files written, sockets, processes at import", len(touched), ", ".join(touched) or "none"],
        ["first count afterwards (loads the vocabulary), CPU", min(each["first count"] for each in found) * 1e3, "ms"],
        ["memory with the vocabulary", min(each["memory then"] for each in found) / 1e6, "MB"],
    ]
    gates = [
        Gate(name="import brim", value=(whole - bare) * 1e3, limit=100, unit="ms"),
        Gate(name="import brim, memory", value=memory / 1e6, limit=15, unit="MB"),
        Gate(name="import brim, files written or network", value=len(touched), limit=0, unit=""),
    ]
    tables = [
        Table(title=f"The import, best of {_REPEATS} processes", columns=["what", "measured", "unit"], rows=rows),
        _slowest_imports(),
    ]
    return tables, gates


@contextmanager
def _bytecode_in(folder: str) -> Iterator[None]:
    """Let children find bytecode in `folder`, written once, as an installer does: compiling is not importing."""
    kept = dict(os.environ)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = folder
    try:
        _python("-c", _IMPORT)
        yield
    finally:
        os.environ.clear()
        os.environ.update(kept)


def _told() -> dict[str, Any]:
    told: dict[str, Any] = json.loads(_python("-B", "-c", _IMPORT).stdout)
    return told


def _process_time(code: str) -> float:
    """Return the CPU seconds that a whole interpreter takes for `code`."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    _python("-B", "-c", code)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _slowest_imports() -> Table:
    """Return the modules that take most of the import, by `-X importtime`."""
    lines = _python("-B", "-X", "importtime", "-c", "import brim").stderr.splitlines()
    parsed = [line.removeprefix("import time:").split("|") for line in lines if "|" in line and "self" not in line]
    entries = [(int(own), int(all_), name.strip()) for own, all_, name in parsed]
    entries.sort(reverse=True)
    rows: list[list[Cell]] = [[name, own / 1e3, all_ / 1e3] for own, all_, name in entries[:10]]
    return Table(
        title="The slowest imports (with the interpreter's own)",
        columns=["module", "itself ms", "with what it imports ms"],
        rows=rows,
    )


def _install() -> tuple[Table, Gate]:
    """Return the size of a fresh environment that has brim and nothing else."""
    with tempfile.TemporaryDirectory() as folder:
        _python("-m", "venv", folder)
        _run(str(Path(folder, "bin", "python")), "-m", "pip", "install", "--quiet", str(_ROOT))
        [site] = Path(folder, "lib").glob("python*/site-packages")
        sizes = {entry.name: _size(entry) for entry in site.iterdir() if not entry.name.startswith(_TOOLS)}
    rows: list[list[Cell]] = [
        [name, size / 1e6] for name, size in sorted(sizes.items(), key=lambda item: -item[1]) if size > 100_000
    ]
    total = sum(sizes.values()) / 1e6
    table = Table(
        title="An empty environment with brim",
        columns=["installed", "MB"],
        rows=[*rows, ["all", total]],
        notes=["Bytecode included; pip and setuptools left out."],
    )
    return table, Gate(name="core install", value=total, limit=60, unit="MB")


def _size(path: Path) -> int:
    files = [path] if path.is_file() else [each for each in path.rglob("*") if each.is_file()]
    return sum(each.stat().st_size for each in files)


def _python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return _run(sys.executable, *arguments)


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=_ROOT, timeout=600)
