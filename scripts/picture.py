"""Draw docs/pictures/brim.svg: the prompt of `brim demo` before and after the fit, as vessels of the same scale.

python scripts/picture.py            draw it
python scripts/picture.py --check    fail if the picture is not what would be drawn

Every cell stands for the same number of tokens, and every figure is taken from the receipt of the fit.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from importlib.resources import as_file, files
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from brim.cli.grid import keys
from brim.receipts.receipt import Receipt
from brim.settings.spec import read_spec

if TYPE_CHECKING:
    from scripts import drawing
    from scripts.generated import run
else:
    import drawing
    from generated import run

PICTURE = Path(__file__).parent.parent / "docs" / "pictures" / "brim.svg"

_COLUMNS, _ROWS, _CELL = 22, 12, 12
"""Cells in a row, rows below the brim, and the side of a cell with its gap."""
_TOP, _LEFT, _GAP = 64, 34, 46


def fitted() -> Receipt:
    """Return the receipt of the demo's prompt."""
    with as_file(files("brim.cli").joinpath("demo_prompt")) as folder:
        return read_spec(str(folder / "spec.yaml")).fit().receipt


def page(receipt: Receipt) -> str:
    """Return the picture of a fit."""
    colours = {name: colour for name, (_, colour) in keys([part.name for part in receipt.parts]).items()}
    wanted = sum(part.size for part in receipt.parts)
    before = _cells([(colours[part.name], part.size) for part in receipt.parts], receipt.budget)
    after = _cells([(colours[part.name], part.used) for part in receipt.parts], receipt.budget)
    rows = -(-len(before) // _COLUMNS)
    brim = _TOP + (rows - _ROWS) * _CELL
    foot = _TOP + rows * _CELL
    wide = _COLUMNS * _CELL
    second = _LEFT + wide + _GAP
    told = second + wide + _GAP
    parts = [
        drawing.text(_LEFT + wide / 2, 36, f"before: {wanted:,}", "ink bold middle"),
        drawing.text(second + wide / 2, 36, f"after: {receipt.used:,}", "ink bold middle"),
        *_poured(before, _LEFT, foot),
        *_poured(after, second, foot),
        _glass(_LEFT, brim, foot),
        _glass(second, brim, foot),
        drawing.path(f"M{_LEFT - 18} {brim}H{second + wide + 18}", "brim", 3),
        drawing.text(second + wide / 2, brim - 12, f"the brim: {receipt.budget:,} {receipt.unit}", "brim bold middle"),
        drawing.text(
            second + wide / 2,
            brim - 34,
            f"{receipt.unused:,} free, {len(receipt.losses)} losses on the receipt",
            "soft middle",
        ),
        *_names(receipt, colours, told, foot),
    ]
    title = f"A prompt of {wanted:,} {receipt.unit} fitted to {receipt.budget:,}: {receipt.used:,} are used"
    return drawing.picture(told + 236, foot + 34, title, parts)


def _cells(shares: Sequence[tuple[str, int]], budget: int) -> list[str]:
    """Return the colour of each cell that is filled: that of the share which holds the middle of the cell."""
    cells: list[str] = []
    poured = 0
    for colour, units in shares:
        poured += units
        cells += [colour] * ((2 * poured * _COLUMNS * _ROWS + budget) // (2 * budget) - len(cells))
    return cells


def _poured(cells: Sequence[str], left: float, foot: float) -> Iterator[str]:
    """Yield the cells row by row, those of one colour as one box, and the lines that part them."""
    rows = range(0, len(cells), _COLUMNS)
    for row, start in enumerate(rows):
        x, y = left, foot - (row + 1) * _CELL
        for colour, run in groupby(cells[start : start + _COLUMNS]):
            width = len(list(run)) * _CELL
            yield drawing.box(x, y, width, _CELL, colour)
            x += width
    top, right = foot - len(rows) * _CELL, left + _COLUMNS * _CELL
    lines = "".join(f"M{left} {foot - i * _CELL}H{right}" for i in range(len(rows) + 1))
    lines += "".join(f"M{left + i * _CELL} {top}V{foot}" for i in range(_COLUMNS + 1))
    yield drawing.path(lines, "paper", 1.6)


def _glass(left: float, brim: float, foot: float) -> str:
    """Return the walls: a little above the brim, open at the top."""
    right = left + _COLUMNS * _CELL + 5
    return drawing.path(f"M{left - 5} {brim - 8}V{foot + 1}q0 6 6 6H{right - 6}q6 0 6 -6V{brim - 8}", "soft", 2)


def _names(receipt: Receipt, colours: dict[str, str], left: float, foot: float) -> Iterator[str]:
    """Yield what each section wanted and got."""
    y = foot - 24 * (len(receipt.parts) - 1)
    for part in receipt.parts:
        yield drawing.box(left, y - 10, 11, 11, colours[part.name])
        yield drawing.text(left + 20, y, part.name, "ink")
        got = f"{part.used:,}" if part.used else "dropped"
        yield drawing.text(
            left + 202, y, f"{part.size:,} → {got}" if part.used != part.size else f"{part.size:,}", "soft end"
        )
        y += 24


def drawn() -> str:
    """Return the picture of the demo's prompt."""
    return page(fitted())


if __name__ == "__main__":
    sys.exit(run(PICTURE, drawn))
