"""User and model take turns, the user first: a cut is allowed only before the model speaks."""

from __future__ import annotations

from brim.wire.message import Message


class Alternation:
    """Joins what the user says to what the model said before it, so that leaving both out keeps the turns."""

    __slots__ = ("_last",)

    def __init__(self) -> None:
        self._last: str | None = None

    def bond(self, message: Message, at: int) -> int | None:
        """Return the position before, unless the model begins to speak here."""
        last, self._last = self._last, message.role
        if last is None or (message.role == "assistant" and last != "assistant"):
            return None
        return at - 1
