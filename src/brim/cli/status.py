"""`brim status`: how full the session in use is, what of it is what, and what the recent ones came to."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from brim.cli import grid, options
from brim.cli.output import console, emit, is_plain, show, table, told
from brim.errors import SourceError

if TYPE_CHECKING:
    from rich.console import Console

    from brim.sessions.overview import Overview, SessionUse
    from brim.store import Store

_FILE = "sqlite:///"
_HERE = "brim.db"
_COLUMNS, _ROWS = 40, 10
_RECENT = 8
"""Sessions that the table shows."""
_ID = 12
"""Characters of an id in a table."""


def run(
    *,
    store: Annotated[
        str | None,
        typer.Option("--store", metavar="URL", help="The store, if not that of brim.yaml or brim.db here."),
    ] = None,
    session: Annotated[
        str | None, typer.Option("--session", metavar="ID", help="The session to show, if not the last one written.")
    ] = None,
    line: Annotated[bool, typer.Option("--line", help="Print one line, for a status bar.")] = False,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Show it again and again, until Ctrl-C.")] = False,
    every: Annotated[float, typer.Option("--every", metavar="SECONDS", help="How often, with --watch.")] = 2.0,
    json: options.Json = False,
) -> None:
    """Show how full a session's context is: by category, with its peak, warnings, compactions and sub-ticks.

    What is shown is what the session last wrote to its store.

    Example: brim status --store sqlite:///brim.db --watch
    """
    opened = _opened(store)
    with opened:
        _print(opened, session, line=line, json=json)
        while watch:
            time.sleep(max(0.1, every))
            if not (line or json) and sys.stdout.isatty():
                console().clear()
            _print(opened, session, line=line, json=json)


def _opened(url: str | None) -> Store:
    """Open the store that was named, that of the settings, or the one here; a file that is not there is not made.

    Raises:
        SourceError: there is none.
    """
    from brim.store import open_store

    where = url or _set() or _FILE + _HERE
    path = where.removeprefix(_FILE)
    if where.startswith(_FILE) and not os.path.isfile(path):
        raise SourceError(path, "there is no such store: give the one of your sessions with --store, or set store.url")
    return open_store(where)


def _set() -> str | None:
    """Return the store that the settings here name, if any do."""
    from brim.settings import load_config

    value = load_config().resolve().value("store.url")
    return value if isinstance(value, str) else None


def _print(store: Store, session: str | None, *, line: bool, json: bool) -> None:
    from brim.sessions.overview import overview

    found = overview(store, session)
    if line and json:
        import json as written

        print(written.dumps(found.to_dict()["current"] or {}, ensure_ascii=True), flush=True)
    elif line:
        print(_line(found), flush=True)
    elif json:
        emit(found.to_dict())
    else:
        _draw(console(), found)


def _line(found: Overview) -> str:
    """Return the session in use as one line."""
    if found.current is None:
        return "no sessions"
    status = found.current.status
    parts = [f"{status['used']:,}/{status['budget']:,} ({_share(status['use'])})"]
    if status["used"] >= status["warning"]:
        parts.append("over the warning line")
    for name, noun in (("compactions", "compaction"), ("sub_ticks", "sub-tick"), ("overflows", "overflow")):
        if status[name]:
            parts.append(told(status[name], noun))
    return ", ".join(parts)


def _draw(out: Console, found: Overview) -> None:
    if found.current is None:
        out.print("There are no sessions in this store yet: brim.Session(store=...) writes them.", soft_wrap=True)
        return
    _head(out, found.current)
    status = found.current.status
    names = [name for name, units in status["categories"].items() if units > 0]
    keys = grid.keys(names)
    vessel = grid.Vessel(budget=status["budget"], columns=_COLUMNS, rows=_ROWS, plain=is_plain(out))
    shares = [grid.VesselShare(*keys[name], status["categories"][name]) for name in names]
    for drawn in vessel.draw(shares, vessel.height(shares, 2 * _ROWS)):
        drawn.rstrip()
        out.print(drawn, no_wrap=True)
    out.print()
    _categories(out, status, keys)
    _recent(out, found)


def _head(out: Console, row: SessionUse) -> None:
    status = row.status
    counted = "exact" if status["exact"] else "estimated"
    out.print(f"{row.kind} {row.id}", style="bold", soft_wrap=True)
    out.print(
        f"{status['model'] or 'no model named'}: {status['used']:,} of {status['budget']:,} {status['unit']}"
        f" ({_share(status['use'])}), {counted}; {_share(status['utilization'])} of a window of {status['window']:,}",
        soft_wrap=True,
    )
    if status["reported"] is not None:
        out.print(f"the provider counted {status['reported']:,} for the last prompt", soft_wrap=True)
    if status["used"] >= status["warning"]:
        out.print(f"over the warning line of {status['warning']:,}", style="yellow", soft_wrap=True)
    if row.kind == "loop":
        state = f"ended: {row.about['ended']}" if row.about.get("ended") else "not ended"
        out.print(
            f"{told(row.about.get('iterations', 0), 'iteration')}, {state}: {row.about.get('goal', '')}", soft_wrap=True
        )
    out.print()


def _categories(out: Console, status: Any, keys: dict[str, tuple[str, str]]) -> None:
    from rich.text import Text

    made = table(" ", "category", status["unit"], "of the budget", numbers=(status["unit"], "of the budget"))
    for name, (letter, colour) in keys.items():
        units = status["categories"][name]
        made.add_row(Text(letter, style=f"black on {colour}"), name, f"{units:,}", _of(units, status["budget"]))
    free = max(0, status["budget"] - status["used"])
    made.add_row("", "free", f"{free:,}", _of(free, status["budget"]))
    show(out, made)
    out.print()


def _recent(out: Console, found: Overview) -> None:
    numbers = ("used", "peak", "warnings", "compactions", "sub-ticks")
    made = table("session", "kind", *numbers, numbers=numbers)
    for row in found.recent[:_RECENT]:
        status = row.status
        cells = [_share(status["utilization"]), _share(status["peak_utilization"])]
        counts = [f"{status[name]:,}" for name in ("warnings", "compactions", "sub_ticks")]
        made.add_row(row.id if len(row.id) <= _ID else row.id[: _ID - 1] + "…", row.kind, *cells, *counts)
    show(out, made)
    out.print()
    out.print(
        f"{told(len(found.recent), 'recent session')}: peak {_share(found.peak)} of the window,"
        f" {found.warned:,} crossed the warning line, {told(found.total('compactions'), 'compaction')},"
        f" {told(found.total('sub_ticks'), 'sub-tick')}, {told(found.total('overflows'), 'overflow')}",
        soft_wrap=True,
    )


def _share(value: float) -> str:
    return f"{100 * value:.1f} %"


def _of(units: int, budget: int) -> str:
    return _share(units / budget) if budget else "-"
