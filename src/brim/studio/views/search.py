"""Searches the texts of all sessions, sent or left out, with the index of the store."""

from __future__ import annotations

from typing import Any

from brim.sessions.log.dropped_texts import DroppedTexts
from brim.studio.workspace import Workspace

_MOST_HITS = 60


def search(workspace: Workspace, query: str | None) -> dict[str, Any]:
    """Return the texts with all words of a query, the best match first, each with its step.

    A text that was left out has no step, since each later prompt lacks it.
    """
    words = (query or "").casefold().split()
    found = []
    for store in workspace.stores() if words else ():
        hits = store.search(query or "", limit=_MOST_HITS)
        dropped = {name: DroppedTexts(store, name) for name in {hit.session for hit in hits}}
        for hit in hits:
            text = (store.text(hit.handle, session=hit.session) or "").casefold()
            if all(word in text for word in words):
                out = dropped[hit.session].includes(hit)
                step = None if out else workspace.prompts(hit.session).step_after(hit.number)
                found.append({"session": hit.session, "step": step, "out": out, "excerpt": hit.excerpt})
    return {"query": query or "", "found": found}
