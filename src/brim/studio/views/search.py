"""Search over all texts: those that were sent, and those that were left out, each with the step of its prompt.

Left out texts are found by the index of the store. Messages are read session by session, the newest first, until the
time is over; the answer says how many sessions were read.
"""

from __future__ import annotations

from time import monotonic
from typing import Any

from brim.sessions.ahead_log import dropped_handles
from brim.store.base import SessionRow, Store
from brim.studio.views.sessions import role_and_text
from brim.studio.workspace import Workspace
from brim.wire import format_of

_SECONDS = 0.8
_MOST_HITS = 60
_MOST_SESSIONS = 2_000
_AROUND = 90
"""Characters before and after the words that were found."""


def search(workspace: Workspace, query: str | None, session: str | None) -> dict[str, Any]:
    """Return the texts with all words of a query: those left out by how well they match, then the messages.

    Args:
        workspace: where to look.
        query: the words.
        session: the only session to look in.
    """
    words = (query or "").casefold().split()
    if not words:
        return {"query": query or "", "found": [], "sent": [], "read": 0, "of": 0}
    stores = [workspace.store_of(session)] if session else workspace.stores()
    hits = [(store, hit) for store in stores for hit in store.search(query or "", session=session, limit=_MOST_HITS)]
    found = [
        {**hit._asdict(), "step": _step_of(workspace, store, hit.session, hit.handle)}
        for store, hit in hits[:_MOST_HITS]
    ]
    rows = [(store, row) for store in stores for row in store.sessions(limit=_MOST_SESSIONS)]
    rows = [(store, row) for store, row in rows if session in (None, row.id)]
    sent, read = _messages(workspace, rows, words)
    return {"query": query, "found": found, "sent": sent, "read": read, "of": len(rows)}


def _step_of(workspace: Workspace, store: Store, session: str, handle: str) -> int | None:
    """Return the step whose prompt left a text out: the note with its handle follows that prompt."""
    prompts = workspace.index.session(store, session)
    for entry, names in dropped_handles(store, session):
        if any(handle.startswith(name) for name in names):
            before = [row["step"] for row in prompts.rows if row["number"] < entry.number]
            return before[-1] if before else prompts.step_after(entry.number)
    return None


def _messages(
    workspace: Workspace, rows: list[tuple[Store, SessionRow]], words: list[str]
) -> tuple[list[dict[str, Any]], int]:
    """Return the messages with all words, and how many sessions were read for them."""
    until, found, read = monotonic() + _SECONDS, list[dict[str, Any]](), 0
    for store, row in rows:
        if monotonic() > until or len(found) >= _MOST_HITS:
            break
        read += 1
        for entry in store.entries(row.id, kinds=["message"]):
            raw = entry.body.get("message")
            role, text = role_and_text(raw, format_of([raw]) if isinstance(raw, dict) else None)
            folded = text.casefold()
            if not all(word in folded for word in words):
                continue
            at = folded.find(words[0])
            excerpt = " ".join(text[max(0, at - _AROUND) : at + len(words[0]) + _AROUND].split())
            step = workspace.index.session(store, row.id).step_after(entry.number)
            found.append({"session": row.id, "step": step, "role": role, "excerpt": excerpt})
            if len(found) >= _MOST_HITS:
                break
    return found, read
