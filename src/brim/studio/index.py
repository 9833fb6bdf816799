"""All receipts of a desk as rows, the newest first: read once, and looked at again at most once a second.

Ten thousand of them are listed and filtered from here without a file or the store being touched.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Any

from brim.store.base import Store
from brim.studio.folder import Filed, Folder

if TYPE_CHECKING:
    from brim.studio.desk import Desk

MOST_SESSIONS = 500
_FRESH = 1.0
"""Seconds for which what was read is taken as it is."""


@dataclass(slots=True)
class Known:
    """What was read of one session's log."""

    entries: int = 0
    rows: list[dict[str, Any]] = field(default_factory=list)
    pairs: list[tuple[int, int]] = field(default_factory=list)
    """Units that prompts were counted at, each with the tokens that the provider reported."""


class ReceiptIndex:
    """The rows of one desk."""

    def __init__(self, runs: str) -> None:
        self.folder = Folder(runs)
        self._lock = Lock()
        self._sessions: dict[str, Known] = {}
        self._models: dict[str, str | None] = {}
        self._filed: list[Filed] = []
        self._rows: list[dict[str, Any]] = []
        self._looked = -_FRESH

    def rows(self, desk: Desk) -> list[dict[str, Any]]:
        """Return a row for each receipt, the newest first."""
        with self._lock:
            if monotonic() - self._looked >= _FRESH:
                self._look(desk.store())
                self._looked = monotonic()
            return self._rows

    def errors(self, desk: Desk) -> dict[str, list[float]]:
        """Return by model how far prompts were counted from what was reported, in relation to that."""
        self.rows(desk)
        found: dict[str, list[float]] = {}
        for session, known in self._sessions.items():
            model = self._models.get(session)
            if model:
                found.setdefault(model, []).extend((used - told) / told for used, told in known.pairs if told)
        return found

    def _look(self, store: Store | None) -> None:
        changed = self._look_at(store) if store is not None else False
        filed = self.folder.receipts()
        if changed or filed is not self._filed:
            self._filed = filed
            rows = [row for known in self._sessions.values() for row in known.rows]
            self._rows = sorted([*rows, *map(_step, filed)], key=lambda row: (-row["at"], row["id"]))

    def _look_at(self, store: Store) -> bool:
        """Read what sessions have more than before, and return whether any has."""
        listed = store.sessions(limit=MOST_SESSIONS)
        gone = set(self._sessions) - {session.id for session in listed}
        for name in gone:
            del self._sessions[name]
        changed = bool(gone)
        for session in listed:
            known = self._sessions.get(session.id, Known())
            if session.entries == known.entries:
                continue
            changed = True
            if session.entries < known.entries:
                known = Known()
            self._sessions[session.id] = known
            status = session.meta.get("status")
            self._models[session.id] = status.get("model") if isinstance(status, Mapping) else None
            _read(store, session.id, known, self._models[session.id])
            known.entries = session.entries
        return changed


def _read(store: Store, session: str, known: Known, model: str | None) -> None:
    for entry in store.entries(session, kinds=["prompt", "usage"], after=known.entries):
        body = entry.body
        if entry.kind == "usage":
            told = body.get("input")
            if isinstance(told, int) and known.rows and isinstance(known.rows[-1]["used"], int):
                known.pairs.append((known.rows[-1]["used"], told))
            continue
        known.rows.append(
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
                "search": f"{session} {body.get('model') or model}".casefold(),
            }
        )


def _step(filed: Filed) -> dict[str, Any]:
    values = filed.values
    title = f"{filed.flow} / {values['step_id']} {values.get('agent') or ''}".strip()
    told = values.get("context_truncation")
    lost = isinstance(told, Mapping) and bool(told.get("truncated", told.get("omitted")))
    return {
        "id": filed.id,
        "kind": "step",
        "title": title,
        "at": filed.at,
        "used": values.get("used_chars"),
        "budget": values.get("budget_chars"),
        "unit": "chars",
        "truncated": lost or any(section["state"] != "whole" for section in sections(values)),
        "whole": True,
        "model": values.get("model"),
        "status": str(values.get("status", "")),
        "search": f"{title} {values.get('model')} {values.get('status')}".casefold(),
    }


def sections(values: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the sections that a step's receipt tells of."""
    rows = values.get("sections")
    yield from (row for row in rows if isinstance(row, Mapping) and "state" in row) if isinstance(rows, list) else ()
