"""The progress of a loop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from brim.history.compact.continuation import Continuation
from brim.store.base import Body, LogEntry, Store

RESULT, CONTINUATION = "result", "continuation"
"""Kinds of entries of their own: a loop that is resumed reads all of its results, and its last continuation."""
_RECENT = 16
"""Events that are read first for the newest progress: few others come after it."""
_LOGGED = ("iterations", "sub_tick", "sub_ticks", "steps", "steps_here", "fresh", "cost", "seconds", "ended", "state")


@dataclass(slots=True)
class Progress:
    """The progress of a loop; every step writes it to the log."""

    iterations: int = 0
    """Iterations that are finished."""
    sub_tick: int = 0
    """Sub-ticks of the current iteration."""
    sub_ticks: int = 0
    """Sub-ticks of all iterations."""
    steps: int = 0
    steps_here: int = 0
    """Steps of the current iteration."""
    fresh: bool = True
    """Whether the context has had no step yet."""
    cost: float = 0.0
    seconds: float = 0.0
    ended: str | None = None
    state: dict[str, Any] = field(default_factory=dict)
    continuation: Continuation | None = None
    """The handoff of the last context."""
    results: list[Any] = field(default_factory=list)

    def copy(self) -> Progress:
        """Return an independent copy."""
        return replace(self, results=list(self.results))

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values, without the results and the continuation, which have entries of their own."""
        return {name: getattr(self, name) for name in _LOGGED}

    def apply(self, body: Mapping[str, Any]) -> None:
        """Apply one entry of the log."""
        for name, value in body["progress"].items():
            if name in _LOGGED:
                setattr(self, name, value)


def first_event(store: Store, loop: str) -> Body | None:
    """Return the event by which a loop began; `None` if there is no such loop."""
    found = store.entries(loop, kinds=["event"], limit=1)
    if found and "progress" in found[0].body:
        return found[0].body
    return next((entry.body for entry in store.entries(loop, kinds=["event"]) if "progress" in entry.body), None)


def progress_in(store: Store, loop: str, begun: Body, until: int) -> Progress:
    """Return the progress of a loop as its log had it up to an entry; another worker may have written since."""
    made = Progress()
    made.apply(_newest(store, loop, until, "event", "progress") or begun)
    if (last := _newest(store, loop, until, CONTINUATION, CONTINUATION)) is not None:
        made.continuation = Continuation.from_dict(last[CONTINUATION])
    made.results = [entry.body[RESULT] for entry in store.entries(loop, kinds=[RESULT]) if entry.number <= until]
    return made


def _newest(store: Store, loop: str, until: int, kind: str, name: str) -> Body | None:
    """Return the newest entry of a kind that has a field, up to a number; `None` if there is none."""
    for limit in (_RECENT if kind == "event" else 1, None):
        entries: list[LogEntry] = store.entries(loop, kinds=[kind], limit=limit, newest=True)
        found = [entry.body for entry in entries if entry.number <= until and name in entry.body]
        if found:
            return found[-1]
    return None
