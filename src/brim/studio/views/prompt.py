"""One prompt: what was sent at a step, what was left out of it, and why, with tokens that add up.

Only sessions with capture=True keep the texts that they sent; opened files contain theirs.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from brim.errors import InvalidType, UnknownName
from brim.files.json_strings import map_strings
from brim.history.compact import secrets
from brim.sessions.session_step import CUT
from brim.store.base import Store
from brim.studio.prompt_index import USAGE
from brim.studio.prompt_rows import PromptRows
from brim.studio.prompt_source import PromptSource, opened_prompt
from brim.studio.views.sessions import role_and_text
from brim.studio.workspace import Workspace
from brim.wire import wire

_PATHS = {
    "openai": "/chat/completions",
    "responses": "/responses",
    "anthropic": "/v1/messages",
    "gemini": "/v1beta/models/{model}:generateContent",
    "bedrock": "/model/{model}/converse",
}
_IN_PATH = ("gemini", "bedrock")
"""Formats whose model is part of the path."""
_ANSWER = 1_024
"""The answer limit in the command to copy, if the format requires one."""
_AFTER = 40
"""Number of log entries after a prompt that may contain its answer."""
_STATES = {"cut": "shortened", "form": "shortened", "dropped": "left out"}


def prompt(
    workspace: Workspace, session: str | None = None, step: str | None = None, id: str | None = None
) -> dict[str, Any]:
    """Return one prompt with its parts.

    Args:
        workspace: where it is.
        session: the session, for a prompt of a session.
        step: its number in the session; `None` for the last.
        id: the id of a receipt, for a step of a flow.

    Raises:
        UnknownName: there is no such prompt.
        InvalidType: neither a session nor an id is given.
    """
    if session is None:
        if id is None:
            raise InvalidType("session", session, "a non-empty string")
        return _of_flow(workspace, id)
    newest = workspace.store_of(session).entries(session, newest=True, limit=1)
    kept = f"prompt {session} {step} {newest[0].number if newest else 0}"
    known: dict[str, Any] | None = workspace.cached(kept)
    if known is None:
        known = _of_session(workspace, opened_prompt(workspace, session, step))
        workspace.cache(kept, known)
    return known


def _of_session(workspace: Workspace, source: PromptSource) -> dict[str, Any]:
    made, session = PromptRows(source), source.session
    rows = made.rows()
    store = workspace.store_of(session)
    body, row = source.body, source.prompts.rows[source.step - 1]
    answer, marks = _answer_and_marks(store, source)
    usage = {name: row[name] for name in USAGE}
    return {
        "id": f"prompt:{session}:{source.entry.number}",
        "session": session,
        "step": source.step,
        "steps": len(source.prompts.rows),
        "at": source.entry.at,
        "kind": source.kind,
        "model": source.model,
        "format": source.format,
        **{name: body.get(name) for name in ("used", "budget", "unit", "exact", "truncated")},
        "size": source.size,
        "window": _window(source),
        "usage": None if usage["input"] is None else usage,
        "cost_usd": row["cost_usd"],
        "rows": rows,
        "rulers": made.rulers(rows),
        "answer": answer,
        "marks": marks,
        "replayable": source.kind in ("sent", "refitted", "recorded", "sections"),
    }


def prompt_body(workspace: Workspace, session: str, step: str | None = None) -> dict[str, Any]:
    """Return a prompt as the body of a request, and as the command that sends it again.

    Raises:
        UnknownName: there is no such prompt.
        InvalidType: its texts were not kept.
    """
    source = opened_prompt(workspace, session, step)
    if source.kind == "sections":
        texts = "\n\n".join(source.texts.values())
        body: dict[str, Any] = {"model": source.model, "messages": [{"role": "user", "content": texts}]}
    elif source.kind == "sums":
        raise InvalidType("prompt", source.step, "a step with texts: a session with capture=True records them")
    else:
        body = body_of(source)
    return {"body": json.dumps(body, indent=2, ensure_ascii=False), "curl": _curl(source.format, body)}


def body_of(source: PromptSource) -> dict[str, Any]:
    """Return the body of a request, as far as it is known."""
    keys = wire(source.format)
    body: dict[str, Any] = {} if source.model is None else {"model": source.model}
    if source.system is not None and (keys.system_key or source.kind == "recorded"):
        body[keys.system_key or "system"] = source.system
    body[keys.list_key] = [raw for _, raw in source.sent]
    if source.tools is not None:
        *outer, last = keys.tools_at
        inner = body
        for key in outer:
            inner = inner.setdefault(str(key), {})
        inner[str(last)] = list(source.tools)
    return body


def _window(source: PromptSource) -> int | None:
    status = source.about.get("status")
    window = status.get("window") if isinstance(status, Mapping) else None
    return window if isinstance(window, int) else None


def _answer_and_marks(store: Store, source: PromptSource) -> tuple[dict[str, Any] | None, list[Any]]:
    """Return the answer to a prompt, and its events."""
    rows, number = source.prompts.rows, source.entry.number
    until = rows[source.step]["number"] if source.step < len(rows) else number + _AFTER
    before = rows[source.step - 2]["number"] if source.step > 1 else 0
    said: list[str] = []
    for entry in store.entries(source.session, kinds=["message"], after=number, limit=_AFTER):
        if entry.number > until:
            break
        role, text = role_and_text(entry.body["message"], source.format)
        if role != "assistant":
            break
        said.append(text)
    marks = []
    for entry in store.entries(source.session, kinds=["warning", "compaction"], after=before, limit=_AFTER):
        if entry.number >= number:
            break
        if entry.kind == "warning":
            text = f"{entry.body['used_tokens']:,} tokens reached the warning line"
            marks.append({"kind": "warning", "text": text})
        elif (done := entry.body.get("compacted")) and entry.body["trigger"] != CUT:
            text = f"{done['before']:,} to {done['after']:,} tokens: {done['reason']}"
            marks.append({"kind": "compaction", "text": text})
    if cut := source.body.get("cut"):
        marks.append({"kind": "compaction", "text": f"{cut['before']:,} to {cut['after']:,} tokens: {cut['reason']}"})
    return {"text": "\n".join(said)} if said else None, marks


def _of_flow(workspace: Workspace, id: str) -> dict[str, Any]:
    """Return the receipt of a step of a flow as a prompt: its sections and their sizes, without their texts.

    Raises:
        UnknownName: there is no such receipt.
    """
    receipts = workspace.receipts
    listed = [each.id for each in receipts.receipts()]
    values = receipts.read(id)
    if values is None:
        raise UnknownName("receipt", id, listed)
    rows = []
    listed_parts = values.get("sections")
    for part in listed_parts if isinstance(listed_parts, list) else ():
        if not isinstance(part, Mapping) or "state" not in part:
            continue
        sent = part["state"] != "dropped"
        size = part.get("size", part.get("chars", part.get("size_chars")))
        used = part.get("used", part.get("used_chars", part.get("kept")))
        row = {"category": "section", "role": part.get("name"), "name": "", "at": part.get("name")}
        row |= {"state": _STATES.get(part["state"], part["state"]), "units": (used if sent else size) or 0, "was": size}
        row |= {"text": "", "why": part.get("reason", ""), "taken": None, "from": None, "prefix": None}
        rows.append({**row, "sent": sent})
    used = values.get("used_chars")
    total = sum(row["units"] for row in rows if row["sent"])
    if isinstance(used, int) and used != total and rows:
        between = {"category": "framing", "role": "between the sections", "at": None, "state": "whole", "sent": True}
        rows.append({**rows[0], **between, "units": used - total, "was": None, "why": "Headings and separators."})
    answer = values.get("output") if isinstance(values.get("output"), str) else None
    facts = {key: each for key, each in values.items() if each is None or isinstance(each, str | int | float | bool)}
    return {
        "id": id,
        "session": None,
        "step": None,
        "steps": 0,
        "at": None,
        "kind": "sums",
        "model": values.get("model"),
        "format": None,
        "unit": "chars",
        "exact": True,
        "used": used,
        "budget": None,  # `budget_chars` limits the history in it, and is one of the facts.
        "truncated": any(row["state"] != "whole" for row in rows),
        **dict.fromkeys(("window", "usage", "cost_usd")),
        "rows": rows,
        "rulers": [],
        "answer": {"text": answer} if answer else None,
        "marks": [],
        "facts": {key: each for key, each in facts.items() if len(str(each)) < 120},
        "replayable": False,
    }


def _curl(format: str, body: Mapping[str, Any]) -> str:
    """Return the command that sends a body again, with its secrets masked and the key in a variable."""
    key = '-H "Authorization: Bearer $API_KEY"'
    if format == "anthropic":
        key = '-H "x-api-key: $API_KEY" -H "anthropic-version: 2023-06-01"'
        body = {**body, "max_tokens": _ANSWER}
    elif format == "gemini":
        key = '-H "x-goog-api-key: $API_KEY"'
    path = _PATHS[format].format(model=quote(str(body.get("model") or "MODEL"), safe=""))
    if format in _IN_PATH:
        body = {name: value for name, value in body.items() if name != "model"}
    text = json.dumps(map_strings(body, secrets.redact), ensure_ascii=False)
    return f'curl "$BASE_URL{path}" {key} \\\n  -H "Content-Type: application/json" \\\n  -d {shlex.quote(text)}'
