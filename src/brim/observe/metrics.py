"""Metrics of events, as the page that Prometheus scrapes; `prometheus_client` counts and writes them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from threading import Lock
from types import SimpleNamespace
from typing import Any

from brim.errors import SourceError
from brim.observe.events import Event

try:
    from prometheus_client import Counter, Gauge, Histogram, generate_latest
    from prometheus_client.metrics_core import Metric
except ImportError as error:
    raise SourceError(
        "prometheus_client", "it is not installed: pip install prometheus_client, or 'brim[gateway]'"
    ) from error

TOKENS = tuple(4**power for power in range(14))
"""The bounds of histograms of tokens: 1, 4, 16 and so on, to 64 million."""
SHARES = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)
"""The bounds of histograms of shares."""
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
"""The content type of the page."""
_MOST = 1_000
"""Sets of labels of one family; later ones are counted under `other`."""


class Family:
    """One metric: a value for each set of labels, whose names are those of the first value."""

    def __init__(self, name: str, kind: str, help: str, bounds: Sequence[float] = ()) -> None:  # noqa: A002
        self.name = name
        self.kind = kind
        """`counter`, `gauge` or `histogram`."""
        self.help = help
        """One sentence on what it measures."""
        self.bounds = bounds
        self._metric: Any = None
        self._known: set[tuple[str, ...]] = set()
        self._lock = Lock()

    def add(self, amount: float = 1, **labels: str) -> None:
        """Add to a counter or a gauge.

        Raises:
            ValueError: a counter would decrease.
        """
        self._cell(labels).inc(amount)

    def put(self, value: float, **labels: str) -> None:
        """Set a gauge, or raise a counter to a number that is counted elsewhere."""
        cell = self._cell(labels)
        if self.kind == "counter":
            cell.inc(value - self.value(**labels))
        else:
            cell.set(value)

    def see(self, value: float, **labels: str) -> None:
        """Add a value to a histogram."""
        self._cell(labels).observe(value)

    def value(self, **labels: str) -> float:
        """Return the value of a counter or a gauge, or the number of values of a histogram; 0 if there is none."""
        name = f"{self.name}_count" if self.kind == "histogram" else self.name
        return sum(value for sample, found, value in self.samples() if (sample, found) == (name, labels))

    def total(self) -> float:
        """Return the sum of a counter or a gauge over all labels."""
        return sum(value for _, _, value in self.samples())

    def samples(self) -> list[tuple[str, dict[str, str], float]]:
        """Return the name, the labels and the value of each line of the page, as JSON values."""
        rows = () if self._metric is None else (row for each in self._metric.collect() for row in each.samples)
        return [(row.name, row.labels, row.value) for row in rows if not row.name.endswith("_created")]

    def _cell(self, labels: Mapping[str, str]) -> Any:
        with self._lock:  # Two first values at once make one metric.
            if self._metric is None:
                kinds: Mapping[str, Any] = {"counter": Counter, "gauge": Gauge, "histogram": Histogram}
                options = {"buckets": self.bounds} if self.bounds else {}
                self._metric = kinds[self.kind](self.name, self.help, tuple(labels), registry=None, **options)
        if not labels:
            return self._metric
        key = tuple(labels.values())
        if key not in self._known and len(self._known) >= _MOST:
            return self._metric.labels(**dict.fromkeys(labels, "other"))
        self._known.add(key)
        return self._metric.labels(**labels)


class Metrics:
    """Counts events, and writes the page; a registry of `prometheus_client` takes it as a collector too."""

    def __init__(self) -> None:
        self._families: dict[str, Family] = {}
        family = self.family
        self.prompts = family("brim_prompts_total", "counter", "Prompts that were assembled.")
        self.input = family("brim_input_tokens", "histogram", "Tokens of each prompt.", TOKENS)
        self.use = family("brim_budget_use_ratio", "histogram", "Share of its budget that a prompt used.", SHARES)
        self.truncated = family("brim_prompts_truncated_total", "counter", "Prompts from which something was dropped.")
        self.prefix = family("brim_stable_prefix_tokens", "histogram", "Tokens shared with the last prompt.", TOKENS)
        self.compactions = family("brim_compactions_total", "counter", "Times that older turns were cut or summarised.")
        self.freed = family("brim_compaction_freed_tokens_total", "counter", "Tokens that compaction freed.")
        self.warnings = family("brim_warnings_total", "counter", "Times that the warning line was crossed.")
        self.sub_ticks = family("brim_sub_ticks_total", "counter", "Times that a loop continued in a fresh context.")
        self.overflows = family("brim_overflows_total", "counter", "Prompts that a provider refused as too long.")
        self.regrets = family("brim_regrets_total", "counter", "Calls made again after a cut had taken their results.")
        self.regretted = family("brim_regret_tokens_total", "counter", "Tokens of these calls and their results.")

    def family(self, name: str, kind: str, help: str, bounds: Sequence[float] = ()) -> Family:  # noqa: A002
        """Return the metric of a name; it is created at the first call."""
        return self._families.setdefault(name, Family(name, kind, help, bounds))

    def observe(self, event: Event) -> None:
        """Count an event."""
        model, fields = event.model or "unknown", event.fields
        if event.name == "prompt_assembled":
            used, budget = fields.get("used_tokens", 0), fields.get("budget_tokens", 0)
            self.prompts.add(model=model)
            self.input.see(used, model=model)
            if budget:
                self.use.see(used / budget, model=model)
            if fields.get("truncated"):
                self.truncated.add(model=model)
            if "stable_prefix" in fields:
                self.prefix.see(fields["stable_prefix"], model=model)
        elif event.name == "compacted":
            self.compactions.add(model=model, trigger=str(fields.get("trigger", "")))
            self.freed.add(max(0, fields.get("freed", 0)), model=model)
        elif event.name == "overflow":
            self.overflows.add(model=model, retried=str(bool(fields.get("retried"))).lower())
        elif event.name == "warning":
            self.warnings.add(model=model)
        elif event.name == "sub_tick":
            self.sub_ticks.add(model=model)
        elif event.name == "regret":
            self.regret(1, fields["regret_tokens"], model)

    def regret(self, calls: int, tokens: int, model: str) -> None:
        """Count calls that were made again because a cut had taken their results."""
        self.regrets.add(calls, model=model)
        self.regretted.add(tokens, model=model)

    def collect(self, others: Sequence[Mapping[str, Any]] = ()) -> Iterator[Metric]:
        """Yield the metrics for `prometheus_client`, with what `to_dict` of other processes has added to them."""
        for name, family in self._families.items():
            sums: defaultdict[tuple[str, tuple[tuple[str, str], ...]], float] = defaultdict(float)
            for rows in (family.samples(), *(each.get(name, ()) for each in others)):
                for sample, labels, value in rows:
                    sums[sample, tuple(labels.items())] += value
            metric = Metric(name.removesuffix("_total"), family.help, family.kind)
            for (sample, labels), value in sums.items():
                metric.add_sample(sample, dict(labels), value)
            yield metric

    def text(self, others: Sequence[Mapping[str, Any]] = ()) -> str:
        """Return the page that Prometheus scrapes, with what `to_dict` of other processes has added to it."""
        page: Any = SimpleNamespace(collect=lambda: self.collect(others))
        return generate_latest(page).decode()

    def to_dict(self) -> dict[str, Any]:
        """Return all values as JSON values, by the names of their families."""
        return {name: family.samples() for name, family in self._families.items()}
