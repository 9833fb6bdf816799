"""The progress of a loop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from brim.history.compact.continuation import Continuation

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
        if body.get("continuation") is not None:
            self.continuation = Continuation.from_dict(body["continuation"])
        if body.get("result") is not None:
            self.results.append(body["result"])
