"""The drawing of a budget as a vessel of cells that is filled to the brim.

Every section has a letter and a colour, so nothing is shown by colour alone; the colours suit colour-blind readers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from rich.text import Text

COLUMNS, ROWS = 44, 8
"""The cells of a row, and the rows within the budget."""
_COLOURS = ("#56b4e9", "#e69f00", "#009e73", "#f0e442", "#cc79a7", "#d55e00", "#8fa8ff", "#c0c0c0")
_CATEGORIES = ("user", "tools", "assistant", "memory", "summary", "tool results", "system", "framing")
"""The categories of a prompt; each has the colour at the same index, as in the studio."""
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


@dataclass(frozen=True, slots=True)
class VesselShare:
    """The share of one section."""

    letter: str
    style: str
    units: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Vessel:
    """A budget drawn as rows of cells."""

    budget: int
    columns: int
    """Cells in a row."""
    rows: int
    """Rows below the brim."""
    plain: bool = False
    """Whether to draw with ASCII only."""

    def draw(self, shares: Sequence[VesselShare], height: int) -> list[Text]:
        """Return the lines of the drawing, `height` rows of cells high, the bottom last.

        Cells fill from the bottom. Rows above the brim have no walls; rows above the drawing are counted in one line.
        """
        cells = self._cells(shares)
        filled = -(-len(cells) // self.columns)
        lines: list[Text] = []
        for row in range(height - 1, -1, -1):
            if row == height - 1 and filled > height:
                more = f"... {filled - row:,} more rows like these"
                lines.append(Text(f"  {more:^{self.columns}}  ", style="dim"))
            else:
                lines.append(self._row(cells[row * self.columns : (row + 1) * self.columns], inside=row < self.rows))
            if row == self.rows:
                lines.append(self._brim())
        if height <= self.rows:
            lines.insert(0, self._brim())
        foot = "+" + "-" * (self.columns + 2) + "+" if self.plain else "╰" + "─" * (self.columns + 2) + "╯"
        return [*lines, Text(foot, style="dim")]

    def height(self, shares: Sequence[VesselShare], most: int) -> int:
        """Return the height of a drawing of the shares, between that of the vessel and `most`."""
        rows = -(-len(self._cells(shares)) // self.columns)
        return max(self.rows, min(rows, most))

    def _cells(self, shares: Sequence[VesselShare]) -> list[VesselShare]:
        """Return the share of each filled cell: the share at the middle of the cell."""
        size = max(1, self.budget)
        cells: list[VesselShare] = []
        total = 0
        for share in shares:
            total += share.units
            end = (2 * total * self.columns * self.rows + size) // (2 * size)
            cells += [share] * (end - len(cells))
        return cells

    def _row(self, cells: Sequence[VesselShare], *, inside: bool) -> Text:
        wall, free = (("|", ".") if self.plain else ("│", "·")) if inside else (" ", " ")
        line = Text()
        line.append(wall + " ", style="dim")
        for share, run in groupby(cells):
            line.append(share.letter * len(list(run)), style=f"black on {share.style}")
        line.append(free * (self.columns - len(cells)) + " " + wall, style="dim")
        return line

    def _brim(self) -> Text:
        label = f" brim {self.budget:,} "
        if self.plain:
            return Text(f"+{label:=^{self.columns + 2}}+", style="bold")
        return Text(f"╞{label:═^{self.columns + 2}}╡", style="bold")


def keys(names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return a letter and a colour for each name: a letter of the name if one is free.

    Categories of a prompt always have the same colour.
    """
    taken: dict[str, tuple[str, str]] = {}
    used: set[str] = set()
    known = all(name in _CATEGORIES for name in names)
    for i, name in enumerate(names):
        wanted = [letter for letter in name.lower() + name.upper() + _LETTERS if letter in _LETTERS]
        letter = next((each for each in wanted if each not in used), "#")
        used.add(letter)
        taken[name] = (letter, _COLOURS[_CATEGORIES.index(name) if known else i % len(_COLOURS)])
    return taken


def joins(units: int) -> VesselShare:
    """Return the share of the separators between sections."""
    return VesselShare("+", "#ffffff", units)


def beside(left: Sequence[Text], right: Sequence[Text], gap: int) -> list[Text]:
    """Return two drawings of the same height side by side."""
    return [Text.assemble(one, " " * gap, other) for one, other in zip(left, right, strict=True)]
