"""Draw docs/pictures/brim.svg: the prompt of `brim demo` before and after the fit, as vessels of the same scale.

python scripts/picture.py            draw it
python scripts/picture.py --check    fail if the picture is not what would be drawn

Every cell stands for the same number of tokens, and every figure is taken from the receipt of the fit. The picture has
its own paper and follows the light or dark of the reader's system.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from importlib.resources import as_file, files
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from brim.cli.grid import keys
from brim.receipts.receipt import Receipt
from brim.settings.spec import read_spec

if TYPE_CHECKING:
    from scripts.generated import run
else:
    from generated import run

PICTURE = Path(__file__).parent.parent / "docs" / "pictures" / "brim.svg"

_COLUMNS, _ROWS, _CELL = 22, 12, 12
"""Cells in a row, rows below the brim, and the side of a cell with its gap."""
_TOP, _LEFT, _GAP = 64, 34, 46


LIGHT = {
    "paper": "#ffffff",
    "ink": "#17202a",
    "soft": "#566270",
    "line": "#d8dee5",
    "water": "#0f6fae",
    "brim": "#c24e00",
}
DARK = {
    "paper": "#171d24",
    "ink": "#e8edf2",
    "soft": "#a3b0bd",
    "line": "#2c3640",
    "water": "#6cc0f2",
    "brim": "#ff8f45",
}

_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"


def _style() -> str:
    def rules(colours: dict[str, str]) -> str:
        filled = "".join(f".{name}{{fill:{colour}}}.{name}-line{{stroke:{colour}}}" for name, colour in colours.items())
        return filled + ".none{fill:none}"

    base = f"text{{font-family:{_FONT};font-size:13px}}.small{{font-size:11px}}.bold{{font-weight:650}}"
    base += ".end{text-anchor:end}.middle{text-anchor:middle}"
    return f"<style>{base}{rules(LIGHT)}@media(prefers-color-scheme:dark){{{rules(DARK)}}}</style>"


def picture(width: int, height: int, title: str, parts: Iterable[str]) -> str:
    """Return a whole picture on its own paper, with a title for those who cannot see it."""
    paper = f'<rect class="paper line-line" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="10"/>'
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img">\n<title>{escape(title)}</title>\n{_style()}\n{paper}\n{body}\n</svg>\n'
    )


def text(x: float, y: float, said: str, kind: str = "ink") -> str:
    """Return a line of text; `kind` is a colour, and what else it is: small, bold, end, middle."""
    return f'<text class="{kind}" x="{x:g}" y="{y:g}">{escape(said)}</text>'


def box(x: float, y: float, width: float, height: float, fill: str) -> str:
    """Return a filled box; a fill with a hash is a colour, any other one of the named ones."""
    told = f'fill="{fill}"' if fill.startswith("#") else f'class="{fill}"'
    return f'<rect {told} x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="1.5"/>'


def path(points: str, kind: str, width: float = 2) -> str:
    """Return a line along `points`, in one of the named colours."""
    return f'<path class="none {kind}-line" d="{points}" stroke-width="{width:g}" stroke-linecap="round"/>'


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
        text(_LEFT + wide / 2, 36, f"before: {wanted:,}", "ink bold middle"),
        text(second + wide / 2, 36, f"after: {receipt.used:,}", "ink bold middle"),
        *_poured(before, _LEFT, foot),
        *_poured(after, second, foot),
        _glass(_LEFT, brim, foot),
        _glass(second, brim, foot),
        path(f"M{_LEFT - 18} {brim}H{second + wide + 18}", "brim", 3),
        text(second + wide / 2, brim - 12, f"the brim: {receipt.budget:,} {receipt.unit}", "brim bold middle"),
        text(
            second + wide / 2,
            brim - 34,
            f"{receipt.unused:,} free, {len(receipt.losses)} losses on the receipt",
            "soft middle",
        ),
        *_names(receipt, colours, told, foot),
    ]
    title = f"A prompt of {wanted:,} {receipt.unit} fitted to {receipt.budget:,}: {receipt.used:,} are used"
    return picture(told + 236, foot + 34, title, parts)


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
            yield box(x, y, width, _CELL, colour)
            x += width
    top, right = foot - len(rows) * _CELL, left + _COLUMNS * _CELL
    lines = "".join(f"M{left} {foot - i * _CELL}H{right}" for i in range(len(rows) + 1))
    lines += "".join(f"M{left + i * _CELL} {top}V{foot}" for i in range(_COLUMNS + 1))
    yield path(lines, "paper", 1.6)


def _glass(left: float, brim: float, foot: float) -> str:
    """Return the walls: a little above the brim, open at the top."""
    right = left + _COLUMNS * _CELL + 5
    return path(f"M{left - 5} {brim - 8}V{foot + 1}q0 6 6 6H{right - 6}q6 0 6 -6V{brim - 8}", "soft", 2)


def _names(receipt: Receipt, colours: dict[str, str], left: float, foot: float) -> Iterator[str]:
    """Yield what each section wanted and got."""
    y = foot - 24 * (len(receipt.parts) - 1)
    for part in receipt.parts:
        yield box(left, y - 10, 11, 11, colours[part.name])
        yield text(left + 20, y, part.name, "ink")
        got = f"{part.used:,}" if part.used else "dropped"
        yield text(left + 202, y, f"{part.size:,} → {got}" if part.used != part.size else f"{part.size:,}", "soft end")
        y += 24


def drawn() -> str:
    """Return the picture of the demo's prompt."""
    return page(fitted())


if __name__ == "__main__":
    sys.exit(run(PICTURE, drawn))
