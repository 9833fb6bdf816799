"""The sums of a gateway that has several workers: each writes its own to a folder, and whoever is asked adds them up.

What the others did in the last second may be missing.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from brim.gateway.activity import Activity
from brim.gateway.metrics import GatewayMetrics

_INTERVAL = 1.0
"""Seconds between two writes."""


class WorkerSums:
    """The sums of all workers, as one of them sees them."""

    def __init__(self, folder: Path | None, number: int, metrics: GatewayMetrics, activity: Activity) -> None:
        """Take the number of this worker, and the folder; `None` if it is the only one."""
        self._folder = folder
        self._number = number
        self._metrics = metrics
        self._activity = activity
        self._written = ""

    async def run(self, work: Callable[[Callable[[], None]], Awaitable[None]]) -> None:
        """Write the sums until cancelled; `work` runs a function outside the event loop."""
        while self._folder is not None:
            await asyncio.sleep(_INTERVAL)
            await work(self.write)

    def write(self) -> None:
        """Write the sums of this worker, if they have changed."""
        if self._folder is None:
            return
        text = json.dumps({"metrics": self._metrics.metrics.to_dict(), **self._activity.to_dict()})
        if text != self._written:
            self._written = text
            path = self._folder / f"worker-{self._number}.json"
            beside = path.with_suffix(".new")
            beside.write_text(text)
            beside.replace(path)  # Nobody reads a half of it.

    def page(self) -> str:
        """Return the metrics of all workers in the format of Prometheus."""
        return self._metrics.metrics.text([each["metrics"] for each in self._others()])

    def status(self, key: str) -> dict[str, Any]:
        """Return the sums of all workers, and the conversations of the clients with a key, the newest first."""
        own, summary = self._activity.to_dict(), Counter[str]()
        rows: dict[str, Mapping[str, Any]] = {}
        for each in (own, *self._others()):
            summary.update(each["summary"])
            for row in each["conversations"]:
                before = rows.get(row["id"])
                last = row if before is None else max(row, before, key=lambda one: float(one["updated"]))
                rows[row["id"]] = {**last, "requests": row["requests"] + (before["requests"] if before else 0)}
        found = sorted(rows.values(), key=lambda row: float(row["updated"]))[::-1]
        return {"summary": dict(summary), "conversations": [row for row in found if row["key"] == key]}

    def _others(self) -> list[dict[str, Any]]:
        found = []
        for path in sorted(self._folder.glob("worker-*.json")) if self._folder is not None else ():
            if path.stem != f"worker-{self._number}":
                try:
                    found.append(json.loads(path.read_text()))
                except (OSError, ValueError):
                    continue
        return found
