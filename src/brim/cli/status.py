"""`brim status`: how full a session is, by category, the recent sessions, and the conversations of a gateway."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from brim.amounts import counted
from brim.cli import options
from brim.cli.output import MOST_ROWS, console, emit, emit_line, is_plain, show, table
from brim.cli.stores import HERE, is_missing, open_existing, store_url

if TYPE_CHECKING:
    from rich.console import Console

    from brim.sessions.log.overview import GatewayUse, Overview, SessionUse

_NAME = 12
"""The least characters of a name in a narrow table."""


def run(
    *,
    store: options.Store = None,
    session: Annotated[str | None, Option("--session", metavar="ID", help="The session; default: the newest.")] = None,
    line: Annotated[bool, Option("--line", help="Print one line, for a status bar.")] = False,
    json: options.Json = False,
) -> None:
    """Show how full the context of a session or a gateway's conversations is.

    The output has the size by category, the peak, the warnings, the compactions and the sub-ticks, as last written to
    the store. The conversations that a gateway cut are listed too, if it uses the same store.

    With --line, the line is empty if there is no store yet and neither --store nor --session is set.

    Example: brim status --store sqlite:///brim.db
    """
    from brim.sessions.log.overview import overview

    if line and store is session is None and is_missing(store_url(None) or HERE):
        print("{}" if json else "")
        return
    with open_existing(store) as opened:
        _print(overview(opened, session), line=line, json=json)


def _print(found: Overview, *, line: bool, json: bool) -> None:
    if line and json:
        newest = found.current or next(iter(found.gateway), None)
        emit_line(newest.to_dict() if newest is not None else {})
    elif line:
        print(_line(found), flush=True)
    elif json:
        emit(found.to_dict())
    else:
        _draw(console(), found)


def _line(found: Overview) -> str:
    """Return the current session, or else the newest conversation of a gateway, as one line."""
    if found.current is None:
        return _gateway_line(found.gateway[0]) if found.gateway else "no sessions"
    status = found.current.status
    parts = [f"{status['used']:,}/{status['budget']:,} ({_percent(status['use'])})"]
    if status["used"] >= status["warning"]:
        parts.append("over the warning line")
    for name, noun in (("compactions", "compaction"), ("sub_ticks", "sub-tick"), ("overflows", "overflow")):
        if status[name]:
            parts.append(counted(status[name], noun))
    if (regret := status.get("regret", {})).get("calls"):
        parts.append(f"{counted(regret['calls'], 'call')} repeated")
    return ", ".join(parts)


def _gateway_line(row: GatewayUse) -> str:
    of = f"/{row.budget:,} ({_percent(row.used / row.budget)})" if row.budget else ""
    return f"{row.used:,}{of}, {counted(row.cuts, 'cut')}"


def _draw(out: Console, found: Overview) -> None:
    if found.current is None and not found.gateway:
        text = "no sessions yet: brim.Session(store=...) and brim gateway --store write to a store."
        out.print(f"There are {text}")
        return
    if found.current is not None:
        _head(out, found.current)
        _categories(out, found.current.status)
        _recent(out, found)
    if found.gateway:
        if found.current is not None:
            out.print()
        _gateway(out, found.gateway)


def _head(out: Console, row: SessionUse) -> None:
    status = row.status
    out.print(f"{row.kind} {row.id}", style="bold")
    out.print(
        f"{status['model'] or 'no model set'}: {status['used']:,} of {status['budget']:,} {status['unit']}"
        f" ({_percent(status['use'])}), {'exact' if status['exact'] else 'estimated'};"
        f" {_percent(status['utilization'])} of a window of {status['window']:,}",
    )
    if status["reported"] is not None:
        cached = "" if status.get("cached") is None else f", {status['cached']:,} of them from its cache"
        out.print(f"the provider counted {status['reported']:,} for the last prompt{cached}")
    if (regret := status.get("regret", {})).get("calls"):
        out.print(_regret(regret, status["unit"]), style="yellow")
    if status["used"] >= status["warning"]:
        out.print(f"over the warning line of {status['warning']:,}", style="yellow")
    if row.kind == "loop":
        state = f"ended: {row.about['ended']}" if row.about.get("ended") else "not ended"
        iterations = counted(row.about.get("iterations", 0), "iteration")
        out.print(f"{iterations}, {state}: {row.about.get('goal', '')}")
    out.print()


def _categories(out: Console, status: Any) -> None:
    from brim.cli.summary import bar

    unit, budget = status["unit"], status["budget"]
    made = table("category", unit, "of the budget", "", numbers=(unit, "of the budget"))
    sizes = {name: units for name, units in status["categories"].items() if units > 0}
    for name, units in {**sizes, "free": max(0, budget - status["used"])}.items():
        share = _percent(units / budget) if budget else "-"
        made.add_row(name, f"{units:,}", share, bar(units, budget, plain=is_plain(out)))
    show(out, made)
    out.print()


def _gateway(out: Console, rows: Sequence[GatewayUse]) -> None:
    """Print the conversations of a gateway: the size of the newest prompt, and the number of cuts."""
    numbers = ("received", "sent", "budget", "window", "cuts")
    # A narrow terminal wraps long names, and a pipe gets each on one line.
    wide = ("conversation", "model") if out.is_terminal or "COLUMNS" in os.environ else ()
    made = table("conversation", "model", *numbers, "last", numbers=numbers, wide=wide)
    for row in rows:
        sizes = ("-" if each is None else f"{each:,}" for each in (row.before, row.used, row.budget, row.window))
        made.add_row(row.id, row.model or "-", *sizes, f"{row.cuts:,}", _when(row.updated))
    show(out, made)
    cuts = sum(row.cuts for row in rows)
    out.print()
    out.print(f"{counted(len(rows), 'conversation')} of a gateway, {counted(cuts, 'cut')}")
    for row in rows:
        if row.regret.get("calls"):
            out.print(f"{row.id}: {_regret(row.regret, 'tokens')}", style="yellow")


def _when(at: float) -> str:
    """Return a time of today, or an earlier day."""
    then, now = time.localtime(at), time.localtime()
    return time.strftime("%H:%M:%S" if then[:3] == now[:3] else "%Y-%m-%d", then)


def _recent(out: Console, found: Overview) -> None:
    numbers = ("used", "peak", "warnings", "compactions", "sub-ticks")
    made = table("session", "kind", *numbers, numbers=numbers)
    for row in found.recent[:MOST_ROWS]:
        status = row.status
        shares = [_percent(status[name]) for name in ("utilization", "peak_utilization")]
        counts = [f"{status[name]:,}" for name in ("warnings", "compactions", "sub_ticks")]
        made.add_row(row.id if len(row.id) <= _NAME else row.id[: _NAME - 1] + "…", row.kind, *shares, *counts)
    show(out, made)
    out.print()
    out.print(
        f"{counted(len(found.recent), 'recent session')}: peak {_percent(found.peak)} of the current window,"
        f" {found.warned:,} crossed the warning line, {counted(found.total('compactions'), 'compaction')},"
        f" {counted(found.total('sub_ticks'), 'sub-tick')}, {counted(found.total('overflows'), 'overflow')}",
    )


def _regret(regret: Mapping[str, Any], unit: str) -> str:
    """Return the calls that were repeated after cuts, with their tokens, by cut."""
    cuts = ", ".join(f"cut {cut}: {each['calls']:,}" for cut, each in regret["cuts"].items())
    return f"{counted(regret['calls'], 'call')} repeated after a cut, {regret['tokens']:,} {unit} ({cuts})"


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"
