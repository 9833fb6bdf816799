"""The sessions of a workspace as rows, kept in memory: a look reads only those that were written since the last one.

A store lists the last written first. So once a look is past what was the newest before, the rest is as it was. What a
look cannot see (a purge, a writer whose clock is behind) is found by reading all again in the background.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from threading import Thread
from time import monotonic
from typing import Any

from brim.errors import BrimError
from brim.history.envelopes import enveloped
from brim.sessions.log.overview import GATEWAY
from brim.store.base import SessionRow, Store
from brim.wire import format_of, wire

_MOST_SESSIONS = 20_000
_LOOK = 40
"""Sessions that a look reads, the last written."""
_FIRST = 500
"""Sessions that are read at once; a store with more is read in the background."""
_FRESH = 1.0
"""Seconds for which the list is returned without a look at the stores."""
_ALL = 60.0
"""Seconds after which all sessions of a large store are read again."""
_FIRST_ENTRIES = 8
"""Entries of a session in which its task is looked for."""
_TITLE = 70
"""Characters of a title."""
_SCANNED = 2_000
_TAG = re.compile(r"</?[\w-]{1,40}>")
_OWNED = re.compile(r"^[0-9a-f]{12}\.(?=.)")
"""The owner in the name of a gateway's conversation."""
_RECENT = 200
"""Sessions that the totals call recent."""
_NUMBERS = ("warnings", "compactions", "overflows", "prompts", "peak", "budget", "window", "used")


class SessionRows:
    """The rows of all sessions at one moment."""

    def __init__(self, listed: Mapping[str, list[SessionRow]], *, complete: bool) -> None:
        """Read the status of each session; those of which nothing was sent yet are left out."""
        self.listed = listed
        """The sessions by the URL of their store, the last written first."""
        self.complete = complete
        """Whether these are all."""

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """A row for each session."""
        rows = [_row(row) for rows in self.listed.values() for row in rows]
        return sorted((row for row in rows if row is not None), key=lambda row: -row["updated"])

    @cached_property
    def totals(self) -> dict[str, Any]:
        """The sums of the recent sessions."""
        recent = self.rows[:_RECENT]
        highest = max(recent, key=lambda row: row["share"], default=None)
        return {
            "recent": len(recent),
            "warned": sum(row["warnings"] > 0 for row in recent),
            "refused": sum(row["overflows"] > 0 for row in recent),
            "compactions": sum(row["compactions"] for row in recent),
            "peak": None if highest is None else {name: highest[name] for name in ("id", "peak", "budget", "share")},
        }


class SessionList:
    """The sessions of one workspace, as they were last read."""

    def __init__(self, stores: Callable[[], list[Store]]) -> None:
        """Begin empty; `stores` returns the stores with sessions."""
        self._stores = stores
        self._known = SessionRows({}, complete=True)
        self._looked = -_FRESH
        self._read = monotonic()
        self._reading = False
        self._titles: dict[str, str] = {}

    def title(self, name: str) -> str:
        """Return the first words of the task of a session, read once; the name of the session if it has none."""
        if name not in self._titles:
            found = next((task for store in self._stores() if (task := _task(store, name))), "")
            if not found:
                return _OWNED.sub("", name)
            self._titles[name] = found
        return self._titles[name]

    def shown_title(self, name: str) -> str:
        """Return the title of a session in small letters, if it was shown; all titles of a large store are not read."""
        return self._titles.get(name, "").casefold()

    def now(self) -> SessionRows:
        """Return the rows, after a look at what was written; not for two threads at once."""
        if monotonic() - self._looked > _FRESH:
            found = _looked(self._stores(), self._known)
            if found is not self._known:
                self._known = found
            self._looked = monotonic()
            old = any(len(rows) >= _LOOK for rows in found.listed.values()) and monotonic() - self._read > _ALL
            if (old or not found.complete) and not self._reading:
                self._reading = True
                Thread(target=self._read_all, daemon=True).start()
        return self._known

    def _read_all(self) -> None:
        try:
            listed = {store.url: store.sessions(limit=_MOST_SESSIONS) for store in self._stores()}
            known = SessionRows(listed, complete=True)
            _ = known.rows, known.totals  # Made here, so that no request waits for them.
            self._known = known
        finally:
            self._read, self._reading = monotonic(), False


def _task(store: Store, name: str) -> str:
    """Return the first words that a person said in a session."""
    for entry in store.entries(name, kinds=["message", "prompt"], limit=_FIRST_ENTRIES):
        receipt = entry.body.get("receipt")
        given = receipt.get("capture") if isinstance(receipt, Mapping) else None
        messages = [entry.body["message"]] if entry.kind == "message" else (given or {}).get("messages") or ()
        for raw in messages:
            text = _said(raw)
            if text:
                return text if len(text) <= _TITLE else f"{text[:_TITLE].rpartition(' ')[0] or text[:_TITLE]} …"
    return ""


def _said(raw: Any) -> str:
    """Return the words of a person in a message, without what a program put around them."""
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


def _looked(stores: Sequence[Store], known: SessionRows) -> SessionRows:
    """Return what is known with the sessions that were written since; the same object if there are none."""
    looks = {store.url: _look(store, known.listed.get(store.url, []), complete=known.complete) for store in stores}
    listed = {url: rows for url, (rows, _) in looks.items()}
    complete = all(each for _, each in looks.values())
    same = complete == known.complete and listed.keys() == known.listed.keys()
    if same and all(rows is known.listed[url] for url, rows in listed.items()):
        return known
    return SessionRows(listed, complete=complete)


def _look(store: Store, old: list[SessionRow], *, complete: bool) -> tuple[list[SessionRow], bool]:
    """Return the sessions of a store, and whether these are all."""
    rows = old
    for most in (_LOOK, _FIRST):
        new = store.sessions(limit=most)
        if len(new) < most:
            return (old if new == old else new), True
        last = new[-1]
        if new != old[:most]:
            ids = {row.id for row in new}
            rest = (row for row in old if (-row.updated, row.id) > (-last.updated, last.id) and row.id not in ids)
            rows = [*new, *rest]
        # Whatever was written since the last look is not older than what was the newest then.
        if complete and old and last.updated < old[0].updated:
            return rows, True
    return rows, False


def _row(row: SessionRow) -> dict[str, Any] | None:
    """Return the numbers of a session; `None` if nothing has been sent yet."""
    status, kind = row.meta.get("status"), str(row.meta.get("kind", "session"))
    if not isinstance(status, Mapping):
        return None
    gateway = kind == GATEWAY
    if not gateway and "peak_utilization" not in status:
        return None
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
    """Return what went wrong in a session, in words."""
    found = []
    if numbers["overflows"]:
        found.append("refused as too long" if numbers["overflows"] == 1 else f"refused {numbers['overflows']:,} times")
    if numbers["budget"] and numbers["peak"] > numbers["budget"]:
        found.append("over its window")
    if numbers["warnings"]:
        found.append("warned")
    return found
