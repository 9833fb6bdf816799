"""A session over time: a point for each prompt, and a mark for each event between them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from brim.store.base import LogEntry
from brim.studio.views.sessions import session_row
from brim.studio.workspace import Workspace


def timeline(workspace: Workspace, session: str) -> dict[str, Any]:
    """Return the prompts of a session with their usage and cost, and the events between them.

    Raises:
        UnknownName: there is no such session.
    """
    store = workspace.store_of(session)
    row = session_row(store, session)
    rows = workspace.prompts(session).rows
    marks: list[dict[str, Any]] = []
    step = 0
    for entry in store.entries(session, kinds=["prompt", "warning", "compaction", "event"]):
        step += entry.kind == "prompt"
        if (mark := _mark(entry)) is not None:
            # A warning and a compaction are logged before their prompt, all other events after it.
            at = step + (entry.kind in ("warning", "compaction"))
            placed = {"kind": mark[0], "text": mark[1], "number": entry.number}
            marks.append({**placed, "step": min(max(1, at), max(1, len(rows)))})
    return {
        **row.to_dict(),
        "title": workspace.sessions.title(session),
        "points": [{**each, "categories": each["categories"] or {"messages": each["used"]}} for each in rows],
        "marks": marks,
        "lines": {name: row.status.get(name) for name in ("budget", "window", "warning")},
    }


def _compaction(done: Mapping[str, Any]) -> str:
    return f"{done['before']:,} to {done['after']:,} tokens: {done['reason']}"


def _mark(entry: LogEntry) -> tuple[str, str] | None:
    """Return the kind and the description of an event; `None` if it is not shown."""
    body = entry.body
    if entry.kind == "prompt":
        return ("compaction", _compaction(body["cut"])) if body.get("cut") else None
    if entry.kind == "warning":
        return "warning", f"{body['used_tokens']:,} tokens reached the warning line"
    if entry.kind == "compaction" and body["trigger"] != "sub_tick":
        done = body["compacted"]
        return "compaction", _compaction(done) if done else f"restarted: {body['trigger']}"
    iterations = body.get("progress", {}).get("iterations", 0)
    if body.get("event") == "sub_tick":
        return "sub_tick", f"iteration {iterations + 1} continues in a fresh context"
    if body.get("event") == "overflow":
        return "overflow", f"the provider refused {body['used_tokens']:,} tokens"
    if body.get("event") == "step" and body.get("end") != "continue":
        return "iteration", "the goal is reached" if body["end"] == "goal" else f"iteration {iterations} is done"
    return None
