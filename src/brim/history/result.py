"""A fitted history: the messages to send in the caller's own shape, and the record of how they came about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from brim.history.stable import Stable
from brim.receipts.receipt import Receipt


@dataclass(slots=True, eq=False)
class Fitted:
    """A fitted history."""

    messages: list[Any]
    """What to send. A message that was not changed is the caller's own object."""
    used: int
    """Units of the whole request: messages, tools, framing."""
    budget: int
    _stable: Stable | None
    _write: Callable[[], Receipt]
    _receipt: Receipt | None = None
    _prefix: int | Callable[[], int] = 0

    @property
    def stable_prefix(self) -> int:
        """Units at the start of the prompt that are those of the last one."""
        if callable(self._prefix):
            self._prefix = self._prefix()
        return self._prefix

    @property
    def receipt(self) -> Receipt:
        """The record of the fit. It is written when it is first asked for, from what the fit decided."""
        if self._receipt is None:
            self._receipt = self._write()
        return self._receipt

    @property
    def stable(self) -> Stable | None:
        """What to give the next fit in stable mode; `None` in any other."""
        return self._stable

    @property
    def text(self) -> str:
        """What the messages say, for a reader."""
        from brim.wire import format_of, wire

        chosen = wire(format_of(self.messages) or "openai")
        read = [chosen.read(raw, i) for i, raw in enumerate(self.messages)]
        return "\n\n".join(f"{message.role}: {message.text()}" for message in read)
