"""What passes between a loop and who acts for it: a tick goes out, a step comes back, an outcome at the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from brim.errors import InvalidType, InvalidValue, check_choice
from brim.history.compact.continuation import Continuation

ENDS = ("continue", "iteration", "goal")
"""What a step ends: nothing yet, its iteration, or the whole loop since the goal is reached."""

ENDED = ("goal", "max_iterations", "max_sub_ticks", "max_steps", "max_cost", "max_seconds", "stopped", "paused")
"""Why a loop ended. What is paused or ended by a limit can be resumed."""


@dataclass(slots=True, kw_only=True)
class Tick:
    """What the next step has to work with."""

    messages: list[Any]
    """The prompt: it fits the tick's budget."""
    goal: str
    iteration: int
    """Counted from 1."""
    sub_tick: int
    """How often this iteration went on in a fresh context; 0 in its first."""
    state: dict[str, Any]
    """What lasts: change it, or return another with the step."""
    results: Sequence[Any]
    """What the steps so far have found."""
    system: Any = None
    """The system prompt, where it is sent apart from the messages."""
    tools: Sequence[Mapping[str, Any]] | None = None
    used: int = 0
    """Units of the prompt."""
    budget: int = 0
    continuation: Continuation | None = None
    """What the last context handed over."""
    emitted: bool = False
    """To be set once a tool call has gone out: from then on the step is not tried again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One model call with the results of its tools."""

    messages: Sequence[Any] = ()
    """What was said: the model's answer, and the results of what it called."""
    end: str = "continue"
    """One of `ENDS`."""
    result: Any = None
    """What was found, as JSON values; the loop collects it."""
    state: Mapping[str, Any] | None = None
    """What lasts from here on; without it, the tick's own as it was left."""
    usage: Any = None
    """What the provider reported for the call; it corrects the meter, and gives the cost where none is told."""
    cost: float | None = None
    """What the step cost, in US dollars; without it, by the usage and the model's prices."""

    def __post_init__(self) -> None:
        check_choice("Step end", self.end, ENDS)
        if isinstance(self.messages, str | bytes | Mapping) or not isinstance(self.messages, Sequence):
            raise InvalidType("Step messages", self.messages, "a list of messages")
        if self.cost is not None and (
            isinstance(self.cost, bool) or not isinstance(self.cost, int | float) or not 0 <= self.cost < float("inf")
        ):
            raise InvalidValue("Step cost", self.cost, "US dollars, 0 or more")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a loop; from outside it is one loop, whatever its sub-ticks."""

    id: str
    ended: str
    """One of `ENDED`."""
    iterations: int
    """Iterations that were finished."""
    sub_ticks: int
    """How often it went on in a fresh context; that uses no iteration."""
    steps: int
    results: list[Any] = field(default_factory=list)
    state: dict[str, Any] = field(default_factory=dict)
    cost: float = 0.0
    """US dollars of all steps, as far as they told."""
    seconds: float = 0.0
    """Time that the steps took."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {name: getattr(self, name) for name in self.__slots__}
