"""The sessions of every source: the store, its gateways, and the files that were opened."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from brim.errors import BrimError, UnknownName
from brim.sessions.log.overview import SessionUse
from brim.store.store import Store
from brim.studio.workspace import Workspace
from brim.wire import format_of, wire

_PAGE = 200
"""Sessions in one answer."""
EXCERPT = 180
"""Characters of an excerpt."""


def sessions(
    workspace: Workspace,
    *,
    text: str | None = None,
    file: str | None = None,
    only: str | None = None,
    order: str | None = None,
    start: str | None = None,
) -> dict[str, Any]:
    """Return the sessions that match, the last written first.

    Args:
        workspace: where they are.
        text: words in the id, the model, the file or the title.
        file: the opened file that they come from.
        only: `problems` for those that warned, were refused or were over their budget.
        order: `peak` for the fullest first.
        start: how many to skip.
    """
    with workspace.lock:
        rows = workspace.sessions.rows()
    words = (text or "").casefold().split()
    found = rows if file is None else [row for row in rows if row["source"] == file]
    if only == "problems":
        found = [row for row in found if row["problems"]]
    for word in words:
        found = [row for row in found if word in row["search"] or word in workspace.sessions.shown_title(row["id"])]
    if order == "peak":
        found = sorted(found, key=lambda row: -row["share"])
    first = int(start) if start is not None and start.isdigit() else 0
    shown = [
        {**{key: value for key, value in row.items() if key != "search"}, "title": workspace.sessions.title(row["id"])}
        for row in found[first : first + _PAGE]
    ]
    return {
        "sessions": shown,
        "found": len(found),
        "all": len(rows),
        "start": first,
        "files": [each.to_dict() for each in workspace.files.files()],
        "store": workspace.url,
    }


def session_row(store: Store, session: str) -> SessionUse:
    """Return the last recorded state of one session, or of a conversation of a gateway.

    Raises:
        UnknownName: there is no such session.
    """
    row = store.session(session)
    status = None if row is None else row.meta.get("status")
    if row is None or not isinstance(status, Mapping):
        raise UnknownName("session", session, [row.id for row in store.sessions(limit=20)])
    # A gateway records fewer numbers of a conversation, and calls its compactions cuts.
    known = {"unit": "tokens", "sub_ticks": 0, "compactions": status.get("cuts") or 0, **status}
    about = {name: value for name, value in row.meta.items() if name not in ("status", "kind")}
    kind = str(row.meta.get("kind", "session"))
    return SessionUse(id=session, kind=kind, updated=row.updated, status=known, about=about)


def role_and_text(message: Any, format: str | None) -> tuple[str, str]:
    """Return the role and the text of a recorded message; both are empty if it cannot be read."""
    try:
        read = wire(format or "openai").read(message, 0)
    except BrimError:
        return "", ""
    return read.role, read.text()


def readable(text: str) -> str:
    """Return a stored text for display: a turn, stored as JSON, as its messages with their roles."""
    try:
        messages = json.loads(text) if text.startswith("[{") else None
    except ValueError:
        messages = None
    if not isinstance(messages, list) or not all(isinstance(each, dict) and "role" in each for each in messages):
        return text
    found = (role_and_text(each, format_of(messages)) for each in messages)
    return "\n".join(f"{role}: {said}" for role, said in found)


def files(workspace: Workspace) -> dict[str, Any]:
    """Return the opened files, the newest first, with the progress of reading each."""
    return {"files": [each.to_dict() for each in workspace.files.files()]}
