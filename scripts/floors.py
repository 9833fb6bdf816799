"""Draws the real import graph of the package and fails on an arrow that runs up.

The floors are those of docs/design/floors.md. Imports inside functions count: a lazy import is still an arrow.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "brim"

FLOORS = (
    ("edges", ("__main__", "cli", "gateway", "studio", "integrations", "testing")),
    (
        "running",
        (
            "audit",
            "flow",
            "loop",
            "conversation",
            "session",
            "pack",
            "exchange",
            "config",
            "store",
            "observe",
            "llm",
            "listener",
        ),
    ),
    (
        "deciding",
        (
            "replay",
            "overflow",
            "memory",
            "codebase",
            "fit",
            "fitting",
            "draft",
            "stages",
            "render",
            "visibility",
            "allocate",
            "truncate",
            "history",
            "compact",
        ),
    ),
    ("counting", ("meter", "window", "source", "sink")),
    ("values", ("wire", "message", "section", "receipt", "transcript", "schema", "shares", "amount", "memo", "errors")),
)
HEIGHT = {room: height for height, (_, rooms) in enumerate(reversed(FLOORS)) for room in rooms}
APART = ("gateway", "studio", "integrations")
"""Edges that know nothing of each other; only the command line starts them."""

Arrow = tuple[str, str]


def arrows(package: Path = PACKAGE) -> dict[Arrow, set[str]]:
    """Return the arrows between rooms, each with the files that draw it."""
    found: dict[Arrow, set[str]] = {}
    for path in sorted(package.rglob("*.py")):
        inside = path.relative_to(package)
        room = inside.parts[0].removesuffix(".py")
        if room == "__init__":
            continue
        for target in _imported(ast.parse(path.read_text(encoding="utf-8"))):
            if target != room:
                found.setdefault((room, target), set()).add(str(inside))
    return found


def _imported(tree: ast.Module) -> set[str]:
    """Return the rooms of the package that a module imports, wherever in it."""
    rooms = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "brim":
            rooms |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("brim."):
            rooms.add((node.module or "").split(".")[1])
        elif isinstance(node, ast.Import):
            rooms |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("brim.")}
    return rooms


def faults(found: dict[Arrow, set[str]]) -> list[str]:
    """Return a sentence for each arrow that runs up, leads nowhere, or joins two edges that should be apart."""
    told = []
    for (room, target), files in sorted(found.items()):
        where = ", ".join(sorted(files))
        if room not in HEIGHT or target not in HEIGHT:
            told.append(f"{room} -> {target} ({where}): {room if room not in HEIGHT else target} is on no floor")
        elif HEIGHT[target] > HEIGHT[room]:
            told.append(f"{room} -> {target} ({where}) runs up")
        elif room in APART and target in (*APART, "cli"):
            told.append(f"{room} -> {target} ({where}): edges never import each other")
    return told


def drawn(found: dict[Arrow, set[str]]) -> str:
    """Return the graph as text, floor by floor."""
    lines = []
    for floor, rooms in FLOORS:
        lines.append(f"{floor}")
        for room in rooms:
            targets = sorted({target for source, target in found if source == room}, key=lambda t: -HEIGHT.get(t, 0))
            if targets or (PACKAGE / room).exists() or (PACKAGE / f"{room}.py").exists():
                lines.append(f"  {room:<12} -> {' '.join(targets) or '(nothing of ours)'}")
    return "\n".join(lines)


def main() -> int:
    """Print the graph; return 1 if it has a fault."""
    found = arrows()
    print(drawn(found))
    wrong = faults(found)
    print("\n".join(wrong) or f"{len(found)} arrows, none runs up", file=sys.stderr if wrong else sys.stdout)
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
