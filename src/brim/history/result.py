"""The result of fitting a history: the messages to send in their own format, and the receipt."""

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
    """The messages to send. A message that was not changed is the caller's own object."""
    used: int
    """Tokens of the whole request: messages, tools, framing."""
    budget: int
    stable: Stable | None
    """The argument `stable` of the next fit, in stable mode; otherwise `None`."""
    _write: Callable[[], Receipt]
    _receipt: Receipt | None = None
    _prefix: int | Callable[[], int] = 0

    @property
    def stable_prefix(self) -> int:
        """Tokens at the start of the prompt that are the same as in the last one."""
        if callable(self._prefix):
            self._prefix = self._prefix()
        return self._prefix

    @property
    def receipt(self) -> Receipt:
        """The receipt, which is written when it is first read."""
        if self._receipt is None:
            self._receipt = self._write()
        return self._receipt

    @property
    def text(self) -> str:
        """The text of the messages, for a reader."""
        from brim.wire import format_of, wire

        chosen = wire(format_of(self.messages) or "openai")
        read = [chosen.read(raw, i) for i, raw in enumerate(self.messages)]
        return "\n\n".join(f"{message.role}: {message.text()}" for message in read)
