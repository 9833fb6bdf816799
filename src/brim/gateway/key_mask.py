"""The gateway's own key for upstream, masked in every answer that repeats it.

Servers repeat a key that they refuse, in a body, a header or an event of a stream. There are as many stars as the key
has bytes, so no length changes; every other byte passes as it came.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from brim.gateway.connection import Send


class KeyMask:
    """Sends an answer with the key masked, also where the key is split between two pieces of the body."""

    def __init__(self, key: bytes, send: Send) -> None:
        self._key = key
        self._send = send
        self._rest = b""

    async def __call__(self, event: MutableMapping[str, Any]) -> None:
        """Send an event."""
        if event["type"] == "http.response.start":
            event["headers"] = [(name, self._masked(value)) for name, value in event["headers"]]
        elif event["type"] == "http.response.body":
            event["body"] = self._passed(event.get("body", b""), more=event.get("more_body", False))
        await self._send(event)

    def _masked(self, text: bytes) -> bytes:
        return text.replace(self._key, b"*" * len(self._key))

    def _passed(self, piece: bytes, *, more: bool) -> bytes:
        """Return the bytes that may pass; an end that may be the start of the key waits for the next piece."""
        text = self._masked(self._rest + piece)
        longest = min(len(text), len(self._key) - 1) if more else 0
        kept = next((size for size in range(longest, 0, -1) if self._key.startswith(text[-size:])), 0)
        self._rest = text[len(text) - kept :]
        return text[: len(text) - kept]
