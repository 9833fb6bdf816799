"""The edits of a session's context: what was removed and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from brim.errors import UnknownName
from brim.meter import BaseMeter
from brim.sessions.log.dropped_texts import DroppedTexts
from brim.store.base import LogEntry
from brim.store.texts import DROPPED
from brim.studio.prompt_source import meter_of
from brim.studio.views.sessions import EXCERPT, readable, role_and_text, session_row
from brim.studio.workspace import Workspace

_MOST_TEXTS = 300
"""Removed texts of one edit that are listed."""


def ledger(workspace: Workspace, session: str) -> dict[str, Any]:
    """Return every edit of a session's context, the newest first, with the texts that it removed.

    Raises:
        UnknownName: there is no such session.
    """
    store = workspace.store_of(session)
    row = session_row(store, session)
    edits: list[dict[str, Any]] = []
    pending: dict[str, Any] | None = None
    used: int | None = None
    for entry in store.entries(session, kinds=["prompt", "compaction", "message", DROPPED]):
        if entry.kind == DROPPED:  # It follows the entry of its edit, and names the removed texts.
            if pending is not None:
                pending["removed"] = [*entry.body.get("turns", ()), *entry.body.get("results", ())]
                if pending not in edits:
                    edits.append(pending)
            pending = None
            continue
        edit = _edit(entry, used)
        if entry.kind == "prompt":
            used = entry.body["used"]
            if edits and edits[-1]["after"] is None:
                edits[-1]["after"] = used
        if edit is not None:
            pending = edit
        if edit is not None and (entry.kind == "compaction" or edit["kind"] == "compaction"):
            edits.append(edit)
    regret = (row.status.get("regret") or {}).get("cuts", {})
    for number, cut in enumerate((edit for edit in edits if edit["kind"] == "compaction"), start=1):
        cut["regret"] = regret.get(str(number))
    prompts = workspace.prompts(session)
    scale = meter_of(row.status.get("model"))
    for each in edits:
        each["step"] = prompts.step_after(each["number"])
        removed = each.pop("removed")
        each["texts"] = _excerpts(DroppedTexts(store, session).texts(removed[:_MOST_TEXTS]), scale)
        each["more"] = max(0, len(removed) - _MOST_TEXTS)
    return {**row.to_dict(), "edits": edits[::-1]}


def _edit(entry: LogEntry, used: int | None) -> dict[str, Any] | None:
    """Return the edit of a log entry, before its removed texts are known; `None` if it made none."""
    body = entry.body
    edit: dict[str, Any] = {"number": entry.number, "at": entry.at, "removed": []}
    edit |= dict.fromkeys(("summary", "replaced", "trigger", "before", "after"))
    if entry.kind == "compaction":
        done = body["compacted"]
        kind = "sub_tick" if body["trigger"] == "sub_tick" else "compaction" if done else "restart"
        edit |= {"kind": kind, "trigger": body["trigger"], "before": used, "reason": ""}
        if done:
            edit |= {name: done[name] for name in ("before", "after", "reason", "summary", "replaced")}
        elif body["view"]:
            edit["reason"] = "The work continues in a fresh context, which starts with this handover."
            edit["summary"] = role_and_text(body["view"][0], body["format"])[1]
        return edit
    if entry.kind == "message" and "sent" in body:
        return {**edit, "kind": "shortened", "reason": "A tool result was longer than tool_limit."}
    if entry.kind == "prompt" and (cut := body.get("cut")):
        return {**edit, "kind": "compaction", "trigger": "line", **cut}
    if entry.kind == "prompt" and body.get("truncated") and "units" in body:
        reason = "The history did not fit the budget, so this prompt has fewer turns."
        return {**edit, "kind": "dropped", "before": body["units"], "after": body["used"], "reason": reason}
    return None


def _excerpts(texts: Mapping[str, str], scale: BaseMeter) -> list[dict[str, Any]]:
    found = []
    for handle, text in texts.items():
        excerpt = " ".join(readable(text)[: 4 * EXCERPT].split())[:EXCERPT]
        found.append({"handle": handle, "tokens": scale.count(text), "excerpt": excerpt})
    return found


def text(workspace: Workspace, handle: str) -> dict[str, Any]:
    """Return a removed text.

    Raises:
        UnknownName: the store has no such text.
    """
    texts = (store.text(handle) for store in workspace.stores())
    found = next((each for each in texts if each is not None), None)
    if found is None:
        raise UnknownName("stored text", handle, [], "It may have been purged")
    return {"handle": handle, "text": readable(found)}
