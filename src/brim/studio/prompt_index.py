"""The prompts of each session of a workspace, in their order: the number of a prompt, its step, is the same everywhere.

A session is read once, and then only what was written since.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Lock
from time import monotonic
from typing import Any

from brim.sessions.session_step import prompt_body
from brim.store.base import Store
from brim.studio.costs import cost
from brim.studio.receipt_files import ReceiptFiles

_MOST_SESSIONS = 500
_FRESH = 1.0
"""Seconds between two looks at the stores."""
_FIELDS = ("used", "budget", "unit")


@dataclass(slots=True)
class SessionPrompts:
    """The prompts of one session, in their order."""

    model: str | None = None
    entries: int = 0
    """Log entries that were read."""
    rows: list[dict[str, Any]] = field(default_factory=list)
    counts: list[tuple[int, int]] = field(default_factory=list)
    """Tokens that brim counted for a prompt, each with those that the provider reported."""
    lock: Lock = field(default_factory=Lock, repr=False)

    @property
    def cost(self) -> float | None:
        """What all prompts cost together; `None` if the cost of one is unknown."""
        costs = [row["cost_usd"] for row in self.rows]
        return round(sum(costs), 8) if costs and None not in costs else None

    def step_after(self, number: int) -> int | None:
        """Return the first step whose prompt was written after a log entry; the last step if there is none."""
        found = next((row["step"] for row in self.rows if row["number"] >= number), None)
        return found if found is not None else (self.rows[-1]["step"] if self.rows else None)


def size_of(body: Mapping[str, Any], reported: int | None = None) -> dict[str, Any]:
    """Return the size of a prompt, the same on every screen, with how it is known.

    Args:
        body: the log entry of the prompt.
        reported: the tokens that the provider reported for it.
    """
    exact = bool(body.get("exact"))
    counted = "counted exactly" if exact else "estimated"
    return {
        "used": body.get("used"),
        "exact": exact,
        "method": "reported by the provider" if body.get("reported") else counted,
        "reported": reported,
        "unlogged": body.get("unlogged"),
    }


class PromptIndex:
    """The rows of one workspace."""

    def __init__(self, stores: Callable[[], list[Store]], runs: str) -> None:
        """Begin empty; `stores` returns the stores with sessions, `runs` is the directory of the flows' receipts."""
        self.files = ReceiptFiles(runs)
        self._stores = stores
        self._lock = Lock()
        self._sessions: dict[str, SessionPrompts] = {}
        self._checked = -_FRESH

    def update(self) -> None:
        """Read what was written to the recent sessions since the last look, at most once a second."""
        with self._lock:
            if monotonic() - self._checked >= _FRESH:
                self._update()
                self._checked = monotonic()

    def session(self, store: Store, name: str, model: str | None = None) -> SessionPrompts:
        """Return the prompts of one session as they are now."""
        session = self._sessions.setdefault(name, SessionPrompts(model))
        with session.lock:
            _read(store, name, session)
        return session

    def known(self, name: str) -> SessionPrompts | None:
        """Return the prompts of a session as far as they were read; `None` if they were not."""
        return self._sessions.get(name)

    def errors(self) -> dict[str, list[float]]:
        """Return the relative error of brim's counts by model, one for each prompt that the provider counted."""
        self.update()
        found: dict[str, list[float]] = {}
        for session in self._sessions.values():
            if session.model:
                errors = [(counted - reported) / reported for counted, reported in session.counts if reported]
                found.setdefault(session.model, []).extend(errors)
        return found

    def _update(self) -> None:
        listed = [(store, row) for store in self._stores() for row in store.sessions(limit=_MOST_SESSIONS)]
        gone = set(self._sessions) - {row.id for _, row in listed}
        for name in gone:
            del self._sessions[name]
        for store, row in listed:
            session = self._sessions.get(row.id)
            if session is not None and row.entries == session.entries:
                continue
            if session is None or row.entries < session.entries:
                session = self._sessions[row.id] = SessionPrompts()
            status = row.meta.get("status")
            session.model = status.get("model") if isinstance(status, Mapping) else None
            with session.lock:
                _read(store, row.id, session)
                session.entries = max(session.entries, row.entries)


def _read(store: Store, name: str, session: SessionPrompts) -> None:
    for entry in store.entries(name, kinds=["prompt", "usage"], after=session.entries):
        body: Mapping[str, Any] = entry.body
        session.entries = max(session.entries, entry.number)
        if entry.kind == "usage":
            if session.rows:
                _report(session, body)
            continue
        body = prompt_body(body)
        model = body.get("model") or session.model
        step = len(session.rows) + 1
        session.rows.append(
            {
                "id": f"prompt:{name}:{entry.number}",
                "session": name,
                "step": step,
                "number": entry.number,
                "at": entry.at,
                **{key: body.get(key) for key in _FIELDS},
                "size": size_of(body),
                "truncated": bool(body.get("truncated")),
                "cut": bool(body.get("cut")),
                "whole": "receipt" in body or "recorded" in body,
                "model": model,
                "cost_usd": cost(model, body.get("unit"), body.get("used")),
            }
        )


def _report(session: SessionPrompts, body: Mapping[str, Any]) -> None:
    """Add what the provider reported to the last prompt."""
    row, reported = session.rows[-1], body.get("input")
    if isinstance(reported, int) and isinstance(row["used"], int):
        row["size"]["reported"] = reported if body.get("passes", 1) == 1 else None
        session.counts.append((row["used"], reported))
        spent = cost(row["model"], row["unit"], reported, body.get("cached"), body.get("output"))
        row["cost_usd"] = spent if spent is not None else row["cost_usd"]
