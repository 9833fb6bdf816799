"""Seeds one fault at a time in a copy of the package, and checks that the tests fail.

    python scripts/faults.py                 every fault of scripts/faults.txt, two at a time
    python scripts/faults.py --only memo     only faults with this word in their name or file
    python scripts/faults.py --every 10      every tenth fault
    python scripts/faults.py --list          the list of faults

A test is worth what it can catch. A fault is found in the syntax tree: a function, an expression or statement in it,
and what to put in its place. A fault whose place is gone is an error. See docs/design/faults.md.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent

_SECONDS = 600
"""A run that takes longer hangs; without a fault, the tests of one file take at most a tenth of it."""
WITH_SLOW = ("-m", "not services and not ui and not integrations and not hostile")
"""Selects the tests of `make test` and of `make test-slow`."""
_NO_SHRINKING = """
from hypothesis import Phase
settings.register_profile("faults", settings.get_profile("quick"), phases=(Phase.explicit, Phase.generate))
settings.load_profile("faults")
"""
"""For the copy's conftest: an example that fails need not be shrunk."""
_GENERATED = """
import promise
for seed in range(400):
    try:
        promise.check(promise.Case.of(seed))
    except Exception as error:
        raise SystemExit(f"promise.py, seed {seed}: {type(error).__name__}")
"""
"""Generated fits, for a fault that passes its own tests."""


class Fault(NamedTuple):
    """One fault that can be seeded."""

    name: str
    file: str
    """Under src/brim."""
    place: str
    """The function or class.method, or `module`."""
    old: str
    """An expression or a statement that is there exactly once."""
    new: str
    tests: tuple[str, ...]
    """The tests most likely to fail."""

    def broken(self, source: str) -> str:
        """Return the source of its file with the fault in it.

        Raises:
            LookupError: the place is gone, or the expression is missing there or there more than once.
        """
        tree = ast.parse(source)
        scope = tree if self.place == "module" else dict(_scopes(tree)).get(self.place)
        if scope is None:
            raise LookupError(f"{self.file}: {self.name!r} is in {self.place}, which is not there")
        wanted = _dump(self.old)
        found = [node for node in ast.walk(scope) if isinstance(node, ast.expr | ast.stmt) and _same(node, wanted)]
        if len(found) != 1:
            raise LookupError(f"{self.file}: {self.place} has {len(found)} times {self.old!r}, for {self.name!r}")
        lines = source.encode().splitlines(keepends=True)
        node = found[0]
        start = sum(map(len, lines[: node.lineno - 1])) + node.col_offset
        end = sum(map(len, lines[: (node.end_lineno or 0) - 1])) + (node.end_col_offset or 0)
        new = self.new.replace("\n", "\n" + " " * node.col_offset)
        return (source.encode()[:start] + new.encode() + source.encode()[end:]).decode()


class Verdict(NamedTuple):
    """The result of one fault."""

    fault: Fault | None
    """`None` for the copy without a fault, which must pass."""
    caught: str
    """The first test that failed; empty when all passed."""
    seconds: float


def _scopes(node: ast.AST, name: str = "") -> Iterator[tuple[str, ast.AST]]:
    """Yield the functions and classes in a node by their qualified names."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            qualified = f"{name}.{child.name}" if name else child.name
            yield qualified, child
            yield from _scopes(child, qualified)
        else:
            yield from _scopes(child, name)


def _dump(text: str) -> str:
    (statement,) = ast.parse(text).body
    return ast.dump(statement.value if isinstance(statement, ast.Expr) else statement)


def _same(node: ast.AST, wanted: str) -> bool:
    return type(node).__name__ == wanted.partition("(")[0] and ast.dump(node) == wanted


def read(text: str) -> Iterator[Fault]:
    """Yield the faults of a list: files with their tests, and below each its faults."""
    file, tests = "", ""
    for block in re.split(r"\n(?=\S|  \S)", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)):
        head, *lines = block.rstrip().split("\n")
        if not head.startswith("  "):
            file, _, tests = head.partition(": ")
            continue
        named = re.fullmatch(r"  (.+) \(([\w.]+)\)", head)
        if named is None:
            raise ValueError(f"{head!r} is neither a file with its tests nor a fault with its place")
        old, new = ("\n".join(line[6:] for line in lines if line.startswith(f"    {sign} ")) for sign in "-+")
        yield Fault(named[1], file, named[2], old, new, tuple(tests.split()))


FAULTS = tuple(read((ROOT / "scripts" / "faults.txt").read_text(encoding="utf-8").strip()))


def listed(faults: Sequence[Fault] = FAULTS) -> str:
    """Return the faults by file, as Markdown."""
    files = dict.fromkeys(fault.file for fault in faults)
    return "\n".join(f"- `{file}`: " + "; ".join(f.name for f in faults if f.file == file) for file in files) + "\n"


class Copy:
    """A copy of the package and its tests, in which faults are seeded and removed."""

    def __init__(self, folder: Path) -> None:
        """Copy the checkout.

        Raises:
            RuntimeError: the tests import another package, and every fault would seem to survive.
        """
        self.folder = folder
        self.package = folder / "src" / "brim"
        ignored = shutil.ignore_patterns("__pycache__", "node_modules")
        for name in ("src", "tests", "scripts", "bench", "docs", "examples"):
            shutil.copytree(ROOT / name, folder / name, ignore=ignored)
        shutil.copy(ROOT / "pyproject.toml", folder)
        with (folder / "tests" / "conftest.py").open("a", encoding="utf-8") as conftest:
            conftest.write(_NO_SHRINKING)
        told = self.run(["-c", "import brim; print(brim.__file__)"]).stdout.strip()
        if Path(told) != self.package / "__init__.py":
            raise RuntimeError(f"the tests of {folder} import {told!r}")

    def judge(self, fault: Fault | None, *steps: Sequence[str]) -> Verdict:
        """Return the first failure of some runs of Python with a fault, or without one."""
        began = time.perf_counter()
        path = self.package / fault.file if fault else self.package / "__init__.py"
        source = path.read_text(encoding="utf-8")
        try:
            path.write_text(fault.broken(source) if fault else source, encoding="utf-8")
            caught = next(filter(None, map(self._failure, steps)), "")
        finally:
            path.write_text(source, encoding="utf-8")
        return Verdict(fault, caught, time.perf_counter() - began)

    def _failure(self, arguments: Sequence[str]) -> str:
        """Return the first failure of a run of Python, or an empty text."""
        try:
            ran = self.run(arguments)
        except subprocess.TimeoutExpired:
            return f"hangs: not finished in {_SECONDS} s"
        if ran.returncode == 0:
            return ""
        failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", ran.stdout, re.MULTILINE)
        if failed:
            return failed[1]
        return (ran.stderr or ran.stdout).strip().rpartition("\n")[2] or f"ended with {ran.returncode}"

    def run(self, arguments: Sequence[str], seconds: int = _SECONDS, **more: str) -> subprocess.CompletedProcess[str]:
        """Run Python on the copy.

        Raises:
            subprocess.TimeoutExpired: it takes longer.
        """
        # Sources change within a second and may keep their size: no run may leave what it compiled to the next.
        paths = os.pathsep.join(str(self.folder / name) for name in ("src", "tests", "."))
        env = {**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1", **more}
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder, env=env, capture_output=True, text=True, timeout=seconds, check=False,
        )  # fmt: skip


def verdicts(faults: Sequence[Fault]) -> Iterator[Verdict]:
    """Yield the results: first without a fault, then of each fault."""
    own = sorted({path for fault in faults for path in fault.tests})
    generated = ["-c", _GENERATED]
    copies: Queue[Copy] = Queue()

    def judge(fault: Fault | None, *steps: Sequence[str]) -> Verdict:
        copy = copies.get()
        try:
            return copy.judge(fault, *steps)
        finally:
            copies.put(copy)

    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        for number in range(2):
            copies.put(Copy(Path(folder) / str(number)))
        untouched = [generated, *(tests_of(half) for half in (own[::2], own[1::2]) if half)]
        jobs = [pool.submit(judge, None, step) for step in untouched]
        jobs += [pool.submit(judge, fault, tests_of(fault.tests), generated) for fault in faults]
        for job in jobs:
            yield job.result()


def tests_of(paths: Sequence[str]) -> list[str]:
    """Return the arguments of Python that run some tests, up to the first that fails."""
    return ["-m", "pytest", *WITH_SLOW, "-x", "-q", "-p", "no:xdist", *paths]


def main() -> int:
    """Seed and test each fault; return 1 if a fault passes the tests, or if they fail without one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print the faults and run nothing")
    parser.add_argument("--only", default="", metavar="WORD", help="only faults with this text in their name or file")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="one fault in so many")
    given = parser.parse_args()
    chosen = [fault for fault in FAULTS if given.only in fault.name or given.only in fault.file][:: given.every]
    if given.list:
        print(listed(chosen), end="")
        return 0
    began = time.perf_counter()
    wrong = []
    for verdict in verdicts(chosen):
        name = f"{verdict.fault.file}: {verdict.fault.name}" if verdict.fault else "no fault"
        if (verdict.fault is None) == bool(verdict.caught):
            wrong.append(name)
        print(f"{name:<84} {verdict.caught or 'all pass':<110} {verdict.seconds:5.1f} s", flush=True)
    print(f"{len(chosen)} faults in {time.perf_counter() - began:.0f} s; {len(wrong)} unexpected")
    print("\n".join(wrong), file=sys.stderr)
    return 1 if wrong or not chosen else 0


if __name__ == "__main__":
    raise SystemExit(main())
