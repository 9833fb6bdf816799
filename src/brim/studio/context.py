"""Context now: what fills a session's context, what each part costs and what frees it, down to the text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from brim.errors import BrimError, InvalidType, UnknownName
from brim.sessions.session import Session
from brim.sessions.status import CATEGORIES
from brim.sessions.view import View
from brim.store.base import Store
from brim.studio.desk import Desk
from brim.studio.price import cost
from brim.studio.sessions import row_of
from brim.wire import wire

_MOST_TEXT = 4_000
"""Characters of a piece that come with the list; the rest comes when it is opened."""
_LOOKED_AT = 400
"""Entries at the end of a log among which the last prompt and its usage are looked for."""
_KEPT = "its text is not kept: a session with capture=True keeps what stands beside its messages"
_OLDER = "compaction, once its turn is older than the newest {keep_turns}"
_FREES = {
    "system": "a shorter system prompt",
    "tools": "fewer tools, or shorter descriptions of them",
    "memory": "a lower memory_limit, or less memory given to prompt()",
    "pinned": "letting go of a pin, in the ledger",
    "summary": "a lower summary_share",
    "user": _OLDER,
    "assistant": _OLDER,
    "tool results": "a lower tool_limit for those to come, compaction for those that are there",
    "framing": "fewer messages: this is what stands around them",
    "new": "nothing yet: it was added since the last prompt",
    "unattributed": "nothing here: the provider counted it, and brim does not see in which part",
}
"""What makes each category smaller."""


def context(desk: Desk, session: str) -> dict[str, Any]:
    """Return what fills a session's context: its status, a row for each category, and every piece.

    Raises:
        UnknownName: no such session.
    """
    store = desk.needed()
    row = row_of(store, session)
    told: dict[str, Any] = {**row.to_dict(), "pieces": [], "problem": None, "settings": None, "unfinished": False}
    try:
        opened = Session.open(session, store=store)
    except BrimError as error:  # Begun with a meter of the caller's own: its numbers are known, its messages are not.
        return {**told, "rows": _rows(row.status, 3, None), "problem": str(error), "difference": None}
    status = opened.status().to_dict()
    settings = opened.settings
    prompt, counted = _last(store, session, opened.number)
    difference = None if counted is None or prompt is None else counted - prompt["used"]
    told |= {"status": status, "settings": settings.to_dict(), "unfinished": opened.unfinished}
    told["difference"] = difference
    told["rows"] = _rows(status, settings.keep_turns, difference)
    told["pieces"] = [*_beside(status, prompt), *_pieces(opened)]
    told["format"] = opened.format
    return told


def _last(store: Store, session: str, number: int) -> tuple[dict[str, Any] | None, int | None]:
    """Return the last prompt, and what the provider counted for it; nothing where it has told nothing."""
    prompt, counted = None, None
    for entry in store.entries(session, kinds=["prompt", "usage"], after=max(0, number - _LOOKED_AT)):
        if entry.kind == "prompt":
            prompt, counted = dict(entry.body), None
        elif entry.body.get("passes", 1) == 1:
            counted = entry.body.get("input")
    return prompt, counted if isinstance(counted, int) else None


def _rows(status: Mapping[str, Any], keep_turns: int, difference: int | None) -> list[dict[str, Any]]:
    """Return a row for each category that takes anything, in the order in which the terminal shows them."""
    known = {**status["categories"], "unattributed": difference or 0}
    rows = []
    for name in dict.fromkeys((*CATEGORIES, *known)):
        units = known.get(name, 0)
        if units > 0 or (units and name == "unattributed"):
            frees = _FREES.get(name, _OLDER).format(keep_turns=keep_turns)
            spent = cost(status.get("model"), status["unit"], units) if units > 0 else None
            rows.append({"name": name, "units": units, "cost_usd": spent, "frees": frees})
    return rows


def _beside(status: Mapping[str, Any], prompt: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """Return what stands beside the messages: the system prompt, the tools and memory, with their texts if kept."""
    texts = _texts_beside(prompt)
    found = []
    for name in ("system", "tools", "memory", "pinned"):
        units = status["categories"].get(name, 0)
        if units:
            text = texts.get(name)
            piece = {"at": name, "category": name, "role": name, "units": units, "age": 0, "turn": None}
            told = _KEPT if text is None else text
            found.append({**piece, "chars": len(told), "text": told[:_MOST_TEXT], "kept": text is not None})
    return found


def _texts_beside(prompt: Mapping[str, Any] | None) -> dict[str, str]:
    """Return the texts of what stands beside the messages, as far as the last prompt kept them."""
    import json

    from brim.sessions.aside import HEAD

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
        said = wire(str(capture["options"]["format"])).read(last, 0).pieces[-1].text
        if HEAD in said:
            found["memory"] = said[said.index(HEAD) :]
    return found


def _pieces(opened: Session) -> list[dict[str, Any]]:
    """Return every message of the conversation with what it is, what it takes, its age and the start of its text."""
    view = View(opened.meter, opened.messages, stable=False, format=opened.format)
    book = view.history.book
    turns = len(book.starts)
    found = []
    for at, (message, units) in enumerate(zip(book.messages, book.units, strict=True)):
        sums = view.categories_of([book.raws[at]])
        turn = book.turn_of(at)
        text = message.text()
        found.append(
            {
                "at": at,
                "category": max(sums, key=lambda name: sums[name]) if sums else "framing",
                "role": message.role,
                "units": units,
                "age": turns - 1 - turn,
                "turn": turn,
                "chars": len(text),
                "text": text[:_MOST_TEXT],
                "kept": True,
            }
        )
    return found


def piece(desk: Desk, session: str, at: str) -> dict[str, Any]:
    """Return the whole text of one piece of a session's context.

    Raises:
        UnknownName: no such session, or no such piece.
        InvalidType: the place is neither a number nor the name of what stands beside the messages.
    """
    store = desk.needed()
    opened = Session.open(session, store=store)
    if not at.isdigit():
        text = _texts_beside(_last(store, session, opened.number)[0]).get(at)
        if text is None:
            raise InvalidType("at", at, "the number of a message, or the name of a text that is kept beside them")
        return {"at": at, "text": text}
    book = View(opened.meter, opened.messages, stable=False, format=opened.format).history.book
    if len(at) > 9 or int(at) >= len(book.messages):
        raise UnknownName("message", at, [], f"The conversation has {len(book.messages):,} now")
    return {"at": int(at), "text": book.messages[int(at)].text()}
