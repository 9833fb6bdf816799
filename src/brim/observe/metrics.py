"""Counters, gauges and histograms in the text format that Prometheus reads.

The writer is small enough to have no library: a family has a name, a kind and a sentence, and one value for each set of
labels. Labels come from a short list of names, so that their number stays bounded.
"""

from __future__ import annotations

import math
import threading
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any

from brim.errors import InvalidValue
from brim.observe.event import Event

TOKENS = tuple(4**power for power in range(14))
"""The bounds of histograms of tokens: 1, 4, 16 and so on, to 64 million."""
SHARES = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)
"""The bounds of histograms of shares."""
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
"""What to say of the page when it is served."""
_MOST = 1_000
"""Sets of labels of one family; what comes after goes to one that is called `other`."""

Labels = tuple[tuple[str, str], ...]


class Family:
    """One metric: a value for each set of labels."""

    def __init__(self, name: str, kind: str, told: str, bounds: Sequence[float] = ()) -> None:
        self.name = name
        self.kind = kind
        """`counter`, `gauge` or `histogram`."""
        self.told = told
        """A sentence: what it measures."""
        self.bounds = tuple(bounds)
        self._values: dict[Labels, float] = {}
        self._cells: dict[Labels, list[float]] = {}
        self._sorted: dict[Labels, Labels] = {}
        """Sets of labels in the order in which they are given, and in their own."""

    def add(self, amount: float = 1, **labels: str) -> None:
        """Add to a counter or a gauge.

        Raises:
            InvalidValue: a counter would go down.
        """
        if self.kind == "counter" and amount < 0:
            raise InvalidValue(f"metric {self.name}", amount, "0 or more: a counter never goes down")
        key = self._key(labels, self._values)
        self._values[key] = self._values.get(key, 0) + amount

    def put(self, value: float, **labels: str) -> None:
        """Set a gauge."""
        self._values[self._key(labels, self._values)] = value

    def see(self, value: float, **labels: str) -> None:
        """Take a value into a histogram."""
        key = self._key(labels, self._cells)
        # One cell for each bound and one beyond the last, and then the sum.
        cells = self._cells.setdefault(key, [0.0] * (len(self.bounds) + 2))
        cells[bisect_left(self.bounds, value)] += 1
        cells[-1] += value

    def value(self, **labels: str) -> float:
        """Return the value of a counter or a gauge, and of a histogram how many were seen; 0 where there was none."""
        key = tuple(sorted(labels.items()))
        return sum(self._cells[key][:-1]) if key in self._cells else self._values.get(key, 0)

    def lines(self) -> list[str]:
        """Return the family in the text format."""
        told = self.told.replace("\\", "\\\\").replace("\n", "\\n")
        out = [f"# HELP {self.name} {told}", f"# TYPE {self.name} {self.kind}"]
        out += [f"{self.name}{_labels(key)} {_number(value)}" for key, value in sorted(self._values.items())]
        for key, cells in sorted(self._cells.items()):
            total = 0.0
            for bound, count in zip((*self.bounds, math.inf), cells, strict=False):
                total += count
                out.append(f"{self.name}_bucket{_labels((*key, ('le', _number(bound))))} {_number(total)}")
            out.append(f"{self.name}_sum{_labels(key)} {_number(cells[-1])}")
            out.append(f"{self.name}_count{_labels(key)} {_number(total)}")
        return out

    def _key(self, labels: Mapping[str, str], known: Mapping[Labels, Any]) -> Labels:
        given = tuple(labels.items())
        key = self._sorted.get(given)
        if key is None:
            key = tuple(sorted(given))
            if len(self._sorted) < _MOST:
                self._sorted[given] = key
        return key if key in known or len(known) < _MOST else tuple((name, "other") for name, _ in key)


class Metrics:
    """Takes note of events as metrics, and writes the page."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._families: dict[str, Family] = {}
        self.prompts = self.family("brim_prompts_total", "counter", "Prompts that were assembled.")
        self.input = self.family("brim_input_tokens", "histogram", "Units of each prompt.", TOKENS)
        self.use = self.family("brim_budget_use_ratio", "histogram", "Share of its budget that a prompt used.", SHARES)
        self.truncated = self.family(
            "brim_prompts_truncated_total", "counter", "Prompts from which something was left."
        )
        self.prefix = self.family(
            "brim_stable_prefix_tokens", "histogram", "Units that the last prompt had too.", TOKENS
        )
        self.compactions = self.family("brim_compactions_total", "counter", "Times that older turns became a summary.")
        self.freed = self.family("brim_compaction_freed_tokens_total", "counter", "Units that compaction freed.")
        self.warnings = self.family("brim_warnings_total", "counter", "Times that the warning line was crossed.")
        self.sub_ticks = self.family("brim_sub_ticks_total", "counter", "Times that a loop went on in a fresh context.")
        self.overflows = self.family("brim_overflows_total", "counter", "Prompts that a provider refused as too long.")

    def family(self, name: str, kind: str, told: str, bounds: Sequence[float] = ()) -> Family:
        """Return the metric of a name, which is made when it is first asked for."""
        if name not in self._families:
            self._families[name] = Family(name, kind, told, bounds)
        return self._families[name]

    def observe(self, event: Event) -> None:
        """Take note of an event."""
        model, fields = event.model or "unknown", event.fields
        with self._lock:
            if event.name == "prompt_assembled":
                self._prompt(model, fields)
            elif event.name == "compacted":
                self.compactions.add(model=model, trigger=str(fields.get("trigger", "")))
                self.freed.add(max(0, fields.get("freed", 0)), model=model)
            elif event.name == "warning":
                self.warnings.add(model=model)
            elif event.name == "sub_tick":
                self.sub_ticks.add(model=model)
            elif event.name == "overflow":
                self.overflows.add(model=model, retried=str(bool(fields.get("retried"))).lower())

    def _prompt(self, model: str, fields: Mapping[str, Any]) -> None:
        used, budget = fields.get("used_tokens", 0), fields.get("budget_tokens", 0)
        self.prompts.add(model=model)
        self.input.see(used, model=model)
        if budget:
            self.use.see(used / budget, model=model)
        if fields.get("truncated"):
            self.truncated.add(model=model)
        if "stable_prefix" in fields:
            self.prefix.see(fields["stable_prefix"], model=model)

    def text(self) -> str:
        """Return the page that Prometheus scrapes."""
        with self._lock:
            return "".join(line + "\n" for family in self._families.values() for line in family.lines())


def _labels(key: Labels) -> str:
    escaped = [
        '{}="{}"'.format(name, value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n"))
        for name, value in key
    ]
    return f"{{{','.join(escaped)}}}" if escaped else ""


def _number(value: float) -> str:
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value == int(value) else repr(float(value))
