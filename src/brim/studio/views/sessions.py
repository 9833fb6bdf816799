"""The sessions of every source: the store, its gateways, and the files that were opened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from threading import Thread
from time import monotonic
from typing import Any

from brim.errors import BrimError, UnknownName
from brim.sessions.overview import GATEWAY, SessionUse
from brim.store import META
from brim.store.base import SessionRow, Store
from brim.studio.workspace import Workspace
from brim.wire import wire

_MOST_SESSIONS = 20_000
_PAGE = 200
"""Sessions in one answer."""
_RECENT = 200
"""Sessions that the totals call recent."""
_FRESH = 1.0
"""Seconds for which the list is returned without a look at the stores."""
_SPARKS = 60
"""Prompts of a session that its small chart shows, the newest."""
_LISTED = "list of sessions"
_FIRST = 500
"""Sessions that are listed at once; a store with more is read in the background."""
_NUMBERS = ("warnings", "compactions", "overflows", "prompts", "peak", "budget", "window", "used")


def sessions(
    workspace: Workspace,
    *,
    text: str | None = None,
    file: str | None = None,
    only: str | None = None,
    order: str | None = None,
    start: str | None = None,
) -> dict[str, Any]:
    """Return the sessions that match, the last written first, and the totals of the recent ones.

    Args:
        workspace: where they are.
        text: words that the id or the model has.
        file: the opened file that they come from.
        only: `problems` for those that warned, were refused or were over their budget.
        order: `peak`, `warnings` or `compactions` for the largest first.
        start: how many to leave out.
    """
    rows, complete = _listed(workspace)
    words = (text or "").casefold().split()
    found = [
        row
        for row in rows
        if (file is None or row["source"] == file)
        and (only != "problems" or row["problems"])
        and all(word in row["search"] for word in words)
    ]
    if order in ("peak", "warnings", "compactions"):
        found = sorted(found, key=lambda row: -(row["share"] if order == "peak" else row[order]))
    first = int(start) if start is not None and start.isdigit() else 0
    shown = [{key: value for key, value in row.items() if key != "search"} for row in found[first : first + _PAGE]]
    return {
        "sessions": shown,
        "found": len(found),
        "all": len(rows),
        "complete": complete,
        "start": first,
        "totals": _totals(rows),
        "files": [each.to_dict() for each in workspace.files.files()],
        "store": workspace.url,
    }


def sparks(workspace: Workspace, ids: str) -> dict[str, Any]:
    """Return the fill of the last prompts of some sessions in percent of their budget, and what all of them cost.

    Args:
        workspace: where they are.
        ids: the sessions, one on each line.
    """
    workspace.index.rows()
    found = {}
    for name in ids.split("\n")[:_PAGE]:
        known = workspace.index.known(name)
        if known is None or not known.rows:
            continue
        shares = [round(100 * (row["used"] or 0) / row["budget"]) for row in known.rows[-_SPARKS:] if row["budget"]]
        found[name] = {"shares": shares, "cost_usd": known.cost, "first": max(1, len(known.rows) - _SPARKS + 1)}
    return {"sparks": found}


def _listed(workspace: Workspace) -> tuple[list[dict[str, Any]], bool]:
    """Return the sessions as rows, from memory if they were read just now, and whether these are all.

    A large store is read in the background; until then the newest sessions are returned.
    """
    with workspace.lock:
        known: SessionList | None = workspace.cached(_LISTED)
        if known is None:
            known = SessionList(_rows(workspace, _FIRST))
            known.complete = len(known.rows) < _FIRST
            workspace.cache(_LISTED, known)
        if not known.complete or monotonic() - known.read > _FRESH:
            if known.complete and len(known.rows) < _FIRST:
                known.update(workspace)
            elif not known.reading:
                known.reading = True
                Thread(target=known.update, args=(workspace,), daemon=True).start()
        return known.rows, known.complete


@dataclass(slots=True)
class SessionList:
    """The rows of all sessions, as they were last read."""

    rows: list[dict[str, Any]]
    complete: bool = True
    read: float = field(default_factory=monotonic)
    reading: bool = False

    def update(self, workspace: Workspace) -> None:
        """Read the sessions again."""
        try:
            self.rows, self.complete = _rows(workspace, _MOST_SESSIONS), True
        finally:
            self.read, self.reading = monotonic(), False


def _rows(workspace: Workspace, most: int) -> list[dict[str, Any]]:
    rows = [_row(row) for store in workspace.stores() for row in store.sessions(limit=most)]
    return [row for row in rows if row is not None]


def _row(row: SessionRow) -> dict[str, Any] | None:
    """Return the numbers of a session; `None` if nothing has been sent yet."""
    status, kind = row.meta.get("status"), str(row.meta.get("kind", "session"))
    if not isinstance(status, Mapping):
        return None
    gateway = kind == GATEWAY
    if not gateway and "peak_utilization" not in status:
        return None
    numbers = {name: status.get(name) or 0 for name in _NUMBERS}
    if gateway:
        numbers |= {"peak": numbers["used"], "compactions": status.get("cuts") or 0, "prompts": None}
    share = numbers["peak"] / numbers["budget"] if numbers["budget"] else 0.0
    model = status.get("model") or ""
    source = str(row.meta.get("file") or ("gateway" if gateway else "store"))
    return {
        "id": row.id,
        "kind": kind,
        "source": source,
        "model": model,
        "updated": row.updated,
        "unit": status.get("unit", "tokens"),
        "exact": bool(status.get("exact")),
        **numbers,
        "share": round(share, 6),
        "problems": _problems(numbers),
        "assumed": bool(status.get("assumed")),
        "search": f"{row.id} {model} {source} {kind}".casefold(),
    }


def _problems(numbers: Mapping[str, Any]) -> list[str]:
    """Return what went wrong in a session, in words."""
    found = []
    if numbers["overflows"]:
        found.append("refused as too long" if numbers["overflows"] == 1 else f"refused {numbers['overflows']:,} times")
    if numbers["budget"] and numbers["peak"] > numbers["budget"]:
        found.append("over its window")
    if numbers["warnings"]:
        found.append("warned")
    return found


def _totals(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the sums of the recent sessions."""
    recent = sorted(rows, key=lambda row: -row["updated"])[:_RECENT]
    highest = max(recent, key=lambda row: row["share"], default=None)
    return {
        "recent": len(recent),
        "warned": sum(row["warnings"] > 0 for row in recent),
        "refused": sum(row["overflows"] > 0 for row in recent),
        "compactions": sum(row["compactions"] for row in recent),
        "peak": None if highest is None else {name: highest[name] for name in ("id", "peak", "budget", "share")},
    }


def session_row(store: Store, session: str) -> SessionUse:
    """Return the last recorded state of one session.

    Raises:
        UnknownName: there is no such session, or the id belongs to a gateway.
    """
    entries = store.entries(session, kinds=[META])
    meta = entries[-1].body if entries else {}
    status = meta.get("status")
    if not isinstance(status, Mapping) or "peak_utilization" not in status:
        raise UnknownName("session", session, [row.id for row in store.sessions(limit=20)])
    about = {name: value for name, value in meta.items() if name not in ("status", "kind")}
    kind = str(meta.get("kind", "session"))
    return SessionUse(id=session, kind=kind, updated=entries[-1].at, status=status, about=about)


def role_and_text(message: Any, format: str | None) -> tuple[str, str]:
    """Return the role and the text of a recorded message; both are empty if it cannot be read."""
    try:
        read = wire(format or "openai").read(message, 0)
    except BrimError:
        return "", ""
    return read.role, read.text()
