"""How the cost of long runs grows: many turns, many tools, many conversations.

Each case is measured at three sizes or more, in a process of its own and in CPU time of that process, so that other
programs on the machine change little. The exponent is the slope between the logarithms of size and cost: 0 costs the
same at any length, 1 grows as the run does. The constant is the cost at the smallest size.
"""

from __future__ import annotations

from bench.growth.case import Case
from bench.growth.cases import CASES
from bench.outcome import Cell, Gate, Outcome, Setting, Table, exponent
from bench.worker import Broken, Silent, ask

_PATIENCE = 1_800
"""Seconds that one size of a case may take."""


def run(setting: Setting) -> Outcome:
    """Measure every case, or those that `BRIM_GROWTH` names."""
    rows: list[list[Cell]] = []
    gates: list[Gate] = []
    for case in CASES:
        points, note = _measured(case, setting)
        rows.append(_row(case, points, note))
        print("  " + ", ".join(_shown(cell) for cell in rows[-1]), flush=True)
        gates += _gates(case, points)
    most = max(len(case.sizes) for case in CASES)
    columns = ["case", "size", *(f"at size {i + 1}" for i in range(most)), "unit", "exponent", "limit"]
    table = Table(
        title="What grows, and how", columns=columns, rows=rows, notes=[case.name + ": " + case.about for case in CASES]
    )
    return Outcome(name="growth", tables=[table], gates=gates)


def _measured(case: Case, setting: Setting) -> tuple[list[tuple[int, float]], str]:
    """Return the points of a case, and why there are no more of them."""
    sizes = sorted({max(1, setting.size(size)) for size in case.sizes})
    points: list[tuple[int, float]] = []
    try:
        answers = ask("growth", _PATIENCE, first=_PATIENCE, case=case.name, sizes=sizes)
        points.extend((answer["size"], answer["value"]) for answer in answers)
    except (Silent, Broken) as error:
        return points, str(error)[:80]
    return points, ""


def _row(case: Case, points: list[tuple[int, float]], note: str) -> list[Cell]:
    cells: list[Cell] = [f"{size:,}: {value:.3g}" for size, value in points]
    cells += [note or None] + [None] * (max(len(each.sizes) for each in CASES) - len(cells) - 1)
    limits = [f"exponent {case.exponent:g}"] if case.exponent is not None else []
    limits += [f"{case.most:g} {case.unit}"] if case.most is not None else []
    limits += [f"at least {case.least:g}"] if case.least is not None else []
    grown = exponent(points) if len(points) > 1 and all(value > 0 for _, value in points) else None
    width = max(len(each.sizes) for each in CASES)
    return [case.name, case.of, *cells[:width], case.unit, grown, ", ".join(limits)]


def _gates(case: Case, points: list[tuple[int, float]]) -> list[Gate]:
    nothing = float("nan")
    values = [value for _, value in points]
    gates = []
    if case.exponent is not None:
        grown = exponent(points) if len(points) > 1 and min(values) > 0 else nothing
        gates.append(Gate(name=f"{case.name}: exponent", value=grown, limit=case.exponent, unit=""))
    if case.most is not None:
        worst = (max(values) if case.each else values[-1]) if values else nothing
        gates.append(Gate(name=case.name, value=worst, limit=case.most, unit=case.unit))
    if case.least is not None:
        last = values[-1] if values else nothing
        gates.append(Gate(name=case.name, value=last, limit=case.least, unit=case.unit, at_least=True))
    return gates


def _shown(cell: Cell) -> str:
    return f"{cell:.3g}" if isinstance(cell, float) else "" if cell is None else str(cell)
