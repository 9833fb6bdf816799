"""The newest requests of a gateway, for whoever looks on: numbers and names, never a text, a header or a key.

They gather in memory, and a document in the store holds them, written at most once a second and only where something
came. So looking on costs a request nothing but one row in a list.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable
from typing import Any

from brim.gateway.keeping import Keeping

KIND = "gateway-traffic"
"""The kind of the document; its id is the address of the gateway."""
MOST = 200
"""Requests that it holds."""
_EVERY = 1.0
"""Seconds between two writings."""
_MOST_NAME = 100


class Traffic:
    """What one gateway did lately."""

    def __init__(self, keeping: Keeping, name: str) -> None:
        self._keeping = keeping
        self._name = name
        self._rows: deque[dict[str, Any]] = deque(maxlen=MOST)
        self._ends: Counter[str] = Counter()
        self._since = time.time()
        self._new = False
        self._version: int | None = None

    def saw(self, model: str, **told: Any) -> None:
        """Take note of a request."""
        if self._keeping.store is None:
            return
        self._rows.append({"at": time.time(), "model": model[:_MOST_NAME], **told})
        self._ends[_end(told)] += 1
        self._new = True

    async def run(self, work: Callable[[Callable[[], None]], Awaitable[None]]) -> None:
        """Write what came, until it is told to end; `work` does that elsewhere than on the loop."""
        while True:
            await asyncio.sleep(_EVERY)
            if self._new:
                await work(self.write)

    def write(self) -> None:
        """Write what came; where another of the same address wrote in between, the next time."""
        if not self._new or self._keeping.store is None:
            return
        self._new = False
        if self._version is None:
            saved = self._keeping.load(KIND, self._name)
            self._version = 0 if saved is None else saved.version
        ends = dict(self._ends)
        body = {"address": self._name, "since": self._since, "ends": ends, "requests": list(self._rows)}
        self._version = self._keeping.save(KIND, self._name, body, self._version)
        self._new = self._new or self._version is None


def _end(told: dict[str, Any]) -> str:
    """Return the class of how a request ended, by which they are counted."""
    status = told["status"]
    if told.get("refused"):
        return f"refused_{status}"
    return "ok" if status < 400 else f"upstream_{status // 100}xx"
