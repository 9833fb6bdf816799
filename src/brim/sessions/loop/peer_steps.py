"""A loop whose steps are performed by another process, in any language, over JSON lines.

The loop writes a tick and reads its step, one after the other. Each step is durable before the next tick is written, so
after a crash on either side the loop continues after the last written step.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TextIO

from brim.errors import BrimError, InvalidType, InvalidValue, ModelError
from brim.sessions.loop.step import Outcome, Step, Tick
from brim.wire.base import jsonable

_STEP = ("messages", "end", "result", "state", "usage", "cost")
"""The fields of a step."""


class PeerGone(BrimError):
    """The other process closed its side before it answered a tick; the loop can be resumed."""


class PeerSteps:
    """The `act` of a loop: it writes each tick as a line, and reads the step from the next line."""

    def __init__(self, lines: Iterable[str], out: TextIO) -> None:
        """Create the function.

        Args:
            lines: the lines that the other process writes.
            out: the stream that the other process reads.
        """
        self._lines: Iterator[str] = iter(lines)
        self._out = out

    def __call__(self, tick: Tick) -> Step:
        """Write a tick, and return its step.

        Raises:
            PeerGone: the input ended.
            ModelError: the other process reports an error; the tick is retried if the prompt was too long.
            InvalidValue: the line is not a step.
        """
        self.write("tick", **tick_values(tick))
        line = next((each for each in self._lines if each.strip()), None)
        if line is None:
            raise PeerGone("the input ended before the step of a tick; run the same command to continue")
        return step_of(line)

    def notice(self, text: str) -> None:
        """Write a notice for the user."""
        self.write("notice", text=text)

    def outcome(self, outcome: Outcome) -> None:
        """Write the outcome, which is the last line."""
        self.write("outcome", **outcome.to_dict())

    def write(self, event: str, **values: Any) -> None:
        """Write one line."""
        self._out.write(json.dumps({"event": event, **values}, ensure_ascii=True) + "\n")
        self._out.flush()


def tick_values(tick: Tick) -> dict[str, Any]:
    """Return a tick as JSON values, with the continuation as text."""
    names = ("messages", "goal", "iteration", "sub_tick", "state", "results", "system", "tools", "used", "budget")
    values = {name: jsonable(getattr(tick, name)) for name in names}
    handed = tick.continuation
    return {**values, "continuation": None if handed is None else handed.text()}


def step_of(line: str) -> Step:
    """Return the step of a line.

    Raises:
        ModelError: the line reports an error.
        InvalidValue: the line is not a step.
    """
    try:
        values = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidValue("the step", line[:80], "a JSON object on one line") from error
    if not isinstance(values, Mapping):
        raise InvalidType("the step", values, f"a JSON object with {', '.join(_STEP)}, or with an error")
    if "error" in values:
        status = values.get("status")
        raise ModelError(str(values["error"]), status=status if type(status) is int else None)
    for name in values:
        if name not in _STEP:
            raise InvalidValue("a field of the step", name, f"one of {', '.join(_STEP)}, or error and status")
    return Step(**values)
