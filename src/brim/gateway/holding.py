"""A stream that is held back until it is known whether it is for the client, who hears signs of life meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from brim.gateway.guard import Send
from brim.gateway.relay import KEEPALIVE

T = TypeVar("T")


class BufferedStream:
    """What the client of such a stream was sent."""

    def __init__(self, send: Send, every: float, begin: Callable[[], Awaitable[None]]) -> None:
        self.began = False
        """Whether the answer has begun; from then on, what goes wrong can only be told as an event."""
        self._send = send
        self._every = every
        self._begin = begin

    async def during(self, job: Coroutine[Any, Any, T]) -> T:
        """Return what a job returns; while it lasts, a comment is sent in every gap, and before the first the headers.

        Raises:
            Exception: whatever the job raises.
        """
        task = asyncio.ensure_future(job)
        try:
            while not (await asyncio.wait({task}, timeout=self._every))[0]:
                if not self.began:
                    self.began = True
                    await self._begin()
                await self._send({"type": "http.response.body", "body": KEEPALIVE, "more_body": True})
            return task.result()
        finally:
            if not task.done():  # The client has left.
                task.cancel()
                await asyncio.wait({task})
