"""The metrics of a gateway, in the format of Prometheus.

The only label whose value a client chooses is `model`, and the number of its values is bounded.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from brim.gateway.identity import cleaned
from brim.gateway.outcome import FitOutcome
from brim.observe import Event
from brim.observe.metrics import TOKENS, Metrics
from brim.sessions.learning.models import known

SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
"""The bounds of histograms of seconds."""
OTHER = "other"
_MOST_NAMES = 50
"""Models outside of the catalogue that have labels of their own; later ones are counted under `other`."""
_LONGEST = 100
"""Characters of the name of a model."""


class GatewayMetrics:
    """The metrics of one gateway."""

    def __init__(self) -> None:
        self.metrics = Metrics()
        self._names: set[str] = set()
        family = self.metrics.family
        self.requests = family("brim_requests_total", "counter", "Requests by route, model and outcome.")
        self.tokens = family("brim_gateway_tokens", "histogram", "Tokens of requests before and after fitting.", TOKENS)
        self.cut = family("brim_requests_cut_total", "counter", "Requests that were sent cut.")
        self.cuts = family("brim_cuts_total", "counter", "New cuts, by where the window is known from.")
        self.saved = family("brim_saved_tokens_total", "counter", "Tokens that were not sent.")
        self.edits = family("brim_edits_total", "counter", "Messages that were dropped or changed.")
        self.overhead = family("brim_overhead_seconds", "histogram", "Seconds until a request was sent on.", SECONDS)
        self.streams = family("brim_open_streams", "gauge", "Open streams.")
        self.refusals = family("brim_refusals_total", "counter", "Requests that the gateway refused, by reason.")
        self.faults = family("brim_faults_total", "counter", "Errors of brim, by what was done with the request.")
        self.retries = family("brim_overflow_retries_total", "counter", "Requests sent again after an overflow.")
        self.learned = family("brim_windows_learned_total", "counter", "Windows that became known, by from where.")
        self.store = family("brim_store_faults_total", "counter", "Failures of the store.")
        self.recalls = family("brim_recalls_total", "counter", "Calls of brim_recall.")

    def label(self, model: str | None) -> str:
        """Return the label of a model: its name in the catalogue, its own name, or `other` after the first fifty."""
        if not model:
            return OTHER
        found = known(model)
        if found is not None:
            return found.id
        if model not in self._names and len(self._names) < _MOST_NAMES:
            self._names.add(model)
        return model if model in self._names else OTHER

    def ended(self, route: str, model: str, outcome: str) -> None:
        """Count a request by how it ended."""
        self.requests.add(route=route, model=self.label(model), outcome=outcome)

    def sized(self, route: str, model: str, outcome: FitOutcome) -> None:
        """Count the tokens of a request, and what was dropped from it."""
        before, after = outcome.before or 0, outcome.after or 0
        self.tokens.see(before, route=route, stage="before")
        self.tokens.see(after, route=route, stage="after")
        if outcome.request is not None and outcome.request.regret[0]:
            self.metrics.regret(*outcome.request.regret, self.label(model))
        if outcome.edits:
            label = self.label(model)
            self.cut.add(route=route, model=label)
            self.edits.add(outcome.edits, route=route, model=label)
            self.saved.add(max(0, before - after), route=route, model=label)

    def shrunk(self, route: str, model: str, last: FitOutcome, again: FitOutcome) -> None:
        """Count what a request that is sent again has lost since the last time."""
        label = self.label(model)
        self.cut.add(int(not last.edits), route=route, model=label)
        self.edits.add(max(0, again.edits - last.edits), route=route, model=label)
        self.saved.add(max(0, (last.after or 0) - (again.after or 0)), route=route, model=label)
        if again.request is not None and again.request.cut:
            self.cuts.add(model=label, reason="refusal")

    def observe(self, event: Event) -> None:
        """Count an event of the gateway."""
        model, fields = self.label(event.model), event.fields
        reason = str(fields.get("reason", ""))
        if event.name == "cut":
            self.cuts.add(model=model, reason=reason)
        elif event.name == "refused":
            self.refusals.add(route=fields["route"], model=model, reason=reason)
        elif event.name == "fault":
            self.faults.add(kind=reason, became=fields["became"])
        elif event.name == "window_learned":
            self.learned.add(model=model, reason=reason)
        elif event.name == "overflow" and fields["retried"]:
            self.retries.add(model=model)
        self.metrics.observe(event if model == event.model else replace(event, model=model))


def model_name(model: Any, keys: list[str]) -> str:
    """Return the name of a model as it may be shown: without unusual characters, and no key of the request in it."""
    if not isinstance(model, str) or not model:
        return ""
    return cleaned(model, keys)[:_LONGEST]


def ending(status: int, *, refused: bool = False) -> str:
    """Return how a request ended: `ok`, refused by the gateway, or refused by upstream."""
    if refused:
        return f"refused_{status}"
    return "ok" if status < 400 else f"upstream_{status // 100}xx"
