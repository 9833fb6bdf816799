"""The newest requests of a gateway, for the studio: numbers and names, never texts, headers or keys.

They are collected in memory and written to a document of the store, at most once a second.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable
from typing import Any

from brim.gateway.http.problem import HttpProblem, ending
from brim.gateway.upstream.answer import Sent
from brim.sessions.log.tolerant_store import TolerantStore

KIND = "gateway-traffic"
"""The kind of the document, whose id is the address of the gateway."""
MOST = 200
"""Requests in the document."""
_INTERVAL = 1.0
"""Seconds between two writes."""
ALIVE = 30.0
"""Seconds after which an idle gateway records that it is still running."""


class Traffic:
    """The newest requests of one gateway."""

    def __init__(self, store: TolerantStore, address: str) -> None:
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

    def add(self, sent: Sent, ended: str) -> None:
        """Add a request that was sent and has ended."""
        fitted, made = sent.fitted, sent.fitted.request
        admitted = fitted.parsed.admitted
        self._add(
            fitted.parsed.label,
            ended,
            id=admitted.id,
            route=fitted.parsed.route,
            status=sent.status,
            stream=sent.is_stream,
            before=fitted.before,
            after=fitted.after,
            budget=fitted.budget,
            method=fitted.method,
            policy=fitted.policy,
            edits=fitted.edits,
            session=made.conversation if made is not None else "",
            cut=made.cut if made is not None else 0,
            passed=fitted.passed,
            retried=sent.retried,
            overhead_ms=round(sent.overhead * 1000, 2),
            first_ms=round((sent.came - admitted.started) * 1000, 2),
        )

    def add_refusal(self, model: str, id_: str, route: str, problem: HttpProblem) -> None:
        """Add a request that the gateway refused."""
        told = {"status": problem.status, "refused": True, "reason": problem.reason}
        self._add(model, ending(problem.status, refused=True), id=id_, route=route, **told)

    def _add(self, model: str, ended: str, **fields: Any) -> None:
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
        """Write the last requests, and record that the gateway has stopped."""
        self._stopped = True
        self._changed = self._changed or self._version is not None
        self.write()

    def write(self) -> None:
        """Write the document; after a conflict with another gateway of the same address, the next call tries again."""
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
