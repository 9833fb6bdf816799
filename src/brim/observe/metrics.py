"""Metrics of events for Prometheus, by `prometheus_client`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from brim.errors import SourceError
from brim.observe.events import Event

try:
    from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
    from prometheus_client.metrics_core import Metric
except ImportError as error:
    raise SourceError(
        "prometheus_client", "the package is not installed: pip install prometheus_client, or 'brim[gateway]'"
    ) from error

TOKENS = tuple(4**power for power in range(14))
"""The bounds of histograms of tokens: 1, 4, 16 and so on, to 64 million."""
SHARES = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)
"""The bounds of histograms of shares."""
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
"""The content type of the metrics page."""


class Metrics:
    """Counts events and writes the metrics page; also a collector for a registry of `prometheus_client`."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        """The registry of the metrics; others may be added."""
        model = ["model"]
        self.prompts = self.counter("brim_prompts_total", "Prompts that were assembled.", model)
        self.input = self.histogram("brim_input_tokens", "Tokens of each prompt.", model, TOKENS)
        self.use = self.histogram("brim_budget_use_ratio", "Share of its budget that a prompt used.", model, SHARES)
        self.truncated = self.counter(
            "brim_prompts_truncated_total", "Prompts from which something was dropped.", model
        )
        self.prefix = self.histogram("brim_stable_prefix_tokens", "Tokens shared with the last prompt.", model, TOKENS)
        self.compactions = self.counter(
            "brim_compactions_total", "Times that older turns were cut or summarised.", [*model, "trigger"]
        )
        self.freed = self.counter("brim_compaction_freed_tokens_total", "Tokens that compaction freed.", model)
        self.warnings = self.counter("brim_warnings_total", "Times that the warning line was crossed.", model)
        self.sub_ticks = self.counter("brim_sub_ticks_total", "Times that a loop continued in a fresh context.", model)
        self.overflows = self.counter(
            "brim_overflows_total", "Prompts that a provider refused as too long.", [*model, "retried"]
        )
        self.regrets = self.counter(
            "brim_regrets_total", "Calls repeated after a cut had removed their results.", model
        )
        self.regretted = self.counter("brim_regret_tokens_total", "Tokens of repeated calls and their results.", model)

    def counter(self, name: str, doc: str, labels: list[str]) -> Counter:
        """Return a new counter; `doc` is one sentence on what it counts."""
        return Counter(name, doc, labels, registry=self.registry)

    def gauge(self, name: str, doc: str, labels: list[str] | None = None) -> Gauge:
        """Return a new gauge."""
        return Gauge(name, doc, labels or [], registry=self.registry)

    def histogram(self, name: str, doc: str, labels: list[str], bounds: tuple[float, ...]) -> Histogram:
        """Return a new histogram."""
        return Histogram(name, doc, labels, buckets=bounds, registry=self.registry)

    def observe(self, event: Event) -> None:
        """Count an event."""
        model, fields = event.model or "unknown", event.fields
        if event.name == "prompt_assembled":
            used, budget = fields.get("used_tokens", 0), fields.get("budget_tokens", 0)
            self.prompts.labels(model).inc()
            self.input.labels(model).observe(used)
            if budget:
                self.use.labels(model).observe(used / budget)
            if fields.get("truncated"):
                self.truncated.labels(model).inc()
            if "stable_prefix" in fields:
                self.prefix.labels(model).observe(fields["stable_prefix"])
        elif event.name == "compacted":
            self.compactions.labels(model, str(fields.get("trigger", ""))).inc()
            self.freed.labels(model).inc(max(0, fields.get("freed", 0)))
        elif event.name == "overflow":
            self.overflows.labels(model, str(bool(fields.get("retried"))).lower()).inc()
        elif event.name == "warning":
            self.warnings.labels(model).inc()
        elif event.name == "sub_tick":
            self.sub_ticks.labels(model).inc()
        elif event.name == "regret":
            self.regret(1, fields["regret_tokens"], model)

    def regret(self, calls: int, tokens: int, model: str) -> None:
        """Count calls that were repeated because a cut had removed their results."""
        self.regrets.labels(model).inc(calls)
        self.regretted.labels(model).inc(tokens)

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics for `prometheus_client`, without their times of creation."""
        for metric in self.registry.collect():
            metric.samples = [sample for sample in metric.samples if not sample.name.endswith("_created")]
            yield metric

    def text(self) -> str:
        """Return the page that Prometheus scrapes."""
        page: Any = self
        return generate_latest(page).decode()

    def total(self, name: str, **labels: str) -> int:
        """Return the sum of a counter or a gauge over all other labels."""
        samples = (each for metric in self.registry.collect() for each in metric.samples if each.name == name)
        return int(sum(each.value for each in samples if labels.items() <= each.labels.items()))
