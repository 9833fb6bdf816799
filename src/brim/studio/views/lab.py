"""The budget lab: a prompt or a history fitted at any budget, with the state of every piece.

Every number comes from the library's own fit.
"""

from __future__ import annotations

import json
from collections import deque
from time import monotonic
from typing import Any

from brim.errors import DoesNotFit, InvalidValue
from brim.history.result import Fitted
from brim.receipts.receipt import Part, Receipt
from brim.receipts.section import Priority
from brim.requests.request import Request
from brim.studio import lab_source
from brim.studio.costs import cost
from brim.studio.lab_source import LabSource
from brim.studio.workspace import Workspace

_LARGEST = 100_000_000
_MOST_WARNINGS = 6
_PRIORITIES = {int(priority): priority.name.lower() for priority in Priority}
_SECONDS = 2.0
"""Seconds for searching all pieces; budgets that are not exact by then are upper bounds."""


def fit(workspace: Workspace, source: str, budget: str | None = None) -> dict[str, Any]:
    """Return the fit at a budget: its sums, and the state, size and reason of each piece.

    Args:
        workspace: where the source is.
        source: what to fit.
        budget: `None` for the recorded one.

    Raises:
        UnknownName: there is no such source.
        InvalidValue: the budget is invalid.
    """
    opened, units = checked(workspace, source, budget)
    values: dict[str, Any] = {"kind": opened.kind, "size": opened.size, "recorded": opened.budget}
    try:
        receipt = opened.fit(units).receipt
    except DoesNotFit as error:
        lacking = {"needed": error.needed, "parts": error.parts, "problem": str(error)}
        return {**values, "fits": False, "budget": units, **lacking}
    names = ("budget", "used", "unit", "exact", "joins")
    values |= {"fits": True, **{name: getattr(receipt, name) for name in names}}
    pieces = [_piece(opened, part) for part in receipt.parts]
    return {**values, **_sums(opened, receipt), "pieces": pieces}


def _piece(opened: LabSource, part: Part) -> dict[str, Any]:
    """Return what happened to a piece."""
    priority = "required" if part.required else _PRIORITIES.get(part.priority, str(part.priority))
    return {
        **{name: getattr(part, name) for name in ("name", "size", "used", "state", "reason")},
        "priority": priority,
        "group": opened.category(part.name),
        "excerpt": opened.excerpt(part.name),
    }


def piece(workspace: Workspace, source: str, name: str) -> dict[str, Any]:
    """Return the whole text of one piece.

    Raises:
        UnknownName: there is no such source.
    """
    return {"name": name, "text": lab_source.opened(workspace, source).text(name)}


def result(workspace: Workspace, source: str, budget: str | None = None) -> dict[str, Any]:
    """Return what a fit would send, and its receipt as a table.

    Raises:
        DoesNotFit: the required pieces are larger than the budget.
        UnknownName: there is no such source.
        InvalidValue: the budget is invalid.
    """
    opened, units = checked(workspace, source, budget)
    made = opened.fit(units)
    receipt = made.receipt
    if isinstance(made, Request):
        text = _json(made.body)
    else:
        text = _json(made.messages) if isinstance(made, Fitted) else made.text
    return {"text": text, "receipt": receipt.table(), "used": receipt.used, "budget": receipt.budget}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2, default=str)


def _sums(opened: LabSource, receipt: Receipt) -> dict[str, Any]:
    """Return the line above the pieces: sums, cost and warnings."""
    return {
        "wanted": sum(part.size for part in receipt.parts),
        "dropped": sum(part.state == "dropped" for part in receipt.parts),
        "shortened": sum(part.state != "dropped" and part.size > part.used for part in receipt.parts),
        "lost": sum(part.size - part.used for part in receipt.parts if part.size > part.used),
        "cost_usd": cost(opened.model, receipt.unit, receipt.used),
        "warnings": _warnings(receipt),
    }


def _warnings(receipt: Receipt) -> list[str]:
    """Return the required pieces that were shortened, the repaired messages, and the stages that were used."""
    found = [
        f"{part.name} is required, but {part.size - part.used:,} of its {part.size:,} {receipt.unit} are dropped"
        for part in receipt.parts
        if part.required and part.size > part.used
    ]
    repairs = (receipt.history or {}).get("repairs", ())
    found += [f"messages[{each['index']}]: {each['reason']}" for each in repairs]
    found += receipt.stages
    more = len(found) - _MOST_WARNINGS
    return found[:_MOST_WARNINGS] + ([f"and {more:,} more"] if more > 0 else [])


def returns(workspace: Workspace, source: str, budget: str | None = None) -> dict[str, Any]:
    """Return the smallest budget found that brings back each dropped piece.

    Each of these budgets was fitted and keeps the piece. The second value is whether one token less drops it.

    Raises:
        UnknownName: there is no such source.
        InvalidValue: the budget is invalid.
    """
    opened, units = checked(workspace, source, budget)
    until, (low, size) = monotonic() + _SECONDS, _present(opened, units)
    high = max(units + 1, 2 * size + 1_000)
    found: dict[str, tuple[int, bool]] = {}
    ranges = deque([(units, high, _present(opened, high)[0] - low)])
    while ranges:  # Each range of budgets is halved, until it is one wide or the time is over.
        least, most, parts = ranges.popleft()
        if not parts:
            continue
        if most - least == 1 or monotonic() > until:
            found |= dict.fromkeys(parts, (most, most - least == 1))
            continue
        middle = (least + most) // 2
        there = parts & _present(opened, middle)[0]
        ranges += [(least, middle, there), (middle, most, parts - there)]
    return {"budget": units, "returns": found}


def _present(opened: LabSource, budget: int) -> tuple[set[str], int]:
    """Return the pieces that a budget keeps, and the size of all pieces."""
    try:
        receipt = opened.fit(budget).receipt
    except DoesNotFit as error:
        return set(), error.needed
    return {part.name for part in receipt.parts if part.present}, sum(part.size for part in receipt.parts)


def checked(workspace: Workspace, source: str, budget: str | None = None) -> tuple[LabSource, int]:
    """Return the source and the budget of a request.

    Raises:
        UnknownName: there is no such source.
        InvalidValue: the budget is invalid.
    """
    opened = lab_source.opened(workspace, source)
    if budget is None:
        return opened, opened.budget
    if not budget.isdecimal() or len(budget) > len(str(_LARGEST)) or int(budget) > _LARGEST:
        raise InvalidValue("budget", budget, f"a whole number from 0 to {_LARGEST:,}")
    return opened, int(budget)
