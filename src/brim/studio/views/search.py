"""Searches all texts, sent or left out, and shows each with the step of its prompt.

Texts that were left out are found with the index of the store. Messages are read session by session, the newest first,
up to a time limit; the answer says how many sessions were read.
"""

from __future__ import annotations

from time import monotonic
from typing import Any

from brim.sessions.log.dropped_texts import DroppedTexts
from brim.store.base import SearchHit, SessionRow, Store
from brim.store.texts import DROPPED, SHOWN
from brim.studio.views.sessions import EXCERPT, role_and_text
from brim.studio.workspace import Workspace
from brim.wire import format_of

_SECONDS = 0.8
_MOST_HITS = 60
_MOST_SESSIONS = 2_000


def search(workspace: Workspace, query: str | None) -> dict[str, Any]:
    """Return the texts with all words of a query: first those left out, ranked by match, then the messages."""
    words = (query or "").casefold().split()
    if not words:
        return {"query": query or "", "found": [], "sent": [], "read": 0, "of": 0}
    stores = workspace.stores()
    found = [
        {**hit._asdict(), "step": _step_of(workspace, store, hit)}
        for store in stores
        for hit in _left_out(store, query or "")
        if _has_all(store.text(hit.handle, session=hit.session) or "", words)
    ][:_MOST_HITS]
    rows = [(store, row) for store in stores for row in store.sessions(limit=_MOST_SESSIONS)]
    sent, read = _messages(workspace, rows, words)
    return {"query": query, "found": found, "sent": sent, "read": read, "of": len(rows)}


def _has_all(text: str, words: list[str]) -> bool:
    folded = text.casefold()
    return all(word in folded for word in words)


def _left_out(store: Store, query: str) -> list[SearchHit]:
    """Return the texts with words of a query that are no longer in the prompts of their sessions."""
    hits = store.search(query, limit=_MOST_HITS)
    dropped = {name: DroppedTexts(store, name) for name in {hit.session for hit in hits}}
    return [hit for hit in hits if dropped[hit.session].includes(hit)]


def _step_of(workspace: Workspace, store: Store, hit: SearchHit) -> int | None:
    """Return the step whose prompt left a text out, from the log entry after it that lists the text."""
    prompts = workspace.prompts(hit.session)
    for entry in store.entries(hit.session, kinds=[DROPPED]):
        numbers = [number for turn in entry.body.get("turns", {}).values() for number in turn]
        whole = hit.handle[:SHOWN] in entry.body.get("results", ())
        if hit.number in numbers or whole or (hit.kind != "message" and entry.number > hit.number):
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
            if not _has_all(text, words):
                continue
            at = text.casefold().find(words[0])
            excerpt = " ".join(text[max(0, at - EXCERPT // 2) : at + len(words[0]) + EXCERPT // 2].split())
            step = workspace.prompts(row.id).step_after(entry.number)
            found.append({"session": row.id, "step": step, "role": role, "excerpt": excerpt})
            if len(found) >= _MOST_HITS:
                break
    return found, read
