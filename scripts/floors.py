"""Draws the import graph of the package, and fails where the layout of docs/design/floors.md does not hold.

A room is a module or a package at the top level. Every import counts, also those inside functions and those for types
alone. A floor may import only from the floors below it, so two rooms of one floor never import each other.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "brim"

FLOORS = (
    ("start", ("__main__",)),
    ("command line", ("cli",)),
    ("page", ("__init__", "studio")),
    ("edges", ("gateway", "audit", "integrations", "flows", "doctor")),
    ("settings", ("settings",)),
    ("sessions", ("sessions", "requests")),
    ("deciding", ("sections", "history", "testing")),
    ("records", ("truncate", "receipts", "relevance", "store", "llm")),
    ("counting", ("meter",)),
    ("values", ("wire", "amounts", "files", "observe", "hosts", "redaction")),
    ("errors", ("errors",)),
)
HEIGHT = {room: height for height, (_, rooms) in enumerate(reversed(FLOORS)) for room in rooms}

MOST_ROOMS = 28
MOST_LINES = 1_000
"""Lines of a module: a class that is one thing is one file, however long, but no file holds many."""
LONGEST_FUNCTION = 60
"""Lines of a function, without its docstring."""

Graph = Mapping[str, set[str]]


def modules(package: Path = PACKAGE) -> dict[str, ast.Module]:
    """Return the modules of the package, parsed, by their dotted names; a package has the name of its `__init__`."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).with_suffix("").parts
        inner = parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts
        found[".".join(inner)] = ast.parse(path.read_text(encoding="utf-8"))
    return found


def graph(trees: Mapping[str, ast.Module]) -> dict[str, set[str]]:
    """Return which module imports which."""
    return {name: {target for target in _imports(tree, trees) if target != name} for name, tree in trees.items()}


def _imports(tree: ast.Module, known: Mapping[str, ast.Module]) -> Iterator[str]:
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.ImportFrom):
            base = node.module or ""
            names = [f"{base}.{alias.name}" for alias in node.names] if base.split(".")[0] == "brim" else []
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names if alias.name.split(".")[0] == "brim"]
        for name in names:
            yield _module(name.removeprefix("brim").removeprefix("."), known)


def _module(name: str, known: Mapping[str, ast.Module]) -> str:
    """Return the module that a dotted name leads to: itself, or the nearest above it."""
    while name and name not in known:
        name = name.rpartition(".")[0]
    return name or "__init__"


def rooms(modules_graph: Graph) -> dict[str, set[str]]:
    """Return which room imports which."""
    found: dict[str, set[str]] = {}
    for name, targets in modules_graph.items():
        room = name.split(".")[0]
        found.setdefault(room, set()).update({target.split(".")[0] for target in targets} - {room})
    return found


def circle(of: Graph) -> list[str]:
    """Return modules that import each other in a circle, or nothing."""
    try:
        TopologicalSorter(of).prepare()
    except CycleError as error:
        return sorted(set(error.args[1]))
    return []


def arrows_up(modules_graph: Graph) -> list[str]:
    """Return a line for each import that does not lead to a lower floor, or that leaves from or leads to no floor."""
    found = []
    for name, targets in sorted(modules_graph.items()):
        room = name.split(".")[0]
        for target in sorted(targets):
            other = target.split(".")[0]
            if room not in HEIGHT or other not in HEIGHT:
                found.append(f"{name} -> {target}: {room if room not in HEIGHT else other} is on no floor")
            elif other != room and HEIGHT[other] >= HEIGHT[room]:
                found.append(f"{name} -> {target} does not lead down")
    return found


def namesakes(trees: Mapping[str, ast.Module]) -> dict[str, list[str]]:
    """Return the names that several public classes have, each with the modules that define one."""
    found: dict[str, list[str]] = {}
    for name, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found.setdefault(node.name, []).append(name)
    return {name: where for name, where in sorted(found.items()) if len(where) > 1}


def oversized(trees: Mapping[str, ast.Module], package: Path = PACKAGE) -> list[str]:
    """Return the modules and functions that are longer than a reader can follow."""
    found = []
    for path in sorted(package.rglob("*.py")):
        lines = path.read_text(encoding="utf-8").count("\n")
        if lines > MOST_LINES:
            found.append(f"{path.relative_to(package)}: {lines} lines")
    for name, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                told = node.body[0] if ast.get_docstring(node) else None
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                lines -= (told.end_lineno or 0) - told.lineno + 1 if told else 0
                if lines > LONGEST_FUNCTION:
                    found.append(f"{name}.{node.name}: {lines} lines")
    return found


def faults(package: Path = PACKAGE) -> list[str]:
    """Return a line for everything in which the package is not laid out as it should be."""
    trees = modules(package)
    imports = graph(trees)
    told = [f"circle: {' <-> '.join(found)}"] if (found := circle(imports)) else []
    told += arrows_up(imports)
    if (number := len(rooms(imports))) > MOST_ROOMS:
        told.append(f"{number} rooms, at most {MOST_ROOMS}")
    told += [f"class {name} is defined by {', '.join(where)}" for name, where in namesakes(trees).items()]
    return told + oversized(trees, package)


def drawn(between: Graph) -> str:
    """Return the rooms as text, floor by floor, each with what it imports."""
    lines = []
    for floor, names in FLOORS:
        lines.append(floor)
        for room in names:
            targets = sorted(between.get(room, ()), key=lambda target: (-HEIGHT.get(target, 0), target))
            lines.append(f"  {room:<12} -> {' '.join(targets) or '(nothing of ours)'}")
    return "\n".join(lines)


def main() -> int:
    """Print the graph and its sums; return 1 where something is wrong."""
    trees = modules()
    between = rooms(graph(trees))
    wrong = faults()
    print(drawn(between))
    print("\n".join(wrong), file=sys.stderr)
    arrows = sum(map(len, between.values()))
    print(f"{len(between)} rooms, {len(FLOORS)} floors, {arrows} arrows, {len(trees)} modules, {len(wrong)} faults")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
