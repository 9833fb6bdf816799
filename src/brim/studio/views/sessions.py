"""The sessions of the store."""

from __future__ import annotations

from typing import Any

from brim.errors import BrimError, UnknownName
from brim.sessions.overview import SessionUse, overview
from brim.store.base import Store
from brim.studio.workspace import Workspace
from brim.wire import wire

_MOST_SESSIONS = 500


def sessions(workspace: Workspace) -> dict[str, Any]:
    """Return the sessions and loops, the last written first."""
    store = workspace.find_store()
    rows = [] if store is None else overview(store, recent=_MOST_SESSIONS).recent
    return {"sessions": [row.to_dict() for row in rows], "store": workspace.url}


def session_row(store: Store, session: str) -> SessionUse:
    """Return the last recorded state of one session.

    Raises:
        UnknownName: there is no such session, or the id belongs to a gateway.
    """
    found = overview(store, session).current
    if found is None:
        raise UnknownName("session", session, [row.id for row in store.sessions(limit=_MOST_SESSIONS)])
    return found


def role_and_text(message: Any, format: str | None) -> tuple[str, str]:
    """Return the role and the text of a recorded message; both are empty if it cannot be read."""
    try:
        read = wire(format or "openai").read(message, 0)
    except BrimError:
        return "", ""
    return read.role, read.text()
