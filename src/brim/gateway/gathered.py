"""Bytes to a client, sent together: the head of an answer and its body are one packet where both are there.

The server writes each as it comes. A packet costs more than all else that is done with a short answer, on both ends.
"""

from __future__ import annotations

import asyncio
from typing import Any


class Gathered:
    """A transport that sends at once what was written in one turn of the loop."""

    def __init__(self, inner: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._inner = inner
        self._loop = loop
        self._held: list[bytes] = []

    def write(self, data: bytes) -> None:
        """Take bytes to be sent."""
        if not self._held:
            self._loop.call_soon(self._send)
        self._held.append(data)

    def close(self) -> None:
        """Send what is left, and close."""
        self._send()
        self._inner.close()

    def _send(self) -> None:
        if self._held:
            held, self._held = self._held, []
            self._inner.write(held[0] if len(held) == 1 else b"".join(held))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)
