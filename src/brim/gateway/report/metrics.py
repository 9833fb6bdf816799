"""The metrics of a gateway, in the format of Prometheus.

The only label whose value a client chooses is `model`, and the number of its values is bounded.
"""

from __future__ import annotations

from dataclasses import replace

from brim.gateway.fit.fitted import FittedBody
from brim.observe import Event
from brim.observe.metrics import TOKENS, Metrics
from brim.sessions.learning.models import known
from brim.sessions.learning.usage import ReportedUsage

SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
"""The bounds of histograms of seconds."""
OTHER = "other"
_MOST_NAMES = 50
"""Models outside of the catalogue that have labels of their own; later ones are counted under `other`."""


class GatewayMetrics:
    """The metrics of one gateway."""

    def __init__(self) -> None:
        self.metrics = Metrics()
        self._names: set[str] = set()
        self._store_failures = 0
        counter, histogram = self.metrics.counter, self.metrics.histogram
        where = ["route", "model"]
        self.requests = counter("brim_requests_total", "Requests by how they ended.", [*where, "outcome"])
        self.tokens = histogram(
            "brim_gateway_tokens", "Tokens of requests before and after fitting.", ["route", "stage"], TOKENS
        )
        self.cut = counter("brim_requests_cut_total", "Requests that were sent cut.", where)
        self.cuts = counter("brim_cuts_total", "New cuts, by where the window is known from.", ["model", "reason"])
        self.saved = counter("brim_saved_tokens_total", "Tokens that were not sent.", where)
        self.edits = counter("brim_edits_total", "Messages that were dropped or changed.", where)
        self.overhead = histogram("brim_overhead_seconds", "Seconds until a request was sent on.", ["route"], SECONDS)
        self.streams = self.metrics.gauge("brim_open_streams", "Open streams.")
        self.refusals = counter("brim_refusals_total", "Requests that the gateway refused.", [*where, "reason"])
        self.faults = counter("brim_faults_total", "Errors of brim, by what was done.", ["kind", "became"])
        self.retries = counter("brim_overflow_retries_total", "Requests sent again after an overflow.", ["model"])
        self.learned = counter("brim_windows_learned_total", "Windows that became known.", ["model", "reason"])
        self.store = counter("brim_store_faults_total", "Failures of the store.", [])
        self.upstream_errors = counter("brim_upstream_errors_total", "Errors of upstream.", [*where, "reason"])
        self.usage = counter("brim_usage_tokens_total", "Tokens that providers reported.", [*where, "kind"])
        self.ratio = self.metrics.gauge("brim_count_ratio", "Reported over counted tokens.", ["model"])
        self.window = self.metrics.gauge("brim_window_tokens", "The window of the newest request.", ["model"])
        self.newest = counter("brim_newest_shortened_total", "Requests whose newest message was cut.", where)
        self.recalls = counter("brim_recalls_total", "Calls of brim_recall.", [])

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
        self.requests.labels(route, self.label(model), outcome).inc()

    def sized(self, fitted: FittedBody) -> None:
        """Count the tokens of a request, and what was dropped from it."""
        before, after, route = fitted.before or 0, fitted.after or 0, fitted.parsed.route
        self.tokens.labels(route, "before").observe(before)
        self.tokens.labels(route, "after").observe(after)
        self.regretted(fitted)
        where = (route, self.label(fitted.parsed.label))
        if fitted.planned is not None and fitted.planned.room is not None:
            self.window.labels(where[1]).set(fitted.planned.room.window)
        made = fitted.request
        if made is not None and made.changed and made.places and made.places[-1] is None:
            self.newest.labels(*where).inc()
        if fitted.edits:
            self.cut.labels(*where).inc()
            self.edits.labels(*where).inc(fitted.edits)
            self.saved.labels(*where).inc(max(0, before - after))

    def used(self, fitted: FittedBody, usage: ReportedUsage) -> None:
        """Count the tokens that a provider reported for a call: those found in its cache are a part of the input."""
        label = self.label(fitted.parsed.label)
        for kind in ("input", "output", "cached", "written"):
            self.usage.labels(fitted.parsed.route, label, kind).inc(getattr(usage, kind) or 0)
        if usage.sent and fitted.after:
            self.ratio.labels(label).set(usage.sent / fitted.after)

    def regretted(self, fitted: FittedBody) -> None:
        """Count the calls that a request brings which were made again because of a cut."""
        if fitted.request is not None and fitted.request.regret[0]:
            self.metrics.regret(*fitted.request.regret, self.label(fitted.parsed.label))

    def shrunk(self, last: FittedBody, again: FittedBody) -> None:
        """Count what a request that is sent again has lost since the last time."""
        label = self.label(last.parsed.label)
        where = (last.parsed.route, label)
        self.cut.labels(*where).inc(int(not last.edits))
        self.edits.labels(*where).inc(max(0, again.edits - last.edits))
        self.saved.labels(*where).inc(max(0, (last.after or 0) - (again.after or 0)))
        if again.request is not None and again.request.cut:
            self.cuts.labels(label, "refusal").inc()

    def observe(self, event: Event) -> None:
        """Count an event of the gateway."""
        model, fields = self.label(event.model), event.fields
        reason = str(fields.get("reason", ""))
        if event.name == "upstream_error" or reason in ("upstream", "timeout"):
            self.upstream_errors.labels(fields["route"], model, reason).inc()
        if event.name == "cut":
            self.cuts.labels(model, reason).inc()
        elif event.name == "refused":
            self.refusals.labels(fields["route"], model, reason).inc()
        elif event.name == "fault":
            self.faults.labels(reason, fields["became"]).inc()
        elif event.name == "window_learned":
            self.learned.labels(model, reason).inc()
        elif event.name == "overflow" and fields["retried"]:
            self.retries.labels(model).inc()
        self.metrics.observe(event if model == event.model else replace(event, model=model))

    def page(self, store_failures: int) -> bytes:
        """Return the page that Prometheus scrapes; `store_failures` is how often the store has failed."""
        self.store.inc(max(0, store_failures - self._store_failures))
        self._store_failures = store_failures
        return self.metrics.text().encode()
