"""A session over time: a point for each prompt, and a mark for each event between them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from brim.sessions.session_step import CUT, prompt_body
from brim.store.base import LogEntry
from brim.studio.costs import cost
from brim.studio.prompt_index import size_of
from brim.studio.views.sessions import session_row
from brim.studio.workspace import Workspace

_FIELDS = ("used", "budget", "categories", "stable_prefix", "truncated", "messages")
_USAGE = ("input", "output", "cached")


def timeline(workspace: Workspace, session: str) -> dict[str, Any]:
    """Return the prompts of a session with their usage and cost, and the events between them.

    Raises:
        UnknownName: there is no such session.
    """
    store = workspace.store_of(session)
    row = session_row(store, session)
    points: list[dict[str, Any]] = []
    marks: list[dict[str, Any]] = []
    for entry in store.entries(session, kinds=["prompt", "usage", "warning", "compaction", "event"]):
        if entry.kind == "prompt":
            unknown = dict.fromkeys((*_USAGE, "cost_usd"))
            body = prompt_body(entry.body)
            shown = {name: body.get(name) for name in _FIELDS}
            shown["categories"] = shown["categories"] or {"messages": body.get("used")}
            if cut := body["cut"]:
                marks.append(_placed("compaction", _compaction(cut), entry, len(points) + 1))
            step = {"step": len(points) + 1, "number": entry.number, "at": entry.at, "size": size_of(body)}
            points.append({**step, **shown, **unknown})
        elif entry.kind == "usage" and points:
            usage = {name: entry.body.get(name) for name in _USAGE}
            status = row.status
            spent = cost(status.get("model"), status.get("unit"), usage["input"], usage["cached"], usage["output"])
            points[-1] |= {**usage, "cost_usd": spent}
            points[-1]["size"]["reported"] = usage["input"] if entry.body.get("passes", 1) == 1 else None
        elif (mark := _mark(entry)) is not None:
            # A warning and a compaction are logged before their prompt, all other events after it.
            marks.append(_placed(*mark, entry, len(points) + (entry.kind in ("warning", "compaction"))))
    for each in marks:
        each["step"] = min(max(1, each["step"]), max(1, len(points)))
    lines = {name: row.status.get(name) for name in ("budget", "window", "warning")}
    return {
        **row.to_dict(),
        "title": workspace.sessions.title(session),
        "points": points,
        "marks": marks,
        "lines": lines,
    }


def _placed(kind: str, text: str, entry: LogEntry, step: int) -> dict[str, Any]:
    return {"kind": kind, "text": text, "number": entry.number, "at": entry.at, "step": step}


def _compaction(done: Mapping[str, Any]) -> str:
    return f"{done['before']:,} to {done['after']:,} tokens: {done['reason']}"


def _mark(entry: LogEntry) -> tuple[str, str] | None:
    """Return the kind and the description of an event; `None` if it is not shown."""
    body = entry.body
    if entry.kind == "warning":
        return "warning", f"{body['used_tokens']:,} tokens reached the warning line"
    if entry.kind == "compaction" and body["trigger"] not in ("sub_tick", CUT):
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
