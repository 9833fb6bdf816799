"""Draws mutants of the product at random, and tells which of them the tests of `make test` catch.

    python scripts/mutants.py                      200 mutants; some hours on two cores, minutes on sixteen
    python scripts/mutants.py --draw 20 --seed 3   another draw

An expression in the body of a function is changed: a comparison, a condition, a sum, a number, a result, a call whose
result is not used. First all tests run once on a copy in which each place says which test runs it; then each mutant is
judged by those tests of its place that passed there, the most particular first, and the first that fails is named. A
mutant that no test runs, or that all of its tests pass, survives. Unlike the faults of scripts/faults.txt, nobody chose
these.
"""

from __future__ import annotations

import argparse
import ast
import itertools
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from scripts.faults import ROOT, WITH_SLOW, Copy
else:
    from faults import ROOT, WITH_SLOW, Copy

_JOBS = os.cpu_count() or 1
"""How many mutants are judged at once, each in a copy of its own."""
_SECONDS = 300
"""What the tests of one mutant may take; one that they have not caught by then hangs, which is caught as well."""
_SWAPS: dict[type[ast.AST], Any] = dict(
    [
        *[(ast.Lt, ast.LtE), (ast.LtE, ast.Lt), (ast.Gt, ast.GtE), (ast.GtE, ast.Gt), (ast.Eq, ast.NotEq)],
        *[(ast.NotEq, ast.Eq), (ast.Is, ast.IsNot), (ast.IsNot, ast.Is), (ast.In, ast.NotIn), (ast.NotIn, ast.In)],
        *[(ast.And, ast.Or), (ast.Or, ast.And), (ast.Add, ast.Sub), (ast.Sub, ast.Add), (ast.Mult, ast.FloorDiv)],
        *[(ast.FloorDiv, ast.Mult), (ast.Div, ast.Mult)],
    ]
)
_PROBE = """
import os
_seen, _hits = set(), %r
def hit(place):
    key = (place, os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0])
    if key not in _seen:
        _seen.add(key)
        with open(os.path.join(_hits, str(os.getpid())), "a") as file:
            file.write("{}\\t{}\\n".format(*key))
"""
_FAILURES = """
def pytest_runtest_logreport(report):
    if report.failed:
        with open(%r, "a") as file:
            file.write(report.nodeid + "\\n")
"""
"""For the conftest of that copy: a test that fails in any copy cannot judge a mutant."""
_TIMES = itertools.count(1_000_000_000)
"""The time of each file that is written, since a compiled file is used for a source of the same time and size."""


class Mutant(NamedTuple):
    """One change of the product."""

    file: Path
    """Under the root of the project."""
    line: int
    start: int
    """In bytes of the file."""
    end: int
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {' '.join(self.old.split())[:70]} -> {' '.join(self.new.split())[:70]}"


def mutants(file: Path) -> Iterator[Mutant]:
    """Yield every mutant of one file."""
    source = (ROOT / file).read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) and function.name != "__repr__":
            for statement in function.body:
                for node, new in _changes(statement):
                    start = starts[node.lineno - 1] + node.col_offset
                    end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
                    yield Mutant(file, node.lineno, start, end, source[start:end].decode(), new)


def _changes(node: ast.AST) -> Iterator[tuple[ast.expr, str]]:  # noqa: PLR0912 - one branch for each change
    """Yield the expressions in a node that can be changed, each with what takes its place."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.JoinedStr | ast.Raise):
        return
    match node:
        case ast.Compare(ops=[op]) if type(op) in _SWAPS:
            yield node, ast.unparse(ast.Compare(node.left, [_SWAPS[type(op)]()], node.comparators))
        case ast.BoolOp() | ast.BinOp() if type(node.op) in _SWAPS:
            fields = {name: getattr(node, name) for name in node._fields}
            yield node, ast.unparse(type(node)(**{**fields, "op": _SWAPS[type(node.op)]()}))
        case ast.Constant(value=bool() | int() as value):
            yield node, repr(not value if isinstance(value, bool) else value + 1)
        case ast.UnaryOp(op=ast.Not()):
            yield node, ast.unparse(node.operand)
        case ast.IfExp():
            yield node, ast.unparse(ast.IfExp(node.test, node.orelse, node.body))
        case ast.If() | ast.While() if not isinstance(node.test, ast.Compare | ast.BoolOp | ast.UnaryOp):
            yield node.test, f"not ({ast.unparse(node.test)})"
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield value, "None"
        case ast.Expr(value=ast.Call() as call):
            yield call, "None"
    for name, child in ast.iter_fields(node):
        if name not in ("annotation", "format_spec"):
            for each in child if isinstance(child, list) else [child]:
                if isinstance(each, ast.AST):
                    yield from _changes(each)


def draw(count: int, seed: int) -> list[Mutant]:
    """Return some mutants, no two of them at the same place."""
    files = sorted(path.relative_to(ROOT) for path in (ROOT / "src").rglob("*.py"))
    every = [mutant for file in files for mutant in mutants(file)]
    print(f"{len(every):,} places in {len(files)} files")
    drawn: list[Mutant] = []
    for one in random.Random(seed).sample(every, min(len(every), 3 * count)):
        apart = (one.file != other.file or one.end <= other.start or other.end <= one.start for other in drawn)
        if len(drawn) < count and all(apart):
            drawn.append(one)
    return drawn


def _write(folder: Path, chosen: Sequence[tuple[Mutant, str]]) -> None:
    """Write the files of some mutants with another text at each place."""
    for file in {one.file for one, _ in chosen}:
        source = (ROOT / file).read_bytes()
        for one, new in sorted((each for each in chosen if each[0].file == file), reverse=True):
            source = source[: one.start] + f"({new})".encode() + source[one.end :]
        _place(folder / file, source)


def _place(path: Path, source: bytes) -> None:
    path.write_bytes(source)
    now = next(_TIMES)
    os.utime(path, (now, now))


def coverage(drawn: Sequence[Mutant], folder: Path) -> dict[int, list[str]]:
    """Return the tests that run the place of each mutant and pass, those that run the fewest places first."""
    hits = folder / "hits"
    hits.mkdir()
    (hits / "failed").touch()
    (folder / "brim_probe.py").write_text(_PROBE % str(hits))
    with (folder / "tests" / "conftest.py").open("a", encoding="utf-8") as conftest:
        conftest.write(_FAILURES % str(hits / "failed"))
    probe = "__import__('brim_probe').hit({}) or ({})"
    _write(folder, [(one, probe.format(i, one.old)) for i, one in enumerate(drawn)])
    _pytest(folder, ["-n", str(_JOBS)], 7_200)
    failed = {"", *(hits / "failed").read_text().splitlines()}
    tests: dict[int, set[str]] = defaultdict(set)
    for path in hits.glob("[0-9]*"):
        for row in path.read_text().splitlines():
            place, _, test = row.partition("\t")
            tests[int(place)].add(test)
    places = Counter(test for found in tests.values() for test in found)
    print(f"{len(failed) - 1} tests fail in a copy, and judge nothing", flush=True)
    return {i: sorted(found - failed, key=lambda test: (places[test], test)) for i, found in tests.items()}


def _pytest(folder: Path, arguments: Sequence[str], seconds: int) -> str:
    """Return the first failure of the tests of a copy; nothing when they pass."""
    paths = os.pathsep.join((str(folder / "src"), str(folder / "tests"), str(folder)))
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    env |= {"PYTHONPATH": paths}
    command = [sys.executable, "-m", "pytest", *WITH_SLOW, "-p", "no:cacheprovider", *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, cwd=folder, env=env, stdout=pipe, stderr=pipe, text=True, start_new_session=True
    ) as ran:
        try:
            output, errors = ran.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(ran.pid, signal.SIGKILL)
            return f"hangs for {seconds} s"
    failed = re.search(r"^(?:FAILED|ERROR) (tests/.+?)(?: - .*)?$", output, re.MULTILINE)
    if ran.returncode == 0 or failed:
        return failed[1] if failed else ""
    return f"ends with {ran.returncode}: {(errors or output).strip().rpartition(chr(10))[2]}"


def judge(one: Mutant, tests: Sequence[str], folder: Path) -> str:
    """Return the first test that catches a mutant; nothing when it survives."""
    _write(folder, [(one, one.new)])
    try:
        groups = filter(None, (tests[:40], tests[40:400]))
        failures = (_pytest(folder, ["-x", "-rfE", "-p", "no:xdist", *group], _SECONDS) for group in groups)
        return next(filter(None, failures), "")
    finally:
        _place(folder / one.file, (ROOT / one.file).read_bytes())


def main() -> int:
    """Draw and judge mutants, and print those that survive."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draw", type=int, default=200, metavar="N", help="how many mutants")
    parser.add_argument("--seed", type=int, default=46)
    given = parser.parse_args()
    drawn = draw(given.draw, given.seed)
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(_JOBS) as pool:
        probed, *copies = [Copy(Path(name) / str(at)).folder for at in range(_JOBS + 1)]
        tests, free = coverage(drawn, probed), SimpleQueue[Path]()
        for each in copies:
            free.put(each)

        def work(at: int) -> bool:
            one, found, folder = drawn[at], tests.get(at, []), free.get()
            try:
                verdict = judge(one, found, folder)
            finally:
                free.put(folder)
            state = "caught" if verdict else "SURVIVES" if found else "NOT RUN"
            print(f"{state} {one} ({verdict or f'{len(found)} tests'})", flush=True)
            return bool(verdict)

        caught = sum(pool.map(work, range(len(drawn))))
    print(f"{caught} of {len(drawn)} mutants are caught ({caught / len(drawn):.0%})")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
