"""The prompts of each session of a workspace in order. A prompt has the same number, its step, on every screen.

A session is read once; after that, only new entries are read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from brim.sessions.session_step import prompt_body
from brim.store.store import Store
from brim.studio.costs import cost

USAGE = ("input", "output", "cached")
"""What a provider reports about a call."""
_FIELDS = ("used", "budget", "unit", "categories", "stable_prefix", "truncated", "messages")


@dataclass(slots=True)
class SessionPrompts:
    """The prompts of one session, in their order."""

    model: str | None = None
    entries: int = 0
    """Log entries that were read."""
    compacted: bool = False
    """Whether a compaction came after the last prompt."""
    rows: list[dict[str, Any]] = field(default_factory=list)
    lock: Lock = field(default_factory=Lock, repr=False)

    def step_after(self, number: int) -> int | None:
        """Return the first step whose prompt was written after a log entry; the last step if there is none."""
        found = next((row["step"] for row in self.rows if row["number"] >= number), None)
        return found if found is not None else (self.rows[-1]["step"] if self.rows else None)


def prompts_of(known: dict[str, SessionPrompts], store: Store, name: str) -> SessionPrompts:
    """Return the prompts of one session as they are now; `known` contains those read earlier."""
    row, session = store.session(name), known.get(name)
    if session is None or (row is not None and row.entries < session.entries):  # It was purged, and begun again.
        session = known[name] = SessionPrompts()
    status = row.meta.get("status") if row is not None else None
    session.model = status.get("model") if isinstance(status, Mapping) else None
    with session.lock:
        for entry in store.entries(name, kinds=["prompt", "usage", "compaction"], after=session.entries):
            session.entries = max(session.entries, entry.number)
            if entry.kind == "compaction":
                session.compacted = True
                continue
            if entry.kind == "usage":
                if session.rows:
                    _add_usage(session.rows[-1], entry.body)
                continue
            body = prompt_body(entry.body)
            model = body.get("model") or session.model
            session.rows.append(
                {
                    "step": len(session.rows) + 1,
                    "number": entry.number,
                    "at": entry.at,
                    "model": model,
                    **{key: body.get(key) for key in _FIELDS},
                    **dict.fromkeys(USAGE),
                    "size": _size_of(body),
                    "compacted": session.compacted or bool(entry.body.get("cut")),
                    "cost_usd": cost(model, body.get("unit"), body.get("used")),
                }
            )
            session.compacted = False
    return session


def _size_of(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the size of a prompt, the same on every screen, and its source."""
    exact = bool(body.get("exact"))
    counted = "counted exactly" if exact else "estimated"
    return {
        "used": body.get("used"),
        "exact": exact,
        "method": "reported by the provider" if body.get("reported") else counted,
        "reported": None,
        "unlogged": body.get("unlogged"),
    }


def _add_usage(row: dict[str, Any], body: Mapping[str, Any]) -> None:
    """Add what the provider reported to its prompt."""
    row |= {name: body.get(name) for name in USAGE}
    if row["input"] is not None:
        row["size"]["reported"] = row["input"] if body.get("passes", 1) == 1 else None
        spent = cost(row["model"], row["unit"], row["input"], row["cached"], row["output"])
        row["cost_usd"] = spent if spent is not None else row["cost_usd"]
