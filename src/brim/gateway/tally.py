"""What the gateway counts as it goes, for the page that Prometheus scrapes. No label holds what a client made up."""

from __future__ import annotations

import time

from brim.gateway.fitting import FitOutcome
from brim.gateway.known import label
from brim.observe import Event, emit
from brim.observe.metrics import TOKENS, Metrics

SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
"""The bounds of histograms of time."""


class GatewayMetrics:
    """The numbers of one gateway."""

    def __init__(self) -> None:
        self.metrics = Metrics()
        made = self.metrics.family
        self.requests = made("brim_requests_total", "counter", "Requests by route, model and how they ended.")
        self.tokens = made("brim_gateway_tokens", "histogram", "Units of requests as they came and went.", TOKENS)
        self.edits = made("brim_edits_total", "counter", "Messages that were not sent as they came.")
        self.overhead = made("brim_overhead_seconds", "histogram", "Time that the gateway added.", SECONDS)
        self.streams = made("brim_open_streams", "gauge", "Streams that are open.")
        self.faults = made("brim_faults_total", "counter", "Faults of brim's, by what became of the request.")
        self.retries = made(
            "brim_overflow_retries_total", "counter", "Requests sent again after a refusal as too long."
        )
        self.store = made("brim_store_faults_total", "counter", "Times that the store failed.")
        self.recalls = made("brim_recalls_total", "counter", "Times that a model recalled what left its prompt.")

    def fitted(self, route: str, model: str, outcome: FitOutcome, seconds: float) -> None:
        """Take note of a request that is about to be sent."""
        name = label(model)
        self.overhead.see(seconds, route=route)
        if outcome.before is None or outcome.after is None:
            return
        self.tokens.see(outcome.before, route=route, stage="before")
        self.tokens.see(outcome.after, route=route, stage="after")
        if outcome.edits:
            self.edits.add(outcome.edits, route=route, model=name)
        fields = {
            "used_tokens": outcome.after,
            "budget_tokens": outcome.budget or 0,
            "truncated": bool(outcome.edits),
        }
        event = Event(name="prompt_assembled", at=time.time(), model=name, fields=fields)
        self.metrics.observe(event)
        emit(event)

    def refused(self, model: str, *, retried: bool) -> None:
        """Take note of a refusal as too long."""
        event = Event(name="overflow", at=time.time(), model=label(model), fields={"retried": retried})
        self.metrics.observe(event)
        emit(event)
