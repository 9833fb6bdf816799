"""The gateway's own key on its way out: starred, wherever an upstream repeats it.

Servers repeat a key that they refuse, in a body, in a header, in an event of a stream. The stars are as many as the key
is long, so that no length changes; every other byte passes as it came.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from brim.gateway.guard import Send


def masked(send: Send, key: bytes) -> Send:
    """Return what sends an answer without the key in it."""
    hidden = Hidden(key)

    async def sending(event: MutableMapping[str, Any]) -> None:
        if event["type"] == "http.response.start":
            event["headers"] = [(name, hidden.whole(value)) for name, value in event["headers"]]
        elif event["type"] == "http.response.body":
            event["body"] = hidden.feed(event.get("body", b""), more=event.get("more_body", False))
        await send(event)

    return sending


class Hidden:
    """Bytes that pass piece by piece, the key starred; it may be split between two pieces."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._stars = b"*" * len(key)
        self._held = b""

    def whole(self, said: bytes) -> bytes:
        """Return bytes that are all there."""
        return said.replace(self._key, self._stars)

    def feed(self, piece: bytes, *, more: bool) -> bytes:
        """Return what may pass of a piece and of what was held back: an end that may begin the key waits for more."""
        said = self.whole(self._held + piece)
        begins = self._begins(said) if more else 0
        self._held = said[len(said) - begins :]
        return said[: len(said) - begins]

    def _begins(self, said: bytes) -> int:
        """Return how many bytes at the end may be the beginning of the key."""
        at = max(0, len(said) - len(self._key) + 1)
        while (at := said.find(self._key[:1], at)) >= 0:
            if self._key.startswith(said[at:]):
                return len(said) - at
            at += 1
        return 0
