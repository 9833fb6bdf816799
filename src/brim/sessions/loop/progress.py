"""How far a loop has come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from brim.history.compact.continuation import Continuation

_TOLD = ("iterations", "sub_tick", "sub_ticks", "steps", "steps_here", "fresh", "cost", "seconds", "ended", "state")


@dataclass(slots=True)
class Progress:
    """How far a loop has come; every step leaves one in the log."""

    iterations: int = 0
    """Iterations that are finished."""
    sub_tick: int = 0
    """Sub-ticks of the iteration that runs."""
    sub_ticks: int = 0
    """Sub-ticks of all."""
    steps: int = 0
    steps_here: int = 0
    """Steps of the iteration that runs."""
    fresh: bool = True
    """Whether no step was made since the context began."""
    cost: float = 0.0
    seconds: float = 0.0
    ended: str | None = None
    state: dict[str, Any] = field(default_factory=dict)
    continuation: Continuation | None = None
    """What the last context handed over."""
    results: list[Any] = field(default_factory=list)

    def copy(self) -> Progress:
        """Return one that can go on without this one."""
        return replace(self, results=list(self.results))

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values, without the results and the continuation, which stand where they were made."""
        return {name: getattr(self, name) for name in _TOLD}

    def take(self, body: Mapping[str, Any]) -> None:
        """Take in what an entry of the log says."""
        for name, value in body["progress"].items():
            if name in _TOLD:
                setattr(self, name, value)
        if body.get("continuation") is not None:
            self.continuation = Continuation.from_dict(body["continuation"])
        if body.get("result") is not None:
            self.results.append(body["result"])
