"""What settings make that lasts: a store, a session, the conversations of a program, a loop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from brim.amounts import fraction
from brim.errors import InvalidValue
from brim.meter.window import Window
from brim.sessions.conversations import Conversations
from brim.sessions.loop.loop import Act, Loop
from brim.sessions.session import Session
from brim.settings import making
from brim.store import Store, open_store

if TYPE_CHECKING:
    from brim.settings.resolved import Resolved

_SESSION = {
    "compact_at": "compaction.at",
    "keep_turns": "compaction.keep_turns",
    "summary_share": "compaction.summary_share",
    "stable": "session.stable",
    "tool_limit": "session.tool_limit",
    "memory_limit": "session.memory_limit",
    "capture": "session.capture",
}
"""Arguments of a session by the settings that they come from."""
_LOOP = {
    **{
        name: f"loop.{name}"
        for name in (
            "tick_cap",
            "handoff_share",
            "max_iterations",
            "max_sub_ticks",
            "max_steps",
            "max_cost",
            "max_seconds",
            "boundary",
        )
    },
    "tool_limit": "session.tool_limit",
}
"""The same of a loop."""


def store(settings: Resolved) -> Store | None:
    """Return the store that is set, if one is."""
    url = settings.value("store.url")
    if url is None:
        return None
    try:
        return open_store(url)
    except InvalidValue as error:
        raise making.blamed(settings, "store.url", error) from error


def session(settings: Resolved, asked: Mapping[str, Any]) -> Session:
    """Return a session that the settings make."""
    return Session(**_told(settings, _SESSION, asked))


def conversations(settings: Resolved, asked: Mapping[str, Any]) -> Conversations:
    """Return the conversations of a program, kept as the settings say; what is not set is as it is without any."""
    told = {name: settings.value(key) for name, key in _SESSION.items() if settings.is_set(key)}
    told |= {"model": settings.value("model"), "meter": settings.value("meter")}
    if "window" not in asked:
        told["window"] = making.window(settings)
    if "store" not in asked:
        told["store"] = store(settings)
    return Conversations(**{**told, **asked})


def loop(settings: Resolved, goal: str, act: Act, asked: Mapping[str, Any]) -> Loop:
    """Return a loop that the settings make."""
    return Loop(goal, act, **_told(settings, _LOOP, asked))


def _told(settings: Resolved, table: Mapping[str, str], asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that settings give, those asked for put in."""
    told = {name: settings.value(key) for name, key in table.items()}
    told |= {"model": settings.value("model"), "meter": settings.value("meter")}
    if "window" not in asked:
        told["window"] = _window(settings, asked)
    if "store" not in asked:
        told["store"] = store(settings)
    return {**told, **asked}


def _window(settings: Resolved, asked: Mapping[str, Any]) -> Window | None:
    """Return the window, with the margin for estimates taken from its budget."""
    if asked.get("model") is not None:
        return None
    window = making.window(settings)
    if window is None:
        raise InvalidValue("window.size", None, "set, or a model whose window is known: a session keeps to a window")
    margin = settings.value("safety_margin")
    if not margin or making.meter(settings).exact:
        return window
    return replace(window, limit=int(window.budget * (1 - fraction("safety_margin", margin))))
