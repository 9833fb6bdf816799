"""Prints the weight of the project beside that of the last release, which scripts/weight.json records.

    python scripts/weight.py             the table
    python scripts/weight.py --record    write this weight as that of the version in pyproject.toml

Lines are all lines of tracked files; a module is a Python file. A tuned constant is a number at the top level of a
module that is neither 0 nor 1. A file is touched by a door if one call of it runs code of that file.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import brim
import doors

ROOT = Path(__file__).resolve().parent.parent
RECORD = ROOT / "scripts" / "weight.json"
_OWN = (".py", ".ts", ".tsx", ".mjs", ".css", ".html", ".yaml")
"""What is written by hand; data such as the table of models does not count."""


def weight() -> dict[str, int]:
    """Return the figures of this checkout by name."""
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    lines, modules, constants = Counter[str](), 0, 0
    for path in map(Path, tracked.splitlines()):
        if not (ROOT / path).is_file() or path.parts[0] not in ("src", "scripts", "bench", "tests"):
            continue
        source = path.parts[0] == "src"
        if path.parts[0] in ("src", "tests") and path.suffix not in _OWN:
            continue
        text = (ROOT / path).read_text("utf-8", errors="replace")
        room = f"src/{path.parts[2].removesuffix('.py')}" if source else path.parts[0]
        lines[room] += text.count("\n")
        if source and path.suffix == ".py":
            modules += 1
            constants += sum(map(_is_tuned, ast.parse(text).body))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    rooms = {f"lines, {room}": count for room, count in sorted(lines.items())}
    return {
        "lines of the product": sum(count for room, count in lines.items() if room.startswith("src/")),
        "lines of the workshop": lines["scripts"] + lines["bench"],
        **rooms,
        "modules of the product": modules,
        "tuned constants": constants,
        "public names": len(brim.__all__),
        "dependencies of the core": len(project["dependencies"]),
        "extras": len(project["optional-dependencies"]),
        **{f"files touched, {name.replace('`', '')}": _touched(way) for name, way in doors.DOORS.items()},
    }


def _is_tuned(node: ast.stmt) -> bool:
    if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
        return False
    values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
    return all(isinstance(each, ast.Constant) and type(each.value) in (int, float) for each in values) and any(
        isinstance(each, ast.Constant) and each.value not in (0, 1) for each in values
    )


def _touched(way: Callable[[Any], Iterator[Any]]) -> int:
    """Return how many files of brim the first prompts by one way run code of."""
    found: set[str] = set()
    folder = str(Path(brim.__file__).parent)

    def enter(frame: FrameType, event: str, _: object) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(folder):
            found.add(name)

    talk, _ = doors.run()
    for profile in (None, enter):  # Once before, so that no import is counted.
        prompts = way(talk)
        sys.setprofile(profile)
        try:
            next(prompts), next(prompts)
        finally:
            sys.setprofile(None)
    return len(found)


def main() -> int:
    """Print the table, or record the figures."""
    now = weight()
    if "--record" in sys.argv[1:]:
        RECORD.write_text(json.dumps({"version": brim.__version__, "weight": now}, indent=1) + "\n", "utf-8")
        return 0
    last = json.loads(RECORD.read_text("utf-8"))
    before = last["weight"]
    print(f"{'':<48}{last['version']:>10}{'now':>10}{'change':>10}")
    for name in {**now, **before}:
        one, two = before.get(name, 0), now.get(name, 0)
        print(f"{name:<48}{one:>10,}{two:>10,}{two - one:>+10,}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
