"""The result of fitting a history: the messages to send in their own format, and the receipt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from brim.history.stable import HeldCut, LastFit, Stable
from brim.receipts.receipt import Receipt
from brim.wire import transcript


@dataclass(slots=True, eq=False, repr=False)
class Fitted:
    """A fitted history: the prompt and its receipt."""

    messages: list[Any]
    """The messages to send. A message that was not changed is the caller's own object."""
    used: int
    """Tokens of the whole request: messages, tools, framing."""
    budget: int
    last: LastFit
    """What it passes to the next fit."""
    _write: Callable[[], Receipt]
    _receipt: Receipt | None = None
    stable_prefix: int = 0
    """Tokens at the start of the prompt that it shares with the last one."""
    settled: int = 0
    """Messages at the start that are those of the last prompt, and that the cut before left as they were."""
    shared: int = 0
    """Tokens anywhere in the prompt that it shares with the last one."""

    @property
    def stable(self) -> Stable | None:
        """The argument `stable` of the next fit in stable mode, otherwise `None`."""
        return self.last.stable

    @property
    def held(self) -> HeldCut | None:
        """The kept cut; `None` if there is none."""
        return self.last.held

    @property
    def receipt(self) -> Receipt:
        """The receipt; it is written on first access."""
        if self._receipt is None:
            self._receipt = self._write()
        return self._receipt

    def __repr__(self) -> str:
        return f"<Fitted: {len(self.messages):,} messages, {self.used:,} of {self.budget:,} tokens>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Fitted):
            return NotImplemented
        return (self.messages, self.used, self.budget) == (other.messages, other.used, other.budget) and (
            self.receipt == other.receipt
        )

    __hash__ = None  # type: ignore[assignment]  # its messages may change

    def __reduce__(self) -> tuple[Any, ...]:
        # The receipt takes the place of the history that it would be written from.
        values = self.messages, self.used, self.budget, LastFit(self.stable)
        return _restored, (values, self.receipt, self.stable_prefix, self.settled, self.shared)

    @property
    def text(self) -> str:
        """The text of the messages, for a reader."""
        return transcript(self.messages)


def _restored(values: tuple[list[Any], int, int, LastFit], receipt: Receipt, *shared: int) -> Fitted:
    return Fitted(*values, lambda: receipt, receipt, *shared)
