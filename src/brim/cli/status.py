"""`brim status`: how full a session is, by category, and the recent sessions."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Annotated, Any

from rich.console import Console
from rich.text import Text
from typer import Option

from brim.cli import grid, options
from brim.cli.output import console, counted, emit, emit_line, is_plain, show, table
from brim.cli.stores import open_existing

if TYPE_CHECKING:
    from brim.sessions.overview import Overview, SessionUse
    from brim.store import Store

_COLUMNS, _ROWS = 40, 10
_RECENT = 8
"""Sessions in the table."""
_ID = 12
"""Characters of an id in the table."""


def run(
    *,
    store: options.Store = None,
    session: Annotated[str | None, Option("--session", metavar="ID", help="The session; default: the last.")] = None,
    line: Annotated[bool, Option("--line", help="Print one line, for a status bar.")] = False,
    watch: Annotated[bool, Option("--watch", "-w", help="Repeat until Ctrl-C.")] = False,
    every: Annotated[float, Option("--every", metavar="SECONDS", help="The interval of --watch.")] = 2.0,
    json: options.Json = False,
) -> None:
    """Show how full a session's context is.

    The output has the size by category, the peak, the warnings, the compactions and the sub-ticks, as the session last
    wrote them to its store.

    Example: brim status --store sqlite:///brim.db --watch
    """
    with open_existing(store) as opened:
        _print(opened, session, line=line, json=json)
        while watch:
            time.sleep(max(0.1, every))
            if not (line or json) and sys.stdout.isatty():
                console().clear()
            _print(opened, session, line=line, json=json)


def _print(store: Store, session: str | None, *, line: bool, json: bool) -> None:
    from brim.sessions.overview import overview

    found = overview(store, session)
    if line and json:
        emit_line(found.to_dict()["current"] or {})
    elif line:
        print(_line(found), flush=True)
    elif json:
        emit(found.to_dict())
    else:
        _draw(console(), found)


def _line(found: Overview) -> str:
    """Return the current session as one line."""
    if found.current is None:
        return "no sessions"
    status = found.current.status
    parts = [f"{status['used']:,}/{status['budget']:,} ({_percent(status['use'])})"]
    if status["used"] >= status["warning"]:
        parts.append("over the warning line")
    for name, noun in (("compactions", "compaction"), ("sub_ticks", "sub-tick"), ("overflows", "overflow")):
        if status[name]:
            parts.append(counted(status[name], noun))
    return ", ".join(parts)


def _draw(out: Console, found: Overview) -> None:
    if found.current is None:
        out.print("This store has no sessions yet: brim.Session(store=...) writes them.", soft_wrap=True)
        return
    _head(out, found.current)
    status = found.current.status
    names = [name for name, units in status["categories"].items() if units > 0]
    keys = grid.keys(names)
    vessel = grid.Vessel(budget=status["budget"], columns=_COLUMNS, rows=_ROWS, plain=is_plain(out))
    shares = [grid.VesselShare(*keys[name], status["categories"][name]) for name in names]
    for line in vessel.draw(shares, vessel.height(shares, 2 * _ROWS)):
        line.rstrip()
        out.print(line, no_wrap=True)
    out.print()
    _categories(out, status, keys)
    _recent(out, found)


def _head(out: Console, row: SessionUse) -> None:
    status = row.status
    out.print(f"{row.kind} {row.id}", style="bold", soft_wrap=True)
    out.print(
        f"{status['model'] or 'no model named'}: {status['used']:,} of {status['budget']:,} {status['unit']}"
        f" ({_percent(status['use'])}), {'exact' if status['exact'] else 'estimated'};"
        f" {_percent(status['utilization'])} of a window of {status['window']:,}",
        soft_wrap=True,
    )
    if status["reported"] is not None:
        out.print(f"the provider counted {status['reported']:,} for the last prompt", soft_wrap=True)
    if status["used"] >= status["warning"]:
        out.print(f"over the warning line of {status['warning']:,}", style="yellow", soft_wrap=True)
    if row.kind == "loop":
        state = f"ended: {row.about['ended']}" if row.about.get("ended") else "not ended"
        iterations = counted(row.about.get("iterations", 0), "iteration")
        out.print(f"{iterations}, {state}: {row.about.get('goal', '')}", soft_wrap=True)
    out.print()


def _categories(out: Console, status: Any, keys: dict[str, tuple[str, str]]) -> None:
    unit, budget = status["unit"], status["budget"]
    made = table(" ", "category", unit, "of the budget", numbers=(unit, "of the budget"))
    rows = [(Text(letter, style=f"black on {colour}"), name) for name, (letter, colour) in keys.items()]
    sizes = {**status["categories"], "free": max(0, budget - status["used"])}
    for chip, name in [*rows, (Text(), "free")]:
        made.add_row(chip, name, f"{sizes[name]:,}", _percent(sizes[name] / budget) if budget else "-")
    show(out, made)
    out.print()


def _recent(out: Console, found: Overview) -> None:
    numbers = ("used", "peak", "warnings", "compactions", "sub-ticks")
    made = table("session", "kind", *numbers, numbers=numbers)
    for row in found.recent[:_RECENT]:
        status = row.status
        shares = [_percent(status[name]) for name in ("utilization", "peak_utilization")]
        counts = [f"{status[name]:,}" for name in ("warnings", "compactions", "sub_ticks")]
        made.add_row(row.id if len(row.id) <= _ID else row.id[: _ID - 1] + "…", row.kind, *shares, *counts)
    show(out, made)
    out.print()
    out.print(
        f"{counted(len(found.recent), 'recent session')}: peak {_percent(found.peak)} of the window,"
        f" {found.warned:,} crossed the warning line, {counted(found.total('compactions'), 'compaction')},"
        f" {counted(found.total('sub_ticks'), 'sub-tick')}, {counted(found.total('overflows'), 'overflow')}",
        soft_wrap=True,
    )


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"
