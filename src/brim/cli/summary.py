"""The table of what a receipt lost, the states of its parts, and bars."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from brim.cli.output import MOST_ROWS
from brim.receipts.receipt import Part, Receipt

_STYLES = {"whole": "green", "form": "cyan", "cut": "yellow", "summarised": "cyan", "dropped": "red"}
_BAR = 12


def noun(receipt: Receipt) -> str:
    """Return the name of a part: section or turn."""
    return "turn" if receipt.history else "section"


def losses_table(receipt: Receipt) -> Table:
    """Return the table of the losses: name, state, size and reason."""
    made = Table.grid(padding=(0, 2))
    for justify in ("left", "left", "right"):
        made.add_column(justify=justify, no_wrap=True)
    made.add_column(overflow="fold")
    listed = receipt.losses[:MOST_ROWS] if receipt.history else receipt.losses
    for loss in listed:
        made.add_row(loss.name, state_of(receipt.part(loss.name)), f"-{loss.units:,}", loss.reason)
    if rest := receipt.losses[len(listed) :]:
        units = sum(loss.units for loss in rest)
        made.add_row(f"… {len(rest):,} more", "", f"-{units:,}", "listed in the receipt")
    return made


def state_of(part: Part) -> Text:
    """Return the state of a part in its colour."""
    return Text(part.state, style=_STYLES.get(part.state, "dim"))


def bar(used: int, size: int, *, plain: bool = False) -> str:
    """Return how much of a part was kept, as a bar."""
    full, empty = ("#", ".") if plain else ("█", "░")
    filled = min(_BAR, -(-used * _BAR // size)) if size else 0
    return full * filled + empty * (_BAR - filled)
