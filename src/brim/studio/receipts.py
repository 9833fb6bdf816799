"""Receipts as the page shows them: every prompt of the store's sessions and every step of the runs on disk."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from brim.errors import InvalidType, UnknownName
from brim.receipts.receipt import Receipt
from brim.studio.desk import Desk
from brim.studio.index import sections

_MOST_ROWS = 500
"""Rows that one answer holds."""
FILTERS = ("kind", "model", "status")
"""What rows are told apart by, each a word that has to be the row's own."""


def listed(desk: Desk, asked: Mapping[str, str]) -> dict[str, Any]:
    """Return the receipts that `text`, `lost`, `kind`, `model` and `status` leave, from the place `from` on."""
    rows = desk.index.rows(desk)
    words = asked.get("text", "").casefold().split()
    wanted = {name: asked[name] for name in FILTERS if asked.get(name)}
    kept = [
        row
        for row in rows
        if (not asked.get("lost") or row["truncated"])
        and all(row[name] == value for name, value in wanted.items())
        and all(word in row["search"] for word in words)
    ]
    start = int(asked["from"]) if asked.get("from", "").isdigit() else 0
    shown = [{key: value for key, value in row.items() if key != "search"} for row in kept[start : start + _MOST_ROWS]]
    models = sorted({row["model"] for row in rows if row["model"]})[:100]
    return {"receipts": shown, "found": len(kept), "all": len(rows), "from": start, "models": models}


def one(desk: Desk, receipt: str) -> dict[str, Any]:
    """Return one receipt: its values as they were written, and its parts in one shape.

    Raises:
        UnknownName: there is no such receipt.
    """
    values = _values(desk, receipt)
    whole = values.get("receipt") if receipt.startswith("prompt:") else values
    parts = []
    if isinstance(whole, Mapping):
        rows = whole.get("parts") if isinstance(whole.get("parts"), list) else sections(whole)
        parts = [_part(row) for row in rows or ()]
    replayable = isinstance(whole, Mapping) and isinstance(whole.get("capture"), Mapping)
    return {"id": receipt, "values": values, "parts": parts, "replayable": replayable}


def _part(row: Mapping[str, Any]) -> dict[str, Any]:
    size = row.get("size", row.get("chars", row.get("size_chars")))
    used = row.get("used", row.get("used_chars", row.get("kept")))
    return {"name": row.get("name"), "state": row["state"], "size": size, "used": used, "reason": row.get("reason", "")}


def compared(desk: Desk, before: str, after: str) -> dict[str, Any]:
    """Return the parts of two receipts side by side.

    Raises:
        UnknownName: one of them does not exist.
    """
    sides = [{part["name"]: part for part in one(desk, each)["parts"]} for each in (before, after)]
    rows = []
    for name in dict.fromkeys([*sides[0], *sides[1]]):
        left, right = sides[0].get(name), sides[1].get(name)
        same = left is not None and right is not None and all(left[key] == right[key] for key in ("state", "used"))
        rows.append({"name": name, "before": left, "after": right, "same": same})
    return {"before": before, "after": after, "rows": rows}


def _values(desk: Desk, receipt: str) -> dict[str, Any]:
    kind, _, rest = receipt.partition(":")
    if kind == "step":
        desk.index.rows(desk)
        found = desk.index.folder.read(receipt)
        if found is not None:
            return found
    if kind == "prompt":
        session, _, number = rest.rpartition(":")
        if number.isdigit() and len(number) < 16:
            entries = desk.needed().entries(session, kinds=["prompt"], after=int(number) - 1, limit=1)
            if entries and entries[0].number == int(number):
                return {key: value for key, value in entries[0].body.items() if key != "held"}
    raise UnknownName("receipt", receipt, [], "The list of receipts has those that there are")


def captured(desk: Desk, receipt: str) -> Receipt:
    """Return a receipt that holds its texts.

    Raises:
        UnknownName: there is no such receipt.
        InvalidValue: it holds no texts.
    """
    values = _values(desk, receipt).get("receipt")
    if not isinstance(values, Mapping):
        raise InvalidType(
            "receipt", receipt, "one of a session with capture=True, which keeps the texts of its prompts"
        )
    return Receipt.from_dict(values)
