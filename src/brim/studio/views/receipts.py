"""Receipts: every prompt of the store's sessions and every step of the flows on disk."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from brim.errors import UnknownName
from brim.studio.prompt_index import sections
from brim.studio.workspace import Workspace

_MOST_ROWS = 500


def receipts(
    workspace: Workspace,
    *,
    text: str | None = None,
    lost: str | None = None,
    kind: str | None = None,
    model: str | None = None,
    status: str | None = None,
    start: str | None = None,
) -> dict[str, Any]:
    """Return the receipts that match the filters, from the place `start` on."""
    rows = workspace.index.rows()
    words = (text or "").casefold().split()
    wanted = {"kind": kind, "model": model, "status": status}
    found = [
        row
        for row in rows
        if (not lost or row["truncated"])
        and all(value is None or row[name] == value for name, value in wanted.items())
        and all(word in row["search"] for word in words)
    ]
    first = int(start) if start is not None and start.isdigit() else 0
    shown = [{key: value for key, value in row.items() if key != "search"} for row in found[first : first + _MOST_ROWS]]
    models = sorted({row["model"] for row in rows if row["model"]})[:100]
    return {"receipts": shown, "found": len(found), "all": len(rows), "start": first, "models": models}


def receipt(workspace: Workspace, receipt: str) -> dict[str, Any]:
    """Return one receipt: its recorded values, and its parts in one format.

    Raises:
        UnknownName: there is no such receipt.
    """
    values = _values(workspace, receipt)
    whole = values.get("receipt") if receipt.startswith("prompt:") else values
    parts: list[dict[str, Any]] = []
    if isinstance(whole, Mapping):
        rows = whole["parts"] if isinstance(whole.get("parts"), list) else sections(whole)
        parts = [_part(row) for row in rows]
    replayable = isinstance(whole, Mapping) and isinstance(whole.get("capture"), Mapping)
    return {"id": receipt, "values": values, "parts": parts, "replayable": replayable}


def _part(row: Mapping[str, Any]) -> dict[str, Any]:
    size = row.get("size", row.get("chars", row.get("size_chars")))
    used = row.get("used", row.get("used_chars", row.get("kept")))
    return {"name": row.get("name"), "state": row["state"], "size": size, "used": used, "reason": row.get("reason", "")}


def compare(workspace: Workspace, before: str, after: str) -> dict[str, Any]:
    """Return the parts of two receipts side by side.

    Raises:
        UnknownName: one of them does not exist.
    """
    old, new = ({part["name"]: part for part in receipt(workspace, each)["parts"]} for each in (before, after))
    rows = []
    for name in dict.fromkeys([*old, *new]):
        left, right = old.get(name), new.get(name)
        same = left is not None and right is not None and all(left[key] == right[key] for key in ("state", "used"))
        rows.append({"name": name, "before": left, "after": right, "same": same})
    return {"before": before, "after": after, "rows": rows}


def _values(workspace: Workspace, receipt: str) -> dict[str, Any]:
    kind, _, rest = receipt.partition(":")
    if kind == "step":
        workspace.index.rows()
        found = workspace.index.files.read(receipt)
        if found is not None:
            return found
    if kind == "prompt":
        session, _, number = rest.rpartition(":")
        if number.isdigit() and len(number) < 16:
            entries = workspace.store_of(session).entries(session, kinds=["prompt"], after=int(number) - 1, limit=1)
            if entries and entries[0].number == int(number):
                return {key: value for key, value in entries[0].body.items() if key != "held"}
    raise UnknownName("receipt", receipt, [], "The receipts view lists them")
