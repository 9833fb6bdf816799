"""The prompts of each session of a workspace, in their order: the number of a prompt, its step, is the same everywhere.

A session is read once, and then only what was written since.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from brim.sessions.session_step import prompt_body
from brim.store.base import Store
from brim.studio.costs import cost
from brim.studio.receipt_files import ReceiptFiles

_MOST_SESSIONS = 500
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
        self._sessions: dict[str, SessionPrompts] = {}

    def session(self, store: Store, name: str) -> SessionPrompts:
        """Return the prompts of one session as they are now."""
        row, session = store.session(name), self._sessions.get(name)
        if session is None or (row is not None and row.entries < session.entries):  # It was purged, and begun again.
            session = self._sessions[name] = SessionPrompts()
        status = row.meta.get("status") if row is not None else None
        session.model = status.get("model") if isinstance(status, Mapping) else None
        with session.lock:
            _read(store, name, session)
        return session

    def errors(self) -> dict[str, list[float]]:
        """Return the relative error of brim's counts by model, one for each prompt that the provider counted."""
        found: dict[str, list[float]] = {}
        listed = [(store, row.id) for store in self._stores() for row in store.sessions(limit=_MOST_SESSIONS)]
        for session in (self.session(store, name) for store, name in listed):
            if session.model:
                errors = [(counted - reported) / reported for counted, reported in session.counts if reported]
                found.setdefault(session.model, []).extend(errors)
        return found


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
