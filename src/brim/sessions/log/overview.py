"""The sessions of a store at a glance: the size of the current one, and the totals of the recent ones.

The conversations of a gateway belong to its clients. All other sessions belong to the user who opens the store.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from brim.errors import UnknownName
from brim.sessions.log.dropped_texts import DroppedTexts, MemoryLog
from brim.store.base import SessionRow
from brim.store.store import Store

RECENT = 20
"""Sessions that count as recent."""
GATEWAY = "gateway"
"""The kind of the rows that gateways write."""
_MOST = 1_000
"""Number of newest sessions to search."""


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
    """Other facts; for a loop, its goal, its iterations and whether it has ended."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {"id": self.id, "kind": self.kind, "updated": self.updated, **self.about, "status": dict(self.status)}


@dataclass(frozen=True, kw_only=True, slots=True)
class GatewayUse:
    """One conversation of a gateway."""

    id: str
    model: str
    key: str
    """The name of the client's key; empty if the gateway requires none."""
    updated: float
    used: int
    """Tokens of the newest prompt."""
    before: int | None
    """Tokens of the newest request before it was cut."""
    budget: int | None
    window: int | None
    cuts: int
    """How often the conversation was cut."""
    regret: Mapping[str, Any] = field(default_factory=dict)
    """Calls that were repeated because a cut had removed their results, their tokens, and both by cut."""

    @classmethod
    def of(cls, name: str, updated: float, status: Mapping[str, Any]) -> GatewayUse:
        """Return a conversation from its status; `regret` may be missing if no calls were repeated."""
        known = {slot.name: status.get(slot.name) for slot in fields(cls) if slot.name not in ("id", "updated")}
        known |= {"model": known["model"] or "", "key": known["key"] or "", "cuts": known["cuts"] or 0}
        known["regret"] = known["regret"] or {"calls": 0, "tokens": 0, "cuts": {}}
        return cls(id=name, updated=updated, **known)  # type: ignore[arg-type]

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True, slots=True)
class Overview:
    """The current session and the recent ones, and the conversations of gateways."""

    current: SessionUse | None
    """The requested session, or the one last written; `None` if there is none."""
    recent: tuple[SessionUse, ...]
    """The most recently written first."""
    gateway: tuple[GatewayUse, ...] = ()
    """The conversations that gateways cut, the most recently written first, or the requested one alone."""

    @property
    def peak(self) -> float:
        """The largest share of its window that a prompt of the recent sessions used."""
        return max((row.status["peak_utilization"] for row in self.recent), default=0.0)

    @property
    def warned(self) -> int:
        """Number of recent sessions that crossed their warning line."""
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
            "gateway": [row.to_dict() for row in self.gateway],
        }


def overview(
    store: Store,
    session: str | None = None,
    recent: int = RECENT,
    may_read: Callable[[SessionRow], bool] | None = None,
) -> Overview:
    """Return the overview of a store, or of the sessions in it that may be read.

    Raises:
        UnknownName: there is no session of this id.
    """
    known = [row for row in store.sessions(limit=_MOST) if may_read is None or may_read(row)]
    if session is not None and all(row.id != session for row in known):
        raise UnknownName("session", session, [row.id for row in known])
    uses = [use for use in map(_use, known) if use is not None]
    sessions = [use for use in uses if isinstance(use, SessionUse)]
    gateway = [use for use in uses if isinstance(use, GatewayUse)]
    if session is not None:
        gateway = [use for use in gateway if use.id == session]
    current = next((use for use in sessions if session in (None, use.id)), None)
    return Overview(current=current, recent=tuple(sessions[:recent]), gateway=tuple(gateway[:recent]))


def _use(row: SessionRow) -> SessionUse | GatewayUse | None:
    """Return the use of a session or of a conversation of a gateway; `None` if nothing has been sent yet."""
    status = row.meta.get("status")
    if not isinstance(status, Mapping):
        return None
    if row.meta.get("kind") == GATEWAY:
        return GatewayUse.of(row.id, row.updated, status)
    if "peak_utilization" not in status:
        return None
    about = {name: value for name, value in row.meta.items() if name not in ("status", "kind")}
    return SessionUse(
        id=row.id, kind=str(row.meta.get("kind", "session")), updated=row.updated, status=status, about=about
    )


class ReadableSessions:
    """The sessions with these names; without names, all sessions that were not written by a gateway."""

    def __init__(self, store: Store, names: Sequence[str] = ()) -> None:
        self.store = store
        """Their store."""
        self._names = frozenset(names)

    def overview(self, session: str | None = None) -> Overview:
        """Return the overview of the sessions.

        Raises:
            UnknownName: none of them has this id; the error names no other session.
        """
        return overview(self.store, session, may_read=self._may_read)

    def texts(self, session: str | None = None) -> DroppedTexts:
        """Return the dropped texts of a session, or of the one that was last written.

        Raises:
            UnknownName: none of the sessions has this id.
        """
        found = self.overview(session)
        rows = [row for row in (found.current, *found.gateway) if row is not None]
        newest = max(rows, key=lambda row: row.updated, default=None)
        name = session or (newest.id if newest is not None else "")
        return DroppedTexts(self.store if name else MemoryLog(), name)

    def _may_read(self, row: SessionRow) -> bool:
        if self._names:
            return row.id in self._names
        # A row without a status may belong to a gateway that has not written it yet.
        return row.meta.get("kind") != GATEWAY and isinstance(row.meta.get("status"), Mapping)
