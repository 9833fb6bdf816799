"""Lists the numbered requirements and the tests that name them.

It reads the marks from the sources of the tests, and runs no test.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

_RANGES = {
    "the kernel": "S0.1-8 S0.12 S0.17 S1.3-13 S1.16-20 S4.1-8 S4.12",
    "histories": "S2.18 S2.26-31 S2.34 S3.10",
    "memory": "S0.9 S0.12-16 S1.14 S3.12",
    "packs and flows": "S0.18 S2.4-12 S2.31-35",
    "settings": "S2.1-2 S2.13-17 S2.19-21 S2.23-25",
    "the profile ecology": "S1.1-23",
    "the profile flow": "S2.1-36 X6",
    "the profile session": "S3.1-15",
    "over time": "S0.13-22 X1 X2 X3 X4 X5 X6 X7 X8 X9",
    "forge": "S0.1-24",
    "broker": "S4.1-16",
}
"""The requirements of each part of the project."""


def wanted(ranges: str) -> list[str]:
    """Return the ids of ranges such as `S0.1-8`."""
    ids = []
    for word in ranges.split():
        match = re.fullmatch(r"(S\d+)\.(\d+)(?:-(\d+))?", word)
        if re.fullmatch(r"X\d+", word):
            ids.append(word)
            continue
        if match is None:
            raise ValueError(f"{word!r} is not a range of requirements")
        ids += [f"{match[1]}.{n}" for n in range(int(match[2]), int(match[3] or match[2]) + 1)]
    return ids


def named(tests: Path = ROOT / "tests") -> dict[str, list[str]]:
    """Return the tests by the requirement that they name."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(tests.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.FunctionDef | ast.ClassDef):
                continue
            for mark in node.decorator_list:
                if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.requirement":
                    for name in mark.args:
                        found[ast.literal_eval(name)].append(f"{path.relative_to(tests)}::{node.name}")
    return found


def missing() -> list[str]:
    """Return the requirements that no test names."""
    found = named()
    return [name for ranges in _RANGES.values() for name in wanted(ranges) if name not in found]


def main() -> int:
    """Print the table; return 1 if a requirement has no test."""
    found = named()
    for part, ranges in _RANGES.items():
        print(part)
        for name in wanted(ranges):
            print(f"  {name:<6} {'; '.join(found.get(name, ['MISSING']))}")
    return 1 if missing() else 0


if __name__ == "__main__":
    raise SystemExit(main())
