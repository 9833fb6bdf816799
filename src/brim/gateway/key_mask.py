"""The gateway's own key for upstream, masked in every answer that repeats it.

Servers repeat a key that they refuse, in a body, a header or an event of a stream. There are as many stars as the key
has bytes, so no length changes; every other byte passes as it came.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from brim.gateway.guard import Send


def masked(send: Send, key: bytes) -> Send:
    """Return a `send` that masks the key."""
    mask = KeyMask(key)

    async def send_masked(event: MutableMapping[str, Any]) -> None:
        if event["type"] == "http.response.start":
            event["headers"] = [(name, mask.apply(value)) for name, value in event["headers"]]
        elif event["type"] == "http.response.body":
            event["body"] = mask.feed(event.get("body", b""), more=event.get("more_body", False))
        await send(event)

    return send_masked


class KeyMask:
    """Masks a key in bytes that pass piece by piece, also where it is split between two pieces."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._stars = b"*" * len(key)
        self._rest = b""

    def apply(self, text: bytes) -> bytes:
        """Return complete bytes with the key masked."""
        return text.replace(self._key, self._stars)

    def feed(self, piece: bytes, *, more: bool) -> bytes:
        """Return the bytes that may pass; an end that may be the start of the key waits for the next piece."""
        text = self.apply(self._rest + piece)
        kept = self._partial(text) if more else 0
        self._rest = text[len(text) - kept :]
        return text[: len(text) - kept]

    def _partial(self, text: bytes) -> int:
        """Return how many bytes at the end may be the start of the key."""
        longest = min(len(text), len(self._key) - 1)
        return next((size for size in range(longest, 0, -1) if self._key.startswith(text[-size:])), 0)
