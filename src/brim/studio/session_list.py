"""The sessions of a workspace as rows, which are read from the stores less often if that takes long."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from time import monotonic
from typing import Any

from brim.errors import BrimError
from brim.history.envelopes import enveloped
from brim.sessions.log.overview import GATEWAY
from brim.store.base import SessionRow
from brim.store.store import Store
from brim.wire import format_of, wire

_MOST_SESSIONS = 20_000
_IDLE = 10
"""The rows are kept for this many times the time that it took to read them."""
_FIRST_ENTRIES = 8
"""Entries at the start of a session that may hold its task."""
_TITLE = 70
"""Characters of a title."""
_SCANNED = 2_000
_TAG = re.compile(r"</?[\w-]{1,40}>")
_OWNED = re.compile(r"^[0-9a-f]{12}\.(?=.)")
"""The owner in the name of a gateway's conversation."""
_NUMBERS = ("warnings", "compactions", "overflows", "prompts", "peak", "budget", "window", "used")


class SessionList:
    """The sessions of one workspace, as they were last read."""

    def __init__(self, stores: Callable[[], list[Store]]) -> None:
        """Start with an empty list; `stores` returns the stores with sessions."""
        self._stores = stores
        self._rows: list[dict[str, Any]] = []
        self._until = -1.0
        self._titles: dict[str, str] = {}

    def title(self, name: str) -> str:
        """Return the first words of a session's task, which is read once; the name of the session if it has no task."""
        if name not in self._titles:
            found = next((task for store in self._stores() if (task := _task(store, name))), "")
            if not found:
                return _OWNED.sub("", name)
            self._titles[name] = found
        return self._titles[name]

    def shown_title(self, name: str) -> str:
        """Return a session's title in lower case if it was shown before; reading all would take too long."""
        return self._titles.get(name, "").casefold()

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each session with a prompt, the last written first."""
        began = monotonic()
        if began > self._until:
            listed = [row for store in self._stores() for row in store.sessions(limit=_MOST_SESSIONS)]
            self._rows = sorted(filter(None, map(_row, listed)), key=lambda row: -row["updated"])
            now = monotonic()
            self._until = now + _IDLE * (now - began)
        return self._rows


def _task(store: Store, name: str) -> str:
    """Return the first words of the user in a session."""
    for entry in store.entries(name, kinds=["message", "prompt"], limit=_FIRST_ENTRIES):
        receipt = entry.body.get("receipt")
        given = receipt.get("capture") if isinstance(receipt, Mapping) else None
        messages = [entry.body["message"]] if entry.kind == "message" else (given or {}).get("messages") or ()
        for raw in messages:
            text = _user_words(raw)
            if text:
                return text if len(text) <= _TITLE else f"{text[:_TITLE].rpartition(' ')[0] or text[:_TITLE]} …"
    return ""


def _user_words(raw: Any) -> str:
    """Return the user's own words in a message, without what programs add around them."""
    try:
        message = wire(format_of([raw]) or "openai").read(raw, 0)
    except BrimError:
        return ""
    if message.role != "user":
        return ""
    text = message.said()
    for each in reversed([each for each in enveloped(text) if each.voice == "program"]):
        text = text[: each.start] + text[each.stop :]
    return " ".join(_TAG.sub(" ", text[:_SCANNED]).split())


def _row(row: SessionRow) -> dict[str, Any] | None:
    """Return the numbers of a session; `None` if nothing has been sent yet."""
    status, kind = row.meta.get("status"), str(row.meta.get("kind", "session"))
    if not isinstance(status, Mapping):
        return None
    gateway = kind == GATEWAY
    numbers = {name: status.get(name) or 0 for name in _NUMBERS}
    if gateway:
        numbers |= {"peak": numbers["used"], "compactions": status.get("cuts") or 0, "prompts": None}
    share = numbers["peak"] / numbers["budget"] if numbers["budget"] else 0.0
    model = status.get("model") or ""
    source = str(row.meta.get("file") or ("gateway" if gateway else "store"))
    return {
        "id": row.id,
        "kind": kind,
        "source": source,
        "model": model,
        "updated": row.meta.get("at") or row.updated,
        "unit": status.get("unit", "tokens"),
        "exact": bool(status.get("exact")),
        **numbers,
        "share": round(share, 6),
        "problems": (problems := _problems(numbers)),
        "problem": problems[0] if problems else "",
        "assumed": bool(status.get("assumed")),
        "search": f"{row.id} {model} {source} {kind}".casefold(),
    }


def _problems(numbers: Mapping[str, Any]) -> list[str]:
    """Return the problems of a session, the worst first."""
    found = []
    if numbers["overflows"]:
        found.append("refused as too long" if numbers["overflows"] == 1 else f"refused {numbers['overflows']:,} times")
    if numbers["budget"] and numbers["peak"] > numbers["budget"]:
        found.append("over its budget")
    if numbers["warnings"]:
        found.append("warned")
    return found
