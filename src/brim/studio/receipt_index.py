"""The receipts of a workspace as rows, the newest first.

Sessions and files are read once and checked for changes at most once a second, so ten thousand receipts are listed and
filtered in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from threading import Lock
from time import monotonic
from typing import Any

from brim.store.base import Store
from brim.studio.receipt_files import ReceiptFile, ReceiptFiles

_MOST_SESSIONS = 500
_FRESH = 1.0
"""Seconds for which the rows are returned without a look at the store and the files."""


@dataclass(slots=True)
class SessionPrompts:
    """The prompts of one session."""

    model: str | None = None
    entries: int = 0
    """Log entries that were read."""
    rows: list[dict[str, Any]] = field(default_factory=list)
    counts: list[tuple[int, int]] = field(default_factory=list)
    """Tokens that brim counted for a prompt, each with those that the provider reported."""


class ReceiptIndex:
    """The rows of one workspace."""

    def __init__(self, store: Callable[[], Store | None], runs: str) -> None:
        self.files = ReceiptFiles(runs)
        self._store = store
        self._lock = Lock()
        self._sessions: dict[str, SessionPrompts] = {}
        self._files: list[ReceiptFile] = []
        self._rows: list[dict[str, Any]] = []
        self._checked = -_FRESH

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each receipt, the newest first."""
        with self._lock:
            if monotonic() - self._checked >= _FRESH:
                self._update(self._store())
                self._checked = monotonic()
            return self._rows

    def errors(self) -> dict[str, list[float]]:
        """Return the relative error of brim's counts by model, one for each prompt that the provider counted."""
        self.rows()
        found: dict[str, list[float]] = {}
        for session in self._sessions.values():
            if session.model:
                errors = [(counted - reported) / reported for counted, reported in session.counts if reported]
                found.setdefault(session.model, []).extend(errors)
        return found

    def _update(self, store: Store | None) -> None:
        changed = store is not None and self._read_sessions(store)
        files = self.files.receipts()
        if changed or files is not self._files:
            self._files = files
            rows = [row for session in self._sessions.values() for row in session.rows]
            self._rows = sorted([*rows, *map(_step_row, files)], key=lambda row: (-row["at"], row["id"]))

    def _read_sessions(self, store: Store) -> bool:
        """Read the new entries of each session, and return whether there were any."""
        listed = store.sessions(limit=_MOST_SESSIONS)
        gone = set(self._sessions) - {row.id for row in listed}
        for name in gone:
            del self._sessions[name]
        changed = bool(gone)
        for row in listed:
            session = self._sessions.get(row.id, SessionPrompts())
            if row.entries == session.entries:
                continue
            changed = True
            if row.entries < session.entries:
                session = SessionPrompts()
            self._sessions[row.id] = session
            status = row.meta.get("status")
            session.model = status.get("model") if isinstance(status, Mapping) else None
            _read(store, row.id, session)
            session.entries = row.entries
        return changed


def _read(store: Store, name: str, session: SessionPrompts) -> None:
    for entry in store.entries(name, kinds=["prompt", "usage"], after=session.entries):
        body = entry.body
        if entry.kind == "usage":
            reported = body.get("input")
            if isinstance(reported, int) and session.rows and isinstance(session.rows[-1]["used"], int):
                session.counts.append((session.rows[-1]["used"], reported))
            continue
        model = body.get("model") or session.model
        session.rows.append(
            {
                "id": f"prompt:{name}:{entry.number}",
                "kind": "prompt",
                "title": f"{name} #{entry.number}",
                "at": entry.at,
                **{key: body.get(key) for key in ("used", "budget", "unit")},
                "truncated": bool(body.get("truncated")),
                "whole": "receipt" in body,
                "model": model,
                "status": "",
                "search": f"{name} {model}".casefold(),
            }
        )


def _step_row(file: ReceiptFile) -> dict[str, Any]:
    values = file.values
    title = f"{file.flow} / {values['step_id']} {values.get('agent') or ''}".strip()
    cut = values.get("context_truncation")
    truncated = isinstance(cut, Mapping) and bool(cut.get("truncated", cut.get("omitted")))
    return {
        "id": file.id,
        "kind": "step",
        "title": title,
        "at": file.at,
        "used": values.get("used_chars"),
        "budget": values.get("budget_chars"),
        "unit": "chars",
        "truncated": truncated or any(section["state"] != "whole" for section in sections(values)),
        "whole": True,
        "model": values.get("model"),
        "status": str(values.get("status", "")),
        "search": f"{title} {values.get('model')} {values.get('status')}".casefold(),
    }


def sections(values: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the sections in the receipt of a step."""
    rows = values.get("sections")
    yield from (row for row in rows if isinstance(row, Mapping) and "state" in row) if isinstance(rows, list) else ()
