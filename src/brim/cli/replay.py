"""`brim replay`: what another budget would have kept."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated

import typer
from typer import Option

from brim.amounts import counted
from brim.cli import options
from brim.cli.output import MOST_ROWS, console, emit, show, table, whole
from brim.cli.stores import open_existing
from brim.cli.summary import noun
from brim.errors import BrimError, DoesNotFit, UnknownName
from brim.receipts.receipt import Change, Part, Receipt, read_receipt
from brim.requests.replay import replay

_PROMPT = "prompt:"
"""The prefix of the name of a receipt in a store, as shown by the studio."""
_CLIENT_NAME = re.compile(r"[0-9a-f]{12}\.(.+)", re.DOTALL)
"""The name of a gateway's conversation: a fingerprint, and the name that the client sent."""
_MOST_SESSIONS = 10_000
"""The newest sessions among which a client's name is looked up."""
_NO_MESSAGES = (
    "the receipt has no messages, so they cannot be fitted to another budget; record them with session.capture in the"
    " settings, --capture, or capture=True in Python"
)


def run(
    *,
    receipt: Annotated[
        str,
        typer.Argument(
            metavar="RECEIPT.json", help="A file written by brim fit, or prompt:SESSION[:NUMBER] in a store."
        ),
    ],
    budget: Annotated[
        list[str] | None, Option("--budget", "-b", metavar="N", help="Another budget; repeatable.")
    ] = None,
    why: Annotated[str | None, Option("--why", metavar="NAME", help="Explain one section or turn.")] = None,
    store: options.Store = None,
    json: options.Json = False,
) -> None:
    """Repeat a fit from its receipt, at other budgets.

    A receipt written with --capture is fitted again with its content. Without content, sections are computed from the
    recorded sizes, and messages are shown as recorded. The exit code is 1 if a budget is too small.

    A store has the receipts of sessions with capture and of conversations that a gateway cut. prompt:SESSION is the
    newest receipt of a session. A conversation of a gateway may be called by the name that its client sent.

    Example: brim replay receipt.json --budget 4000 --budget 16000
    """
    if budget and why is not None:
        raise BrimError("use only one of --budget and --why")
    recorded = _read(receipt, store)
    if why is not None:
        sentence = recorded.why(why)
        if json:
            emit({"why": sentence, "part": recorded.part(why).to_dict()})
        else:
            console().print(sentence)
    elif recorded.history and recorded.capture is None:
        if budget:
            raise BrimError(_NO_MESSAGES)
        if json:
            emit({"replays": [_as_json(recorded, recorded.budget, recorded)]})
        else:
            _show(recorded, [], [])
    else:
        budgets = [units for each in budget or () if (units := whole("--budget", each)) is not None]
        _at_budgets(recorded, budgets or [recorded.budget], json=json)


def _read(name: str, store: str | None) -> Receipt:
    """Return the receipt in a file, or of a prompt in a store.

    Raises:
        SourceError: the file or the store cannot be read.
        UnknownName: the store has no such receipt.
    """
    if not name.startswith(_PROMPT):
        return read_receipt(name)
    session, _, number = name.removeprefix(_PROMPT).rpartition(":")
    if not number.isdigit():
        session, number = name.removeprefix(_PROMPT), ""
    with open_existing(store) as opened:
        if opened.session(session) is None:
            session = _sent_as(session, [row.id for row in opened.sessions(limit=_MOST_SESSIONS)])
        entries = opened.entries(session, kinds=["prompt"])
    found = [each for each in entries if "receipt" in each.body and number in ("", str(each.number))]
    if not found:
        known = [f"{_PROMPT}{session}:{each.number}" for each in entries if "receipt" in each.body]
        raise UnknownName("receipt", name, known)
    return Receipt.from_dict(found[-1].body["receipt"])


def _sent_as(name: str, sessions: list[str]) -> str:
    """Return the one conversation of a gateway whose client sent a name; without one, the name.

    Raises:
        BrimError: several clients sent it.
    """
    found = [each for each in sessions if (match := _CLIENT_NAME.fullmatch(each)) and match[1] == name]
    if len(found) > 1:
        raise BrimError(f"several conversations are called {name!r}; use the whole name of one: {', '.join(found)}")
    return found[0] if found else name


def _at_budgets(recorded: Receipt, budgets: list[int], *, json: bool) -> None:
    """Print what each budget keeps.

    Raises:
        Exit: a budget is too small; the code is 1.
    """
    fits: list[Receipt | DoesNotFit] = []
    for units in budgets:
        try:
            fits.append(replay(recorded, budget=units).receipt)
        except DoesNotFit as error:
            fits.append(error)
    if json:
        emit({"replays": [_as_json(recorded, units, fit) for units, fit in zip(budgets, fits, strict=True)]})
    else:
        _show(recorded, budgets, fits)
    if any(isinstance(fit, DoesNotFit) for fit in fits):
        raise typer.Exit(1)


def _show(recorded: Receipt, budgets: list[int], fits: list[Receipt | DoesNotFit]) -> None:
    out = console()
    out.print(f"recorded: {recorded.headline}")
    if any(isinstance(fit, Receipt) and fit.planned for fit in fits):
        out.print("The receipt has no content, so this is computed from the recorded sizes.", style="dim")
    out.print()
    name = noun(recorded)
    heads = [f"at {units:,}" for units in budgets]
    made = table(name, "priority", "size", "recorded", *heads, numbers=("size",), wide=(name,))
    rows = _rows(recorded, fits)
    for part, cells in rows:
        made.add_row(part.name, part.importance, f"{part.size:,}", _cell(part), *cells)
    if hidden := len(recorded.parts) - len(rows):
        made.add_row(f"… {hidden:,} more")
    made.add_section()
    sums = [f"{fit.used:,} used" if isinstance(fit, Receipt) else f"needs {fit.needed:,}" for fit in fits]
    made.add_row("", "", "", f"{recorded.used:,} used", *sums)
    show(out, made)
    out.print()
    for units, fit in zip(budgets, fits, strict=True):
        result = str(fit)
        if isinstance(fit, Receipt):
            result = f"{counted(len(recorded.diff(fit)), name)} changed; {fit.headline}"
        out.print(f"at {units:,}: {result}")


def _rows(recorded: Receipt, fits: list[Receipt | DoesNotFit]) -> list[tuple[Part, list[str]]]:
    """Return the parts with their cells; for a long history, the first parts that differ, or are not whole."""
    after = [{part.name: part for part in fit.parts} if isinstance(fit, Receipt) else None for fit in fits]
    rows = [(part, [_after(part, parts) for parts in after]) for part in recorded.parts]
    if not recorded.history or len(rows) <= MOST_ROWS:
        return rows
    if not fits:
        return [(part, cells) for part, cells in rows if part.used < part.size][:MOST_ROWS]
    return [(part, cells) for part, cells in rows if any(cell[0] in "+-" for cell in cells)][:MOST_ROWS]


def _after(part: Part, parts: Mapping[str, Part] | None) -> str:
    """Return the cell of a part at another budget, marked with + or - if it has more or less than recorded."""
    if parts is None:
        return "does not fit"
    other = parts.get(part.name)
    used = 0 if other is None else other.used
    sign = "+" if used > part.used else "-" if used < part.used else " "
    return f"{sign} {_cell(other)}"


def _cell(part: Part | None) -> str:
    return "absent" if part is None else f"{part.state} {part.used:,}"


def _change(change: Change) -> dict[str, object]:
    return {
        "name": change.name,
        "before": change.before.to_dict() if change.before else None,
        "after": change.after.to_dict() if change.after else None,
    }


def _as_json(recorded: Receipt, units: int, fit: Receipt | DoesNotFit) -> dict[str, object]:
    if isinstance(fit, DoesNotFit):
        return {"budget": units, "fits": False, "needed": fit.needed, "parts": fit.parts, "problem": str(fit)}
    changes = [_change(change) for change in recorded.diff(fit)]
    return {"budget": units, "fits": True, "receipt": fit.to_dict(), "changes": changes}
