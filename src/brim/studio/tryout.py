"""A change of the settings tried on what was recorded: what the conversations of the store would lose by it.

Each conversation is fitted as a whole, once by the settings as they are and once as they would be. Nothing is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from brim.errors import BrimError, DoesNotFit, SourceError
from brim.sessions import pins
from brim.sessions.overview import overview
from brim.settings.making import counts_history
from brim.settings.resolved import Resolved
from brim.store.base import Store
from brim.studio.desk import Desk
from brim.studio.price import cost
from brim.wire import wire

_MOST_SESSIONS = 20
_MOST_MESSAGES = 2_000
"""Messages of one conversation, the newest, that are fitted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TriedConversation:
    """One conversation as it was recorded."""

    id: str
    model: str | None
    messages: list[Any]
    format: str
    system: Any
    tools: Any
    pinned: tuple[str, ...]
    """Texts that its prompts must hold."""


def tried(desk: Desk, plan: str, place: Mapping[str, str | None]) -> dict[str, Any]:
    """Return what a change that was looked at would do to the recorded conversations.

    Raises:
        UnknownName: no such plan.
        SourceError: the settings would not be ones, or have no file yet.
    """
    change = desk.planned(plan)
    now = desk.settings()
    if change.path not in now.files:
        raise SourceError(change.path, "there is no such file yet: what a first file changes is seen once it is saved")
    then = desk.settings({change.path: change.after})
    where = {name: place.get(name) for name in ("profile", "flow", "step")}
    before, after = now.resolve(**where), then.resolve(**where)
    store = desk.store()
    rows: list[dict[str, Any]] = []
    for talk in [] if store is None else _talks(store):
        sides = [_side(settings, talk) for settings in (before, after)]
        rows.append({"id": talk.id, "messages": len(talk.messages), "before": sides[0], "after": sides[1]})
    sums = [_sum([row[side] for row in rows]) for side in ("before", "after")]
    return {"rows": rows, "before": sums[0], "after": sums[1], "warnings": list(after.warnings)}


def _talks(store: Store) -> list[TriedConversation]:
    return [made for row in overview(store, recent=_MOST_SESSIONS).recent if (made := _talk(store, row)) is not None]


def _talk(store: Store, row: Any) -> TriedConversation | None:
    entries = store.entries(row.id, kinds=["message", "note", "prompt"])
    said = [entry.body.get("sent", entry.body["message"]) for entry in entries if entry.kind == "message"]
    if not said:
        return None
    held: dict[str, None] = {}
    beside: Mapping[str, Any] = {}
    for entry in entries:
        if "pins" in entry.body:
            held = dict.fromkeys(entry.body["pins"])
        beside = (entry.body.get("receipt") or {}).get("capture") or beside
    format = (beside.get("options") or {}).get("format") or "openai"
    texts = tuple(text for name in held if (text := store.text(name)) is not None)
    return TriedConversation(
        id=row.id,
        model=row.status.get("model"),
        messages=said[-_MOST_MESSAGES:],
        format=format,
        system=beside.get("system"),
        tools=beside.get("tools"),
        pinned=texts,
    )


def _side(settings: Resolved, talk: TriedConversation) -> dict[str, Any]:
    """Return what settings make of a conversation: units, messages that stay, and what is lost that was pinned."""
    said = list(talk.messages)
    if talk.pinned:
        said.append(wire(talk.format).say(pins.written({text: text for text in talk.pinned})))
    # A budget of characters is one of the history alone.
    apart = counts_history(settings, settings.window())
    asked = {} if apart else {"system": talk.system, "tools": talk.tools}
    told: dict[str, Any] = {"fits": True, "problem": "", "used": None, "kept": None, "cost_usd": None}
    try:
        fitted = settings.fit_messages(said, **{name: value for name, value in asked.items() if value})
    except DoesNotFit as error:
        return {**told, "fits": False, "problem": str(error), "lost_pins": len(talk.pinned), "unit": "", "budget": None}
    except BrimError as error:
        return {**told, "fits": None, "problem": str(error), "lost_pins": None, "unit": "", "budget": None}
    text = fitted.text
    came = {id(raw) for raw in talk.messages}
    unit = fitted.receipt.unit
    return {
        **told,
        "used": fitted.used,
        "budget": fitted.budget,
        "unit": unit,
        "kept": sum(id(raw) in came for raw in fitted.messages),
        "lost_pins": sum(pinned not in text for pinned in talk.pinned),
        "cost_usd": cost(talk.model, unit, fitted.used),
    }


def _sum(sides: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the sums of one side; what is not known of all is not known."""
    costs = [side["cost_usd"] for side in sides]
    units = {side["unit"] for side in sides if side["unit"]}
    return {
        "overflows": sum(side["fits"] is False for side in sides),
        "lost_pins": sum(side["lost_pins"] or 0 for side in sides),
        "used": sum(side["used"] or 0 for side in sides) if len(units) == 1 else None,
        "unit": units.pop() if len(units) == 1 else "",
        "cost_usd": round(sum(costs), 6) if costs and None not in costs else None,
    }
