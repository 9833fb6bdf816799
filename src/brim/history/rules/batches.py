"""What the model said at one time stays together: reasoning, words and calls, though each is an item of its own."""

from __future__ import annotations

from brim.wire.message import Message


class Batches:
    """Joins an item of the model to the item of the model right before it."""

    __slots__ = ("_speaking",)

    def __init__(self) -> None:
        self._speaking = False

    def bond(self, message: Message, at: int) -> int | None:
        """Return the position of the item before, where both are the model's."""
        was, self._speaking = self._speaking, message.role == "assistant"
        return at - 1 if was and self._speaking else None
