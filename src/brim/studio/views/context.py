"""The current context of a session: what fills it, what each part costs, and what makes it smaller."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from brim.errors import BrimError, InvalidType, UnknownName
from brim.sessions.context import Context
from brim.sessions.fixed_parts import HEAD
from brim.sessions.log.overview import GATEWAY
from brim.sessions.session import Session
from brim.sessions.session_step import prompt_body
from brim.sessions.status import CATEGORIES
from brim.store.base import Store
from brim.studio.costs import cost
from brim.studio.prompt_index import size_of
from brim.studio.recorded_session import KIND, UNLOGGED
from brim.studio.views.prompt import prompt
from brim.studio.views.sessions import session_row
from brim.studio.workspace import Workspace
from brim.wire import wire

_MOST_TEXT = 4_000
"""Characters of a piece in the list; the rest is read when it is opened."""
_RECENT = 400
"""Entries at the end of a log that are searched for the last prompt and its usage."""
_NO_TEXT = "the text was not captured: a session with capture=True keeps it"
_OLDER = "compaction: of turns older than the newest {keep_turns}, excerpts and one line per call stay"
_FREES = {
    "system": "a shorter system prompt",
    "tools": "fewer tools, or shorter descriptions",
    "memory": "a lower memory_limit, or less memory in prompt()",
    "pinned": "removing a pin, in the ledger",
    "summary": "a lower summary_share",
    "user": _OLDER,
    "assistant": _OLDER,
    "tool results": "a lower tool_limit for new results; of old ones, compaction leaves excerpts",
    "section": "a lower ceiling or priority of the section",
    "framing": "fewer messages: it is the overhead of each",
    "new": "nothing yet: it was added since the last prompt",
    UNLOGGED: "unknown: the log does not have it; the system prompt and the tools, as a rule",
}
"""What makes each category smaller."""


def context(workspace: Workspace, session: str) -> dict[str, Any]:
    """Return the status of a session, a row for each category, and every piece of its context.

    Raises:
        UnknownName: there is no such session.
    """
    store = workspace.store_of(session)
    row = session_row(store, session)
    values: dict[str, Any] = {**row.to_dict(), "pieces": [], "problem": None, "settings": None, "unfinished": False}
    if row.kind in (KIND, GATEWAY):
        return {**values, **_of_last(workspace, session, row.status)}
    try:
        opened = Session.open(session, store=store)
    except BrimError as error:  # It has a meter of the caller's own: the numbers are known, the messages are not.
        return {**values, "rows": _rows(row.status, 3), "problem": str(error), "difference": None, "size": None}
    status = opened.status().to_dict()
    prompt, counted = _last_prompt(store, session, opened.number)
    difference = None if counted is None or prompt is None else counted - prompt["used"]
    return {
        **values,
        "status": status,
        "settings": opened.settings.to_dict(),
        "unfinished": opened.unfinished,
        "difference": difference,
        "size": None if prompt is None else size_of(prompt_body(prompt), counted),
        "rows": _rows(status, opened.settings.options["keep_turns"]),
        "pieces": [*_fixed_pieces(status, prompt), *_pieces(opened)],
        "format": opened.format,
    }


def _of_last(workspace: Workspace, session: str, status: Mapping[str, Any]) -> dict[str, Any]:
    """Return the context of a session that brim cannot continue, a file's or a gateway's: its last prompt."""
    last = prompt(workspace, session)
    sums: dict[str, int] = {}
    pieces = []
    for i, each in enumerate(row for row in last["rows"] if row["sent"]):
        name = each["role"] if each["category"] == "section" else each["category"]
        sums[name] = sums.get(name, 0) + each["units"]
        piece = {
            "at": f"row {i}",
            "category": name,
            "role": each["role"],
            "units": each["units"],
            "age": 0,
            "turn": None,
        }
        text = each["text"]
        pieces.append({**piece, "chars": len(text), "text": text[:_MOST_TEXT], "kept": bool(text)})
    counted = (last["usage"] or {}).get("input")
    difference = counted - last["used"] if isinstance(counted, int) else None
    rows = _rows({**status, "categories": sums}, 3)
    return {"rows": rows, "pieces": pieces, "difference": difference, "format": last["format"], "size": last["size"]}


def _last_prompt(store: Store, session: str, number: int) -> tuple[dict[str, Any] | None, int | None]:
    """Return the last prompt, and the tokens that the provider reported for it."""
    prompt, counted = None, None
    for entry in store.entries(session, kinds=["prompt", "usage"], after=max(0, number - _RECENT)):
        if entry.kind == "prompt":
            prompt, counted = dict(entry.body), None
        elif entry.body.get("passes", 1) == 1:
            counted = entry.body.get("input")
    return prompt, counted if isinstance(counted, int) else None


def _rows(status: Mapping[str, Any], keep_turns: int) -> list[dict[str, Any]]:
    """Return a row for each category that is not empty, in the order of the terminal."""
    sizes = status["categories"]
    rows = []
    for name in dict.fromkeys((*CATEGORIES, *sizes)):
        if units := sizes.get(name, 0):
            frees = _FREES.get(name, _OLDER).format(keep_turns=keep_turns)
            spent = cost(status.get("model"), status["unit"], units) if units > 0 else None
            rows.append({"name": name, "units": units, "cost_usd": spent, "frees": frees})
    return rows


def _fixed_pieces(status: Mapping[str, Any], prompt: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """Return the pieces that are not messages: the system prompt, the tools, the memory and the pins."""
    texts = _fixed_texts(prompt)
    found = []
    for name in ("system", "tools", "memory", "pinned"):
        units = status["categories"].get(name, 0)
        if units:
            text = texts.get(name, _NO_TEXT)
            piece = {"at": name, "category": name, "role": name, "units": units, "age": 0, "turn": None}
            found.append({**piece, "chars": len(text), "text": text[:_MOST_TEXT], "kept": name in texts})
    return found


def _fixed_texts(prompt: Mapping[str, Any] | None) -> dict[str, str]:
    """Return the texts that are not messages, as far as the last prompt captured them."""
    receipt = (prompt or {}).get("receipt")
    capture = receipt.get("capture") if isinstance(receipt, Mapping) else None
    if not isinstance(capture, Mapping):
        return {}
    found = {}
    if (system := capture.get("system")) is not None:
        found["system"] = system if isinstance(system, str) else json.dumps(system, indent=2, ensure_ascii=False)
    if (tools := capture.get("tools")) is not None:
        found["tools"] = json.dumps(tools, indent=2, ensure_ascii=False)
    last = ((prompt or {}).get("sent") or [None])[-1]
    if isinstance(last, Mapping):
        text = wire(str(capture["options"]["format"])).read(last, 0).pieces[-1].text
        if HEAD in text:
            found["memory"] = text[text.index(HEAD) :]
    return found


def _pieces(opened: Session) -> list[dict[str, Any]]:
    """Return every message with its category, size, age in turns and the start of its text."""
    current = Context(opened.meter, opened.messages, format=opened.format)
    turns = current.history.turns
    found = []
    for at, (message, units) in enumerate(zip(turns.messages, turns.units, strict=True)):
        sums = current.categories_of([turns.raws[at]])
        category = max(sums, key=lambda name: sums[name]) if sums else "framing"
        turn, text = turns.turn_of(at), message.text()
        piece = {"at": at, "category": category, "role": message.role, "units": units, "turn": turn}
        age = len(turns.starts) - 1 - turn
        found.append({**piece, "age": age, "chars": len(text), "text": text[:_MOST_TEXT], "kept": True})
    return found


def piece(workspace: Workspace, session: str, at: str) -> dict[str, Any]:
    """Return the whole text of one piece.

    Raises:
        UnknownName: there is no such session or message.
        InvalidType: `at` is neither the number of a message nor the name of a captured text.
    """
    store = workspace.store_of(session)
    if at.startswith("row "):
        rows = [row for row in prompt(workspace, session)["rows"] if row["sent"]]
        found = at.removeprefix("row ")
        if not found.isdigit() or len(found) > 9 or int(found) >= len(rows):
            raise UnknownName("part", at, [], f"The prompt has {len(rows):,}")
        return {"at": at, "text": rows[int(found)]["text"]}
    opened = Session.open(session, store=store)
    if not at.isdigit():
        text = _fixed_texts(_last_prompt(store, session, opened.number)[0]).get(at)
        if text is None:
            raise InvalidType("at", at, "the number of a message, or the name of a captured text")
        return {"at": at, "text": text}
    turns = Context(opened.meter, opened.messages, format=opened.format).history.turns
    if len(at) > 9 or int(at) >= len(turns.messages):
        raise UnknownName("message", at, [], f"The history has {len(turns.messages):,} now")
    return {"at": int(at), "text": turns.messages[int(at)].text()}
