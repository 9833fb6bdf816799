"""The metrics of a gateway, in the format of Prometheus. No label holds a value that a client chose."""

from __future__ import annotations

import time
from typing import Any

from brim.gateway.outcome import FitOutcome
from brim.observe import Event, emit
from brim.observe.metrics import TOKENS, Metrics
from brim.sessions.models import label

SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
"""The bounds of histograms of seconds."""


class GatewayMetrics:
    """The metrics of one gateway."""

    def __init__(self) -> None:
        self.metrics = Metrics()
        family = self.metrics.family
        self.requests = family("brim_requests_total", "counter", "Requests by route, model and outcome.")
        self.tokens = family("brim_gateway_tokens", "histogram", "Tokens of requests before and after fitting.", TOKENS)
        self.edits = family("brim_edits_total", "counter", "Messages that were dropped or changed.")
        self.overhead = family("brim_overhead_seconds", "histogram", "Seconds until a request was sent on.", SECONDS)
        self.streams = family("brim_open_streams", "gauge", "Open streams.")
        self.faults = family("brim_faults_total", "counter", "Errors of brim, by what was done with the request.")
        self.retries = family("brim_overflow_retries_total", "counter", "Requests sent again after an overflow.")
        self.store = family("brim_store_faults_total", "counter", "Failures of the store.")
        self.recalls = family("brim_recalls_total", "counter", "Calls of brim_recall.")

    def fitted(self, route: str, model: str, outcome: FitOutcome, seconds: float) -> None:
        """Count a request that is about to be sent."""
        self.overhead.see(seconds, route=route)
        if outcome.before is None or outcome.after is None:
            return
        self.tokens.see(outcome.before, route=route, stage="before")
        self.tokens.see(outcome.after, route=route, stage="after")
        if outcome.edits:
            self.edits.add(outcome.edits, route=route, model=label(model))
        numbers = {"used_tokens": outcome.after, "budget_tokens": outcome.budget or 0, "truncated": bool(outcome.edits)}
        self._emit("prompt_assembled", model, numbers)

    def refused(self, model: str, *, retried: bool) -> None:
        """Count a request that upstream refused as too long."""
        self._emit("overflow", model, {"retried": retried})

    def _emit(self, name: str, model: str, fields: dict[str, Any]) -> None:
        event = Event(name=name, at=time.time(), model=label(model), fields=fields)
        self.metrics.observe(event)
        emit(event)


def ending(status: int, *, refused: bool = False) -> str:
    """Return how a request ended: `ok`, refused by the gateway, or refused by upstream."""
    if refused:
        return f"refused_{status}"
    return "ok" if status < 400 else f"upstream_{status // 100}xx"
