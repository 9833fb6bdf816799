"""The views of the studio as JSON: one row for each, and nothing that decides.

A view is a function from a desk and what was asked to JSON values. What it refuses, it refuses with an error of
brim's, which becomes an answer with the sentence of the error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from brim.errors import BrimError, Conflict, DoesNotFit, InvalidType, UnknownName
from brim.studio import caching, case, context, flows, health, lab, receipts, sessions, tryout, wire
from brim.studio.desk import Desk

Asked = Mapping[str, Any]
View = Callable[[Desk, Asked], dict[str, Any]]


def needed(asked: Asked, name: str) -> str:
    """Return a text that has to be there.

    Raises:
        InvalidType: it is not.
    """
    value = asked.get(name)
    if not isinstance(value, str) or not value:
        raise InvalidType(name, value, "a text that is not empty")
    return value


def maybe(asked: Asked, name: str) -> str | None:
    """Return a text that may be left out; an empty one counts as left out."""
    value = asked.get(name)
    return value if isinstance(value, str) and value else None


READS: dict[str, View] = {
    "sessions": lambda desk, _: sessions.listed(desk),
    "context": lambda desk, asked: context.context(desk, needed(asked, "session")),
    "wire": lambda desk, asked: wire.wire(desk, needed(asked, "session"), maybe(asked, "number")),
    "piece": lambda desk, asked: context.piece(desk, needed(asked, "session"), needed(asked, "at")),
    "timeline": lambda desk, asked: sessions.timeline(desk, needed(asked, "session")),
    "cache": lambda desk, asked: caching.calls(desk, needed(asked, "session")),
    "ledger": lambda desk, asked: sessions.ledger(desk, needed(asked, "session")),
    "text": lambda desk, asked: sessions.text(desk, needed(asked, "handle")),
    "search": lambda desk, asked: sessions.search(desk, asked.get("query", ""), maybe(asked, "session")),
    "sources": lambda desk, _: lab.sources(desk),
    "receipts": receipts.listed,
    "receipt": lambda desk, asked: receipts.one(desk, needed(asked, "id")),
    "compare": lambda desk, asked: receipts.compared(desk, needed(asked, "before"), needed(asked, "after")),
    "flows": lambda desk, _: flows.listed(desk),
    "settings": lambda desk, asked: flows.settings(
        desk, maybe(asked, "profile"), maybe(asked, "flow"), maybe(asked, "step")
    ),
    "models": lambda desk, _: health.models(desk),
    "gateway": lambda desk, _: health.gateway(desk),
}
"""Views that are read: the query of the address says what is asked."""

WRITES: dict[str, View] = {
    "fit": lambda desk, asked: lab.fitted(
        desk, needed(asked, "source"), asked.get("budget"), asked.get("choices"), maybe(asked, "known")
    ),
    "returns": lambda desk, asked: lab.returns(
        desk, needed(asked, "source"), asked.get("budget"), asked.get("choices"), maybe(asked, "name")
    ),
    "case": lambda desk, asked: case.case(desk, needed(asked, "source"), asked.get("budget"), asked.get("choices")),
    "restore": lambda desk, asked: sessions.restore(desk, needed(asked, "session"), needed(asked, "handle")),
    "pin": lambda desk, asked: sessions.pin(desk, needed(asked, "session"), needed(asked, "handle")),
    "unpin": lambda desk, asked: sessions.unpin(desk, needed(asked, "session"), needed(asked, "handle")),
    "plan": lambda desk, asked: flows.planned(desk, dict(asked)),
    "tryout": lambda desk, asked: tryout.tried(desk, needed(asked, "id"), dict(asked)),
    "save": lambda desk, asked: flows.saved(desk, needed(asked, "id")),
    "undo": lambda desk, _: flows.undone(desk),
}
"""Views that are asked by a JSON body; of them, restore, save and undo write."""


def status_of(error: BrimError) -> int:
    """Return the HTTP status that tells of an error."""
    if isinstance(error, UnknownName):
        return 404
    if isinstance(error, Conflict):
        return 409
    return 422 if isinstance(error, DoesNotFit) else 400
