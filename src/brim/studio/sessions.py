"""Sessions as the page shows them: what fills the context now, how it came to that, and what left it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from brim.errors import BrimError, InvalidValue, UnknownName
from brim.sessions.journal import format_in
from brim.sessions.overview import SessionUse, overview
from brim.sessions.session import Session
from brim.store.base import LogEntry, Store
from brim.studio.desk import Desk
from brim.studio.price import cost
from brim.wire import wire

_MOST_SESSIONS = 500
_MOST_LEFT = 300
"""Texts of one edit that are listed."""
_EXCERPT = 180


def listed(desk: Desk) -> dict[str, Any]:
    """Return the sessions and loops of the store, the last written first."""
    store = desk.store()
    rows = [] if store is None else overview(store, recent=_MOST_SESSIONS).recent
    return {"sessions": [row.to_dict() for row in rows if row.kind != "gateway"], "store": desk.url}


def row_of(store: Store, session: str) -> SessionUse:
    """Return what the store knows of one session.

    Raises:
        UnknownName: there is none of this id, or a gateway's conversation has it.
    """
    found = overview(store, session).current
    if found is None or found.kind == "gateway":
        raise UnknownName("session", session, [row.id for row in store.sessions(limit=_MOST_SESSIONS)])
    return found


def timeline(desk: Desk, session: str) -> dict[str, Any]:
    """Return a session over time: a point for each prompt, and a mark for whatever else happened.

    Raises:
        UnknownName: no such session.
    """
    store = desk.needed()
    row = row_of(store, session)
    entries = store.entries(session, kinds=["prompt", "usage", "warning", "compaction", "event"])
    points: list[dict[str, Any]] = []
    marks: list[dict[str, Any]] = []
    for entry in entries:
        if entry.kind == "prompt":
            points.append(_point(entry))
        elif entry.kind == "usage" and points:
            told = {name: entry.body.get(name) for name in ("input", "output", "cached")}
            spent = cost(row.status.get("model"), row.status.get("unit"), told["input"], told["cached"], told["output"])
            points[-1] |= {**told, "cost_usd": spent}
        elif (mark := _mark(entry)) is not None:
            marks.append({**mark, "number": entry.number, "at": entry.at, "prompt": len(points)})
    lines = {name: row.status[name] for name in ("budget", "window", "warning")}
    return {**row.to_dict(), "points": points, "marks": marks, "lines": lines}


def _point(entry: LogEntry) -> dict[str, Any]:
    body = entry.body
    told = {name: body.get(name) for name in ("used", "budget", "categories", "stable_prefix", "truncated", "messages")}
    return {
        "number": entry.number,
        "at": entry.at,
        **told,
        "input": None,
        "output": None,
        "cached": None,
        "cost_usd": None,
    }


def _mark(entry: LogEntry) -> dict[str, Any] | None:
    """Return what an entry marks on the line of time; nothing for one that is nothing to look at."""
    body = entry.body
    if entry.kind == "warning":
        return {"kind": "warning", "told": f"{body['used_tokens']:,} reached the warning line"}
    if entry.kind == "compaction" and body["trigger"] != "sub_tick":
        made = body["compacted"]
        told = (
            f"{made['before']:,} to {made['after']:,}: {made['reason']}" if made else f"begun anew: {body['trigger']}"
        )
        return {"kind": "compaction", "told": told}
    progress = body.get("progress", {})
    if body.get("event") == "sub_tick":
        return {"kind": "sub_tick", "told": f"iteration {progress.get('iterations', 0) + 1} goes on in a fresh context"}
    if body.get("event") == "overflow":
        return {"kind": "overflow", "told": f"the provider refused {body['used_tokens']:,}"}
    if body.get("event") == "step" and body.get("end") != "continue":
        ended = "the goal is reached" if body["end"] == "goal" else f"iteration {progress.get('iterations')} is done"
        return {"kind": "iteration", "told": ended}
    return None


def ledger(desk: Desk, session: str) -> dict[str, Any]:
    """Return every edit of a session's context, the newest first: when, why, before and after, and what left.

    Raises:
        UnknownName: no such session.
    """
    store = desk.needed()
    row = row_of(store, session)
    edits: list[dict[str, Any]] = []
    waits: dict[str, Any] | None = None
    used: int | None = None
    entries = store.entries(session, kinds=["prompt", "compaction", "message", "note"])
    for entry in entries:
        if entry.kind == "note":
            if waits is not None and entry.body.get("kept"):
                waits["left"] = list(entry.body["kept"])
                if waits not in edits:
                    edits.append(waits)
            waits = None
            continue
        made = _edit(entry, used)
        if entry.kind == "prompt":
            used = entry.body["used"]
            if edits and edits[-1]["after"] is None:
                edits[-1]["after"] = used
        if made is not None:
            waits = made
        elif entry.kind == "message":
            waits = None
        if entry.kind == "compaction" and made is not None:
            edits.append(made)
    for each in edits:
        each["texts"] = _excerpts(store, each["left"][:_MOST_LEFT])
        each["more"] = max(0, len(each.pop("left")) - _MOST_LEFT)
    held = [entry.body["pins"] for entry in entries if "pins" in entry.body]
    return {**row.to_dict(), "edits": edits[::-1], "pins": _excerpts(store, held[-1] if held else [])}


def _edit(entry: LogEntry, used: int | None) -> dict[str, Any] | None:
    """Return the edit that an entry is, before it is known what left with it; nothing for one that is none."""
    body = entry.body
    told: dict[str, Any] = {"number": entry.number, "at": entry.at, "left": []}
    told |= {"summary": None, "replaced": None, "trigger": None}
    if entry.kind == "compaction":
        made = body["compacted"]
        kind = "sub_tick" if body["trigger"] == "sub_tick" else "compaction" if made else "restart"
        told |= {"kind": kind, "trigger": body["trigger"], "before": used, "after": None, "reason": ""}
        if made:
            told |= {name: made[name] for name in ("before", "after", "reason", "summary", "replaced")}
        elif body["view"]:
            told["reason"] = "The work goes on in a fresh context, which begins with what was handed over."
            told["summary"] = _said(body["view"][0], format_in(body))
        return told
    if entry.kind == "message" and "sent" in body:
        reason = "A result of a tool was longer than tool_limit, so it was cut by its shape."
        return {**told, "kind": "cut", "before": None, "after": None, "reason": reason}
    if entry.kind == "prompt" and body.get("truncated"):
        reason = "The conversation did not fit the budget, so turns were left out of this prompt."
        return {**told, "kind": "left out", "before": body["units"], "after": body["used"], "reason": reason}
    return None


def _said(message: Any, format: str | None) -> str:
    try:
        return wire(format or "openai").read(message, 0).text()
    except BrimError:
        return ""


def _excerpts(store: Store, handles: Sequence[str]) -> list[dict[str, Any]]:
    found = []
    for handle in handles:
        text = store.text(handle)
        if text is not None:
            excerpt = " ".join(text[: 4 * _EXCERPT].split())[:_EXCERPT]
            found.append({"handle": handle, "chars": len(text), "excerpt": excerpt})
    return found


def text(desk: Desk, handle: str) -> dict[str, Any]:
    """Return a text that left a prompt.

    Raises:
        UnknownName: the store keeps no such text.
    """
    found = desk.needed().text(handle)
    if found is None:
        raise UnknownName("kept text", handle, [], "It may have been purged")
    return {"handle": handle, "text": found}


def search(desk: Desk, query: str, session: str | None) -> dict[str, Any]:
    """Return the texts that left prompts and share words with a query, the best first."""
    found = desk.needed().search(query, session=session, limit=50) if query.strip() else []
    return {"query": query, "found": [each._asdict() for each in found]}


def pin(desk: Desk, session: str, handle: str) -> dict[str, Any]:
    """Pin a text that left: every prompt of its session holds it from now on.

    Raises:
        UnknownName: no such session, or it keeps no such text.
        InvalidValue: the pins would take too much of the budget.
    """
    opened = Session.open(session, store=desk.needed())
    before = opened.estimate()
    opened.pin(handle)
    return {"handle": handle, "units": opened.estimate() - before, "pins": list(opened.pins)}


def unpin(desk: Desk, session: str, handle: str) -> dict[str, Any]:
    """Let go of a pin.

    Raises:
        UnknownName: no such session, or nothing of this handle is pinned.
    """
    opened = Session.open(session, store=desk.needed())
    opened.unpin(handle)
    return {"handle": handle, "pins": list(opened.pins)}


def restore(desk: Desk, session: str, handle: str) -> dict[str, Any]:
    """Bring a text back: it becomes the newest message of its session, which the next prompt always holds.

    Raises:
        UnknownName: no such session, or it keeps no such text.
        InvalidValue: a call waits for its result, so no message can stand here.
    """
    opened = Session.open(session, store=desk.needed())
    if opened.unfinished:
        told = "at a place where a message may stand: a call waits for its result, so restore once that has come"
        raise InvalidValue("the session", session, told)
    whole = opened.recall(handle)
    before = opened.estimate()
    opened.add(wire(opened.format).say(f"Brought back from earlier ({handle}):\n{whole}"))
    return {"handle": handle, "units": opened.estimate() - before, "number": opened.number}
