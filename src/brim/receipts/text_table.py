"""A table of texts as plain text, Markdown or HTML, without a library: a receipt prints itself anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_BREAKS = str.maketrans("\r\n\t", "   ")


@dataclass(frozen=True, kw_only=True, slots=True)
class TextTable:
    """Rows of texts under their heads, with a line above."""

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: frozenset[str] = frozenset()
    """The heads of the columns that are aligned to the right."""

    def plain(self) -> str:
        """Return it in columns, for a terminal or a log."""
        rows = [self.heads, *self._cells()]
        widths = [max(len(row[i]) for row in rows) for i in range(len(self.heads))]
        lines = [self.title, *(self._aligned(row, widths) for row in rows)]
        lines.insert(2, "  ".join("-" * width for width in widths))
        return "\n".join(lines)

    def markdown(self) -> str:
        """Return it as a Markdown table below its title."""
        rule = ["---:" if head in self.numbers else "---" for head in self.heads]
        rows = [[cell.replace("|", "\\|") for cell in row] for row in self._cells()]
        return "\n".join([self.title, "", *("| " + " | ".join(row) + " |" for row in (self.heads, rule, *rows))])

    def html(self) -> str:
        """Return it as an HTML table with the title as its caption."""
        align = [' style="text-align: right"' if head in self.numbers else "" for head in self.heads]
        heads = "".join(f"<th{style}>{escape(head)}</th>" for head, style in zip(self.heads, align, strict=True))
        rows = (
            "".join(f"<td{style}>{escape(cell)}</td>" for cell, style in zip(row, align, strict=True))
            for row in self._cells()
        )
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        caption = f'<caption style="text-align: left">{escape(self.title)}</caption>'
        return f"<table>{caption}<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"

    def _cells(self) -> list[list[str]]:
        """Return the rows, each cell on one line."""
        return [[cell.translate(_BREAKS) for cell in row] for row in self.rows]

    def _aligned(self, row: Sequence[str], widths: Sequence[int]) -> str:
        cells = (
            cell.rjust(width) if head in self.numbers else cell.ljust(width)
            for cell, width, head in zip(row, widths, self.heads, strict=True)
        )
        return "  ".join(cells).rstrip()
