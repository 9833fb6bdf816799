"""The values between a loop and its caller: a tick, a step, and the outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from brim.errors import InvalidType, InvalidValue, check_choice
from brim.history.compact.continuation import Continuation
from brim.llm import Usage, cost
from brim.sessions.learning.usage import reported
from brim.store.values import stored

ENDS = ("continue", "iteration", "goal")
"""What ends with a step: nothing, its iteration, or the whole loop, because the goal is reached."""

ENDED = ("goal", "max_iterations", "max_sub_ticks", "max_steps", "max_cost", "max_seconds", "stopped", "paused")
"""Why a loop ended. A loop that is paused or ended by a limit can be resumed."""


@dataclass(slots=True, kw_only=True)
class Tick:
    """The input of the next step."""

    messages: list[Any]
    """The prompt: it fits the tick's budget."""
    goal: str
    iteration: int
    """Counted from 1."""
    sub_tick: int
    """How often this iteration has continued in a fresh context; 0 in its first context."""
    state: dict[str, Any]
    """State that is kept between steps: change it, or return another state with the step."""
    results: Sequence[Any]
    """The results of the steps so far."""
    system: Any = None
    """The system prompt, if it is not one of the messages."""
    tools: Sequence[Mapping[str, Any]] | None = None
    used: int = 0
    """Tokens of the prompt."""
    budget: int = 0
    continuation: Continuation | None = None
    """The hand-over of the last context."""
    emitted: bool = False
    """Set this once a tool call has been sent, so that the step is not retried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One model call with the results of its tools."""

    messages: Sequence[Any] = ()
    """The model's answer, and the results of its tool calls."""
    end: Literal["continue", "iteration", "goal"] = "continue"
    """One of `ENDS`."""
    result: Any = None
    """A result as JSON values; the loop collects it."""
    state: Mapping[str, Any] | None = None
    """State that is kept, as JSON values; by default the state of the tick."""
    usage: Any = None
    """The reported usage; it corrects the meter, and gives the cost if `cost` is `None`."""
    cost: float | None = None
    """US dollars of the step; by default computed from the usage and the model's prices."""

    def __post_init__(self) -> None:
        check_choice("Step end", self.end, ENDS)
        if isinstance(self.messages, str | bytes | Mapping) or not isinstance(self.messages, Sequence):
            raise InvalidType("Step messages", self.messages, "a list of messages")
        if self.cost is not None and (
            isinstance(self.cost, bool) or not isinstance(self.cost, int | float) or not 0 <= self.cost < float("inf")
        ):
            raise InvalidValue("Step cost", self.cost, "US dollars, 0 or more")

    def kept_state(self, tick: Tick) -> dict[str, Any]:
        """Return the state for the next step, as a store returns it.

        Raises:
            InvalidValue: it is not a mapping, or has keys or values that JSON cannot represent; the error names them.
        """
        state = tick.state if self.state is None else self.state
        if not isinstance(state, Mapping):
            raise InvalidType("Step state", state, "a mapping of JSON values")
        kept: dict[str, Any] = stored("Step state", dict(state))
        return kept

    def dollars(self, model: str | None) -> float:
        """Return the US dollars of the step: its `cost`, or from its usage and the model's prices; 0 if unknown."""
        if self.cost is not None:
            return float(self.cost)
        if self.usage is None or model is None:
            return 0.0
        usage = reported(self.usage)
        return cost(model, Usage(input=usage.input, output=usage.output)) or 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The outcome of a loop."""

    id: str
    ended: str
    """One of `ENDED`."""
    iterations: int
    """Iterations that were finished."""
    sub_ticks: int
    """How often it continued in a fresh context, which does not count as an iteration."""
    steps: int
    results: list[Any] = field(default_factory=list)
    state: dict[str, Any] = field(default_factory=dict)
    cost: float = 0.0
    """US dollars of all steps with known costs."""
    seconds: float = 0.0
    """Time that the steps took."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {name: getattr(self, name) for name in self.__slots__}
