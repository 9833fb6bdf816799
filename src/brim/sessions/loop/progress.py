"""The progress of a loop, which is stored so that it can be resumed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from brim.history.compact.continuation import Continuation
from brim.store.base import Body, LogEntry
from brim.store.store import Store
from brim.store.values import interpreting

RESULT, CONTINUATION = "result", "continuation"
"""The kinds of entries for results and continuations; a resumed loop reads all results and the last continuation."""
_LOGGED = (
    *("iterations", "sub_tick", "sub_ticks", "steps", "steps_here", "fresh", "cost", "seconds", "ended", "state"),
    "said",
)


@dataclass(slots=True)
class Progress:
    """The progress of a loop, which every step writes to the log."""

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
    """Whether there was no step in this context yet."""
    cost: float = 0.0
    seconds: float = 0.0
    ended: str | None = None
    state: dict[str, Any] = field(default_factory=dict)
    said: str = ""
    """What the user had said last; the first message of the context has it after the hand-over."""
    continuation: Continuation | None = None
    """The hand-over of the last context."""
    results: list[Any] = field(default_factory=list)

    def copy(self) -> Progress:
        """Return an independent copy."""
        return replace(self, results=list(self.results))

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values, without results and continuation, which have separate entries."""
        return {name: getattr(self, name) for name in _LOGGED}

    def apply(self, body: Mapping[str, Any]) -> None:
        """Apply one entry of the log."""
        for name, value in body["progress"].items():
            if name in _LOGGED:
                setattr(self, name, value)


def progress_in(store: Store, loop: str, until: int) -> Progress:
    """Return the progress of a loop from its log up to the entry `until`; another worker may have written more.

    Raises:
        StoreError: the store cannot be read, or the log is damaged.
    """
    made = Progress()
    with interpreting(store.url, loop):
        made.apply(_newest(store, loop, until, "event", "progress") or {"progress": {}})
        if (last := _newest(store, loop, until, CONTINUATION, CONTINUATION)) is not None:
            made.continuation = Continuation.from_dict(last[CONTINUATION])
        made.results = [entry.body[RESULT] for entry in store.entries(loop, kinds=[RESULT]) if entry.number <= until]
    return made


def _newest(store: Store, loop: str, until: int, kind: str, name: str) -> Body | None:
    """Return the newest entry of a kind with a field, up to the entry `until`; `None` if there is none."""
    for limit in (1, None):  # The newest one, almost always.
        entries: list[LogEntry] = store.entries(loop, kinds=[kind], limit=limit, newest=True)
        found = [entry.body for entry in entries if entry.number <= until and name in entry.body]
        if found:
            return found[-1]
    return None
