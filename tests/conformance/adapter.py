"""What the suite asks of a trimmer, and what it may answer instead."""

from __future__ import annotations

from typing import Any, Protocol

Message = dict[str, Any]
"""One message in OpenAI's chat shape."""


class Adapter(Protocol):
    """A trimmer behind one call."""

    name: str

    def trim(self, messages: list[Message], budget: int) -> list[Message]:
        """Return the messages to send, within `budget` units, or raise an error of the trimmer's own."""
        ...


class NotAsked(Exception):
    """Raised by an adapter whose library has no place for what the case holds, such as images."""
