"""The newest requests of a gateway, for the studio: numbers and names, never a text, a header or a key.

They are collected in memory and written to one document of the store, at most once a second. So a request costs one row
in a list.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable
from typing import Any

from brim.sessions.log.tolerant_store import TolerantStore

KIND = "gateway-traffic"
"""The kind of the document; its id is the address of the gateway."""
MOST = 200
"""Requests that it holds."""
_INTERVAL = 1.0
"""Seconds between two writes."""
ALIVE = 30.0
"""Seconds after which a gateway without new requests writes that it still runs."""


class Traffic:
    """The newest requests of one gateway."""

    def __init__(self, store: TolerantStore, address: str, *, is_kept: bool) -> None:
        self.is_kept = is_kept
        """Whether there is a store that keeps it."""
        self._store = store
        self._address = address
        self._rows: deque[dict[str, Any]] = deque(maxlen=MOST)
        self._ends: Counter[str] = Counter()
        self._since = time.time()
        self._changed = False
        self._version: int | None = None
        self._seen = 0.0
        """When the document was last written."""
        self._stopped = False

    def add(self, model: str, *, ended: str, **fields: Any) -> None:
        """Add a request that has ended."""
        if not self.is_kept:
            return
        self._rows.append({"at": time.time(), "model": model, "ended": ended, **fields})
        self._ends[ended] += 1
        self._changed = True

    async def run(self, work: Callable[[Callable[[], None]], Awaitable[None]]) -> None:
        """Write new requests until cancelled; `work` runs a function outside the event loop."""
        while True:
            await asyncio.sleep(_INTERVAL)
            if self._changed or (self._version is not None and time.time() - self._seen > ALIVE):
                self._changed = True
                await work(self.write)

    def stop(self) -> None:
        """Write the last requests, and that the gateway has stopped, if it has written anything."""
        self._stopped = True
        self._changed = self._changed or self._version is not None
        self.write()

    def write(self) -> None:
        """Write the document; if another gateway of the same address wrote in between, the next call tries again."""
        if not self._changed:
            return
        self._changed = False
        if self._version is None:
            saved = self._store.load(KIND, self._address)
            self._version = 0 if saved is None else saved.version
        ends, rows = dict(self._ends), list(self._rows)
        self._seen = time.time()
        state = {"since": self._since, "seen": self._seen, "stopped": self._stopped}
        body = {"address": self._address, **state, "ends": ends, "requests": rows}
        self._version = self._store.save(KIND, self._address, body, self._version)
        self._changed = self._changed or self._version is None
