"""One prompt: what was sent at a step, what was left out of it, and why, with tokens that add up.

Only sessions with capture=True keep the texts that they sent; opened files contain theirs.
"""

from __future__ import annotations

import json
from typing import Any

from brim.requests.replay import replay
from brim.store.store import Store
from brim.studio.prompt_index import USAGE
from brim.studio.prompt_rows import PromptRows
from brim.studio.prompt_source import PromptSource, opened_prompt
from brim.studio.views.sessions import role_and_text
from brim.studio.workspace import Workspace
from brim.wire import wire

_AFTER = 40
"""Number of log entries after a prompt that may contain its answer."""


def prompt(workspace: Workspace, session: str, step: str | None = None) -> dict[str, Any]:
    """Return one prompt of a session with its parts; without a step, the last one.

    Raises:
        UnknownName: there is no such prompt.
    """
    return workspace.cached(
        f"prompt {step}", session, lambda: _shown(workspace, opened_prompt(workspace, session, step))
    )


def _shown(workspace: Workspace, source: PromptSource) -> dict[str, Any]:
    session, body, row = source.session, source.body, source.prompts.rows[source.step - 1]
    usage = {name: row[name] for name in USAGE}
    return {
        "session": session,
        "step": source.step,
        "steps": len(source.prompts.rows),
        "at": source.entry.at,
        "kind": source.kind,
        "model": source.model,
        "format": source.format,
        **{name: body.get(name) for name in ("used", "budget", "unit", "exact", "truncated")},
        "size": source.size,
        "usage": None if usage["input"] is None else usage,
        "cost_usd": row["cost_usd"],
        "rows": PromptRows(source).rows(),
        "answer": _answer(workspace.store_of(session), source),
        "replayable": source.has_texts,
    }


def prompt_body(workspace: Workspace, session: str, step: str | None = None) -> dict[str, Any]:
    """Return a prompt as the body of a request.

    Raises:
        UnknownName: there is no such prompt.
        InvalidType: its texts were not kept.
    """
    source = opened_prompt(workspace, session, step)
    if source.kind == "sections":
        texts = "\n\n".join(source.texts.values())
        body: dict[str, Any] = {"model": source.model, "messages": [{"role": "user", "content": texts}]}
    elif source.kind == "sums":
        body = replay(source.capture(), budget=int(source.body["budget"])).body
    else:
        keys = wire(source.format)
        body = keys.body([raw for _, raw in source.sent], tools=source.tools, model=source.model)
        if source.system is not None and (keys.system_key or source.kind == "recorded"):
            body[keys.system_key or "system"] = source.system
    return {"body": json.dumps(body, indent=2, ensure_ascii=False)}


def _answer(store: Store, source: PromptSource) -> dict[str, Any] | None:
    """Return the answer to a prompt."""
    rows, number = source.prompts.rows, source.entry.number
    until = rows[source.step]["number"] if source.step < len(rows) else number + _AFTER
    said: list[str] = []
    for entry in store.entries(source.session, kinds=["message"], after=number, limit=_AFTER):
        role, text = role_and_text(entry.body["message"], source.format)
        if entry.number > until or role != "assistant":
            break
        said.append(text)
    return {"text": "\n".join(said)} if said else None
