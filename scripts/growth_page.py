"""The page docs/runs/growth.md and its plot: how the cost of long runs grows, from the record of `bench growth`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import log10
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scripts import drawing, runs
    from scripts.runs import Cell, Record
else:
    import drawing
    import runs
    from runs import Cell, Record

PAGE = runs.ROOT / "docs" / "runs" / "growth.md"
PICTURE = runs.ROOT / "docs" / "pictures" / "growth.svg"

_HEAD = """\
---
hide: [toc]
---

# Growth

<!-- Written by scripts/growth_page.py from docs/runs/growth.json; do not edit. -->

What a long run, many tools and many conversations cost, each measured at three sizes or more, in CPU time of a process
of its own. The exponent is the slope between the logarithms of size and cost: 0 costs the same at any length, 1 grows
as the run does. The last column says whether a limit is kept.
"""
_LEFT, _TOP, _WIDTH, _HEIGHT = 70, 70, 520, 330
_COLOURS = ("#009e73", "#0072b2", "#d55e00", "#cc79a7", "#e69f00", "#56b4e9", "#8c8c8c")


def page() -> str:
    """Return the whole page."""
    found = runs.record("growth")
    assert found
    noted = found["tables"][0]["notes"][0]
    parts = [
        _HEAD,
        f"{runs.origin(found)} {noted}\n",
        "![CPU of one turn, by the length of the run](../pictures/growth.svg)\n",
    ]
    failed = {gate["name"].partition(": exponent")[0] for gate in found["gates"] if not gate["passed"]}
    told = found["tables"][0]
    for of in dict.fromkeys(row[1] for row in told["rows"]):
        parts.append(f"## By {_plural(str(of))}\n")
        rows: list[list[Cell]] = []
        for row in (each for each in told["rows"] if each[1] == of):
            name, sizes, (unit, exponent, limit) = row[0], row[2:-3], row[-3:]
            kept = "" if not limit else "**no**" if name in failed else "yes"
            measured = ", ".join(str(cell) for cell in sizes if cell is not None)
            rows.append([name, measured, unit, exponent, limit, kept])
        parts += runs.markdown(["case", "size: cost", "unit", "exponent", "limit", "kept"], rows)
        parts.append("")
        parts += [f"- {row[0]}: {found['details'][str(row[0])]}." for row in rows]
        parts.append("")
    parts.append('```\nmake bench BENCH="growth --record docs/runs"\nmake pages\n```')
    return "\n".join(parts).rstrip() + "\n"


def _plural(of: str) -> str:
    return "size of the window" if of == "window" else "size of the request" if of == "kB" else f"number of {of}"


def plot() -> str:
    """Return the plot: the cost of one turn by the length of the run, both in powers of ten."""
    found = runs.record("growth")
    assert found
    lines = dict(_lines(found))
    every = [point for points in lines.values() for point in points]
    low, high = _ends([size for size, _ in every])
    least, most = _ends([cost for _, cost in every])

    def place(size: float, cost: float) -> tuple[float, float]:
        across = (log10(size) - low) / (high - low)
        return _LEFT + _WIDTH * across, _TOP + _HEIGHT * (most - log10(cost)) / (most - least)

    title = "CPU ms of one turn, by the turns before it"
    parts = [drawing.text(22, 32, title, "ink bold")]
    for power in range(low, high + 1):
        x, _ = place(10**power, 10**least)
        parts.append(drawing.path(f"M{x:.0f} {_TOP}V{_TOP + _HEIGHT}", "line", 1))
        parts.append(drawing.text(x, _TOP + _HEIGHT + 20, f"{10**power:,}", "soft middle small"))
    for power in range(least, most + 1):
        _, y = place(10**low, 10.0**power)
        parts.append(drawing.path(f"M{_LEFT} {y:.0f}H{_LEFT + _WIDTH}", "line", 1))
        parts.append(drawing.text(_LEFT - 8, y + 4, f"{10.0**power:g}", "soft end small"))
    for number, (name, points) in enumerate(lines.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        placed = [place(*point) for point in points]
        parts.append(_line(placed, colour))
        parts += [drawing.dot(x, y, colour, 3.5) for x, y in placed]
        parts.append(drawing.dot(_LEFT + _WIDTH + 24, _TOP + 10 + 24 * number, colour))
        parts.append(drawing.text(_LEFT + _WIDTH + 36, _TOP + 14 + 24 * number, name, "ink small"))
    return drawing.picture(_LEFT + _WIDTH + 280, _TOP + _HEIGHT + 44, title, parts)


def _line(points: Sequence[tuple[float, float]], colour: str) -> str:
    told = " ".join(f"{x:.0f},{y:.0f}" for x, y in points)
    return f'<polyline fill="none" stroke="{colour}" stroke-width="1.5" points="{told}"/>'


def _ends(values: Sequence[float]) -> tuple[int, int]:
    """Return the powers of ten around values."""
    low = min(map(log10, values)) // 1
    return int(low), max(int(low) + 1, -int(-max(map(log10, values)) // 1))


def _lines(found: Record) -> Iterator[tuple[str, list[tuple[float, float]]]]:
    """Yield the cases that tell the cost of one turn: those that may hardly grow."""
    flat = {gate["name"].partition(":")[0] for gate in found["gates"] if gate["limit"] == 0.15}
    for row in found["tables"][0]["rows"]:
        points = [str(cell).split(": ") for cell in row[2:-3] if cell is not None]
        if row[0] in flat and all(len(point) == 2 for point in points):
            yield row[0], [(float(size.replace(",", "")), float(cost)) for size, cost in points]
