"""The sessions of a store at a glance: how full the current one is, and the totals of the recent ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from brim.errors import UnknownName
from brim.store.base import SessionRow, Store

RECENT = 20
"""Sessions that count as recent."""
_MOST = 1_000
"""Sessions among which one is looked for."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionUse:
    """One session."""

    id: str
    kind: str
    """`session` or `loop`."""
    updated: float
    status: Mapping[str, Any]
    """Its status as it was last written."""
    about: Mapping[str, Any]
    """Other facts: of a loop its goal, its iterations and whether it has ended."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {"id": self.id, "kind": self.kind, "updated": self.updated, **self.about, "status": dict(self.status)}


@dataclass(frozen=True, kw_only=True, slots=True)
class Overview:
    """The current session and the recent ones."""

    current: SessionUse | None
    """The requested session, or the one last written; `None` if there is none."""
    recent: tuple[SessionUse, ...]
    """The most recently written first."""

    @property
    def peak(self) -> float:
        """The largest share of its window that a prompt of the recent sessions used."""
        return max((row.status["peak_utilization"] for row in self.recent), default=0.0)

    @property
    def warned(self) -> int:
        """Recent sessions that crossed their warning line, each counted once."""
        return sum(row.status["warnings"] > 0 for row in self.recent)

    def total(self, name: str) -> int:
        """Return the sum of a number of the recent sessions: `sub_ticks`, `compactions`, `overflows`."""
        return sum(row.status[name] for row in self.recent)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "current": self.current.to_dict() if self.current is not None else None,
            "recent": {
                "sessions": len(self.recent),
                "peak_utilization": self.peak,
                "warned_sessions": self.warned,
                **{name: self.total(name) for name in ("sub_ticks", "compactions", "overflows")},
            },
            "sessions": [row.to_dict() for row in self.recent],
        }


def overview(store: Store, session: str | None = None, recent: int = RECENT) -> Overview:
    """Return the overview of a store.

    Raises:
        UnknownName: the store has no session of this id.
    """
    rows = [row for row in map(_row, store.sessions(limit=recent)) if row is not None]
    if session is None:
        return Overview(current=rows[0] if rows else None, recent=tuple(rows))
    found = next((row for row in rows if row.id == session), None)
    if found is None:
        known = store.sessions(limit=_MOST)
        found = next((_row(row) for row in known if row.id == session), None)
        if found is None:
            raise UnknownName("session", session, [row.id for row in known])
    return Overview(current=found, recent=tuple(rows))


def _row(row: SessionRow) -> SessionUse | None:
    """Return the use of a session; `None` if a gateway wrote it, which knows no peak."""
    status = row.meta.get("status")
    if not isinstance(status, Mapping) or "peak_utilization" not in status:
        return None
    about = {name: value for name, value in row.meta.items() if name not in ("status", "kind")}
    return SessionUse(
        id=row.id, kind=str(row.meta.get("kind", "session")), updated=row.updated, status=status, about=about
    )
