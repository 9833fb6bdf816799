"""Receipts as the page shows them: every prompt of the store's sessions and every step of the runs on disk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from brim.errors import InvalidType, UnknownName
from brim.receipt import Receipt
from brim.store.base import Store
from brim.studio.desk import Desk
from brim.studio.folder import Folder

_MOST_SESSIONS = 500
_MOST_ROWS = 500
"""Rows that one answer holds."""


def folder(desk: Desk) -> Folder:
    """Return the receipts on disk, which remember what they have read."""
    made: Folder = desk.known("runs") or desk.keep("runs", Folder(desk.runs))
    return made


def listed(desk: Desk, asked: Mapping[str, str]) -> dict[str, Any]:
    """Return the receipts that `text`, `lost` and `kind` leave, the newest first from the place `from` on."""
    rows = [*_prompts(desk), *_steps(desk)]
    rows.sort(key=lambda row: (-row["at"], row["id"]))
    words = asked.get("text", "").casefold().split()
    kept = [
        row
        for row in rows
        if (asked.get("kind", "") in ("", row["kind"]))
        and (not asked.get("lost") or row["truncated"])
        and all(word in row["search"] for word in words)
    ]
    start = int(asked["from"]) if asked.get("from", "").isdigit() else 0
    shown = [{key: value for key, value in row.items() if key != "search"} for row in kept[start : start + _MOST_ROWS]]
    return {"receipts": shown, "found": len(kept), "all": len(rows), "from": start}


def _prompts(desk: Desk) -> Iterable[dict[str, Any]]:
    store = desk.store()
    if store is None:
        return
    cache: dict[str, tuple[int, list[dict[str, Any]]]] = desk.known("prompts") or desk.keep("prompts", {})
    for session in store.sessions(limit=_MOST_SESSIONS):
        last, rows = cache.get(session.id, (0, []))
        if session.entries != last:
            rows = [*(rows if session.entries > last else []), *_read(store, session.id, last, session.meta)]
            cache[session.id] = (session.entries, rows)
        yield from rows


def _read(store: Store, session: str, after: int, meta: Mapping[str, Any]) -> list[dict[str, Any]]:
    made = []
    status = meta.get("status")
    model = status.get("model") if isinstance(status, Mapping) else None
    for entry in store.entries(session, kinds=["prompt"], after=after):
        body = entry.body
        made.append(
            {
                "id": f"prompt:{session}:{entry.number}",
                "kind": "prompt",
                "title": f"{session} #{entry.number}",
                "at": entry.at,
                "used": body.get("used"),
                "budget": body.get("budget"),
                "unit": body.get("unit"),
                "truncated": bool(body.get("truncated")),
                "whole": "receipt" in body,
                "model": body.get("model") or model,
                "status": "",
                "search": f"{session} {model}".casefold(),
            }
        )
    return made


def _steps(desk: Desk) -> Iterable[dict[str, Any]]:
    for filed in folder(desk).receipts():
        values = filed.values
        title = f"{filed.flow} / {values['step_id']} {values.get('agent') or ''}".strip()
        told = values.get("context_truncation")
        lost = isinstance(told, Mapping) and bool(told.get("truncated", told.get("omitted")))
        lost = lost or any(section["state"] != "whole" for section in _sections(values))
        yield {
            "id": filed.id,
            "kind": "step",
            "title": title,
            "at": filed.at,
            "used": values.get("used_chars"),
            "budget": values.get("budget_chars"),
            "unit": "chars",
            "truncated": lost,
            "whole": True,
            "model": values.get("model"),
            "status": str(values.get("status", "")),
            "search": f"{title} {values.get('model')} {values.get('status')}".casefold(),
        }


def _sections(values: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    rows = values.get("sections")
    return [row for row in rows if isinstance(row, Mapping) and "state" in row] if isinstance(rows, list) else []


def one(desk: Desk, receipt: str) -> dict[str, Any]:
    """Return one receipt: its values as they were written, and its parts in one shape.

    Raises:
        UnknownName: there is no such receipt.
    """
    values = _values(desk, receipt)
    whole = values.get("receipt") if receipt.startswith("prompt:") else values
    parts = []
    if isinstance(whole, Mapping):
        rows = whole.get("parts") if isinstance(whole.get("parts"), list) else _sections(whole)
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
        found = next((filed for filed in folder(desk).receipts() if filed.id == receipt), None)
        if found is not None:
            return found.values
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
