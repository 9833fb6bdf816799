"""The report of a run: the same tables in the terminal and in a Markdown file, and plots."""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from bench.outcome import Cell, Gate, Outcome, Plot, Table

_LIBRARIES = (
    "brim",
    "toktok-rs",
    "tiktoken",
    "tokenizers",
    "litellm",
    "prompt-poet",
    "priompt",
    "promptbudget",
    "regex",
    "matplotlib",
)


def machine() -> str:
    """Return the machine, the interpreter and the versions of the libraries, as Markdown."""
    load = ", ".join(f"{each:.2f}" for each in os.getloadavg())
    found = ", ".join(f"{name} {_version(name)}" for name in _LIBRARIES)
    return (
        f"- machine: {platform.platform()}, {os.cpu_count()} CPUs, load {load}\n"
        f"- Python: {platform.python_implementation()} {platform.python_version()}\n"
        f"- libraries: {found}\n"
    )


def page(outcome: Outcome) -> str:
    """Return what one benchmark found, as Markdown."""
    parts = [f"## {outcome.name}\n", *map(_table, outcome.tables)]
    if outcome.gates:
        parts.append(gates(outcome.gates))
    return "\n".join(parts)


def gates(found: Sequence[Gate]) -> str:
    """Return the gates with their verdicts, as a Markdown table."""
    rows: list[list[Cell]] = [
        [
            gate.name,
            gate.value,
            f"{'>=' if gate.at_least else '<='} {_cell(gate.limit)} {gate.unit}".strip(),
            verdict(gate),
        ]
        for gate in found
    ]
    return _table(Table(title="Gates", columns=["gate", "measured", "limit", "verdict"], rows=rows))


def verdict(gate: Gate) -> str:
    """Return PASS or FAIL."""
    return "PASS" if gate.passed else "FAIL"


def write(outcomes: Sequence[Outcome], head: str, folder: Path) -> list[Path]:
    """Write `results.md` and the plots into `folder`, and return what was written.

    Without matplotlib there are no plots.
    """
    folder.mkdir(parents=True, exist_ok=True)
    plots = [plot for outcome in outcomes for plot in outcome.plots]
    drawn = _draw(plots, folder)
    every = [gate for outcome in outcomes for gate in outcome.gates]
    parts = ["# Results\n", head, gates(every), *map(page, outcomes)]
    parts += [f"![{path.stem}]({path.name})\n" for path in drawn]
    target = folder / "results.md"
    target.write_text("\n".join(parts), encoding="utf-8")
    return [target, *drawn]


def _table(table: Table) -> str:
    """Return a Markdown table whose columns are also aligned for the eye."""
    cells = [list(table.columns), *([_cell(cell) for cell in row] for row in table.rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(table.columns))]
    right = [
        all(not isinstance(row[i], str) for row in table.rows) and bool(table.rows) for i in range(len(table.columns))
    ]

    def line(row: Sequence[str]) -> str:
        padded = (
            text.rjust(width) if flush else text.ljust(width)
            for text, width, flush in zip(row, widths, right, strict=True)
        )
        return f"| {' | '.join(padded)} |"

    rule = [("-" * (width - 1) + ":") if flush else "-" * width for width, flush in zip(widths, right, strict=True)]
    lines = [f"### {table.title}\n", line(cells[0]), line(rule), *map(line, cells[1:])]
    if table.notes:
        lines += ["", *table.notes]
    return "\n".join(lines) + "\n"


def _cell(value: Cell) -> str:
    """Return a number with three digits that mean something, a text as it is."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value.replace("|", "\\|")
    if isinstance(value, int):
        return f"{value:,}"
    if math.isnan(value):
        return "-"
    digits = 0 if value == 0 else max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:,.{min(digits, 6)}f}"


def _draw(plots: Sequence[Plot], folder: Path) -> list[Path]:
    if not plots:
        return []
    try:
        import matplotlib as mpl
    except ImportError:
        return []
    mpl.use("Agg")
    from matplotlib import pyplot

    paths = []
    for plot in plots:
        figure, axes = pyplot.subplots(figsize=(9, 5))
        for name, points in plot.lines.items():
            axes.loglog([x for x, _ in points], [y for _, y in points], marker="o", label=name)
        if plot.lines:
            axes.legend()
            axes.set_xlabel(plot.x_label)
            axes.set_ylabel(plot.y_label)
        if plot.bars:
            names = [name.replace("$", r"\$") for name in plot.bars]
            axes.barh(names, list(plot.bars.values()))
            axes.invert_yaxis()
            axes.set_xlabel(plot.y_label)
            if max(plot.bars.values()) > 100 * min(plot.bars.values()):
                axes.set_xscale("log")
        axes.set_title(plot.title)
        figure.tight_layout()
        path = folder / f"{plot.name}.png"
        figure.savefig(path, dpi=110)
        pyplot.close(figure)
        paths.append(path)
    return paths


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
