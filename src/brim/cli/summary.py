"""A receipt for the eye: its sum, its parts, and what was lost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from brim.cli.output import is_plain, measured, table, told
from brim.receipts.receipt import Part, Receipt
from brim.receipts.section import Priority

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

_STYLES = {"whole": "green", "form": "cyan", "cut": "yellow", "summarised": "cyan", "dropped": "red"}
_RANKS = {int(priority): priority.name.lower() for priority in Priority}
_WHY_FROM = 105
"""Columns from which the table has room for the reasons."""
_BAR = 12
_MOST_TURNS = 20
"""Losses of a history that are told one by one: it may have lost thousands of turns."""


def headline(receipt: Receipt) -> str:
    """Return the fit in one line."""
    present, total = sum(part.present for part in receipt.parts), len(receipt.parts)
    repaired = 0
    if receipt.history is not None:
        steps = receipt.history["context_truncation"]
        present, total = steps["steps_included"], steps["steps_total"]
        repaired = len(receipt.history["repairs"])
    return (
        f"{receipt.used:,} of {receipt.budget:,} {receipt.unit} ({measured(receipt.meter, exact=receipt.exact)}),"
        f" {present:,} of {told(total, noun(receipt))}, {len(receipt.losses):,} lessened"
        + (f", {repaired:,} repaired" if repaired else "")
    )


def noun(receipt: Receipt) -> str:
    """Return what the parts of a receipt are called."""
    return "section" if receipt.history is None else "turn"


def parts_table(receipt: Receipt, keys: Mapping[str, tuple[str, str]], out: Console) -> Table:
    """Return the table of the parts: what each wanted, got and used, and why where there is room for it."""
    from rich.text import Text

    last = "why" if out.width >= _WHY_FROM else "kept"
    numbers = ("size", "granted", "used")
    made = table(" ", "section", "priority", *numbers, "state", last, numbers=numbers, wide=("section", "why"))
    for part in receipt.parts:
        letter, colour = keys[part.name]
        made.add_row(
            Text(letter, style=f"black on {colour}"),
            part.name,
            priority_of(part),
            f"{part.size:,}",
            f"{part.granted:,}",
            f"{part.used:,}",
            state_of(part),
            part.reason if last == "why" else bar(part.used, part.size, plain=is_plain(out)),
        )
    return made


def losses_table(receipt: Receipt) -> Table:
    """Return what left the prompt, and why."""
    from rich.table import Table

    made = Table.grid(padding=(0, 2))
    made.add_column(no_wrap=True)
    made.add_column(no_wrap=True)
    made.add_column(justify="right", no_wrap=True)
    made.add_column(overflow="fold")
    told_of = receipt.losses if receipt.history is None else receipt.losses[:_MOST_TURNS]
    for loss in told_of:
        made.add_row(loss.name, state_of(receipt.part(loss.name)), f"-{loss.units:,}", loss.reason)
    if rest := receipt.losses[len(told_of) :]:
        units = sum(loss.units for loss in rest)
        made.add_row(f"… {len(rest):,} more", "", f"-{units:,}", "the receipt tells of each")
    return made


def state_of(part: Part) -> Text:
    """Return the state of a part, coloured where the terminal can."""
    from rich.text import Text

    return Text(part.state, style=_STYLES.get(part.state, "dim"))


def priority_of(part: Part) -> str:
    """Return the priority as it may have been written."""
    return "required" if part.required else _RANKS.get(part.priority, str(part.priority))


def bar(used: int, size: int, *, plain: bool = False) -> str:
    """Return how much of a part was kept, as a bar."""
    full, empty = ("#", ".") if plain else ("█", "░")
    filled = -(-used * _BAR // size) if size else 0
    return full * filled + empty * (_BAR - filled)
