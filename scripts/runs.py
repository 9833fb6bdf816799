"""The recorded runs of the benchmarks, `docs/runs/NAME.json`, as the pages of the docs read them.

A page says what a run measured and nothing else: what was not run is not printed. `python -m bench NAME --record
docs/runs` makes a record; `make pages` writes the pages again.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
RUNS = ROOT / "docs" / "runs"

Record = Mapping[str, Any]
Cell = str | int | float | None


def record(name: str, folder: Path = RUNS) -> Record | None:
    """Return the record of a benchmark, `None` if it was not recorded."""
    path = folder / f"{name}.json"
    if not path.is_file():
        return None
    found: Record = json.loads(path.read_text("utf-8"))
    return found


def table(found: Record, start: str) -> Record:
    """Return the table of a record whose title begins with `start`.

    Raises:
        LookupError: it has none.
    """
    for each in found["tables"]:
        if each["title"].startswith(start):
            told: Record = each
            return told
    raise LookupError(f"the record of {found['benchmark']} has no table {start!r}")


def column(found: Record, start: str, name: str) -> dict[str, Cell]:
    """Return one column of a table by the name in the first; of rows with the same name, the last."""
    told = table(found, start)
    at = list(told["columns"]).index(name)
    return {str(row[0]): row[at] for row in told["rows"]}


def gate(found: Record, start: str) -> float | None:
    """Return the value of the gate whose name begins with `start`, `None` if the record has none."""
    return next((each["value"] for each in found["gates"] if each["name"].startswith(start)), None)


def origin(found: Record) -> str:
    """Return where the figures of a record come from, as a sentence."""
    machine = found["machine"]
    traces = " on recorded runs," if found["recorded_traces"] else ""
    return (
        f"Measured on {found['date']} by `{found['command']}`,{traces} {machine['processor']}, {machine['cpus']} CPUs,"
        f" {machine['python']}, load {machine['load']:g}; recorded in `docs/runs/{found['benchmark']}.json`."
    )


def shown(value: Cell) -> str:
    """Return a number with three digits that mean something, a text as it is, a dash for nothing."""
    if value is None or value == "":
        return "-"
    if isinstance(value, str):
        return value.replace("|", "\\|")
    if isinstance(value, int):
        return f"{value:,}"
    digits = 0 if value == 0 else max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:,.{min(digits, 6)}f}"


def markdown(columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> Iterator[str]:
    """Yield the lines of a table; a column of numbers stands flush right, brim's own rows are bold."""
    right = [all(not isinstance(row[i], str) for row in rows) for i in range(len(columns))]
    yield f"| {' | '.join(columns)} |"
    yield "|" + "|".join("---:" if flush else "---" for flush in right) + "|"
    for row in rows:
        own = str(row[0]).startswith("brim")
        cells = [f"**{shown(cell)}**" if own and cell not in (None, "") else shown(cell) for cell in row]
        yield f"| {' | '.join(cells)} |"


def between(text: str, name: str, inside: str) -> str:
    """Return a page with `inside` between its two marks of a name.

    Raises:
        LookupError: the page has no such marks.
    """
    begin, end = f"<!-- {name}: written by make pages -->", f"<!-- end of {name} -->"
    before, mark, rest = text.partition(begin)
    _, closing, after = rest.partition(end)
    if not (mark and closing):
        raise LookupError(f"the page has no place for {name}")
    return f"{before}{begin}\n\n{inside.strip()}\n\n{end}{after}"
