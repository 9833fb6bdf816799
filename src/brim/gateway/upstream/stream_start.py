"""The start of a stream, which is kept back until an event shows whether the prompt was accepted.

A provider may refuse a prompt by an event of a stream that has begun. As long as the client got no event, the request
can be sent again without the client noticing.
"""

from __future__ import annotations

from typing import Any

from brim.gateway.client.body import json_value
from brim.gateway.upstream.client import UpstreamAnswer
from brim.gateway.upstream.server_event import EventReader
from brim.wire.overflow import Overflow, is_overflow

_PRELIMINARY = ("response.created", "response.in_progress", "response.queued", "message_start", "ping", "keepalive")
"""Types of events after which a refusal may still follow."""
_MOST = 4 * 1024 * 1024
"""Bytes that are kept back; the first events of Responses repeat the instructions and the tools twice."""


class StreamStart:
    """The first events of a stream."""

    def __init__(self) -> None:
        self.decided = False
        """Whether an event shows that the prompt was accepted or refused."""
        self.refusal: Overflow | None = None
        """The refusal of the prompt as too long."""
        self._reader = EventReader()
        self._pieces: list[bytes] = []
        self._size = 0

    @property
    def raw(self) -> bytes:
        """All bytes that were read."""
        return b"".join(self._pieces)

    async def read(self, response: UpstreamAnswer) -> None:
        """Read events until one decides, or the stream ends.

        Raises:
            BrokenAnswer: the connection broke.
        """
        while not self.decided and (piece := await response.read()):
            self.feed(piece)

    def feed(self, piece: bytes) -> None:
        """Read bytes."""
        self._pieces.append(piece)
        self._size += len(piece)
        for event in self._reader.feed(piece):
            if (data := event.data) is not None and not _is_preliminary(value := json_value(data)):
                self.decided, self.refusal = True, refusal_in(value)
                return
        self.decided = self._size > _MOST


def refusal_in(event: Any) -> Overflow | None:
    """Return the overflow that an event reports as an error; `None` if it reports none."""
    told = isinstance(event, dict) and (event.get("error") or event.get("type") in ("error", "response.failed"))
    return is_overflow(event) if told else None


def _is_preliminary(event: Any) -> bool:
    """Return whether an event bears neither content nor an error."""
    if not isinstance(event, dict) or event.get("error"):
        return False
    if "type" in event:
        return event["type"] in _PRELIMINARY
    choices = event.get("choices")
    return isinstance(choices, list) and all(_is_empty(choice) for choice in choices)


def _is_empty(choice: Any) -> bool:
    """Return whether a choice of Chat Completions holds at most a role."""
    if not isinstance(choice, dict) or choice.get("finish_reason"):
        return False
    delta = choice.get("delta")
    return isinstance(delta, dict) and not any(value for key, value in delta.items() if key != "role")
