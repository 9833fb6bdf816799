"""Counters, gauges and histograms in the text format of Prometheus.

The writer is small enough to need no library: a family has a name, a kind and a help text, and one value for each set
of labels. Labels come from a short list of names, so that their number stays bounded.
"""

from __future__ import annotations

import math
import threading
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from brim.errors import InvalidValue
from brim.observe.events import Event

TOKENS = tuple(4**power for power in range(14))
"""The bounds of histograms of tokens: 1, 4, 16 and so on, to 64 million."""
SHARES = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)
"""The bounds of histograms of shares."""
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
"""The content type of the page."""
_MOST = 1_000
"""Sets of labels of one family; later ones are counted under `other`."""

Labels = tuple[tuple[str, str], ...]


class Family:
    """One metric: a value for each set of labels."""

    def __init__(self, name: str, kind: str, help: str, bounds: Sequence[float] = ()) -> None:  # noqa: A002
        self.name = name
        self.kind = kind
        """`counter`, `gauge` or `histogram`."""
        self.help = help
        """One sentence on what it measures."""
        self.bounds = tuple(bounds)
        self._values: dict[Labels, float] = {}
        self._cells: dict[Labels, list[float]] = {}

    def add(self, amount: float = 1, **labels: str) -> None:
        """Add to a counter or a gauge.

        Raises:
            InvalidValue: a counter would decrease.
        """
        if self.kind == "counter" and amount < 0:
            raise InvalidValue(f"metric {self.name}", amount, "0 or more: a counter never goes down")
        key = _key(labels, self._values)
        self._values[key] = self._values.get(key, 0) + amount

    def put(self, value: float, **labels: str) -> None:
        """Set a gauge."""
        self._values[_key(labels, self._values)] = value

    def see(self, value: float, **labels: str) -> None:
        """Add a value to a histogram."""
        key = _key(labels, self._cells)
        cells = self._cells.get(key)
        if cells is None:  # One cell for each bound and one beyond the last, and then the sum.
            cells = self._cells[key] = [0.0] * (len(self.bounds) + 2)
        cells[bisect_left(self.bounds, value)] += 1
        cells[-1] += value

    def value(self, **labels: str) -> float:
        """Return the value of a counter or a gauge, or the number of values of a histogram; 0 if there is none."""
        key = tuple(sorted(labels.items()))
        return sum(self._cells[key][:-1]) if key in self._cells else self._values.get(key, 0)

    def total(self) -> float:
        """Return the sum of a counter or a gauge over all labels."""
        return sum(self._values.values())

    def to_dict(self) -> dict[str, Any]:
        """Return its values as JSON values."""
        return {"values": list(self._values.items()), "cells": list(self._cells.items())}

    def plus(self, others: Iterable[Mapping[str, Any]]) -> Family:
        """Return the sum of this family and of the `to_dict` of others."""
        made = Family(self.name, self.kind, self.help, self.bounds)
        for each in (self.to_dict(), *others):
            for labels, value in each["values"]:
                key = tuple((name, told) for name, told in labels)
                made._values[key] = made._values.get(key, 0) + value
            for labels, cells in each["cells"]:
                key = tuple((name, told) for name, told in labels)
                before = made._cells.get(key, [0.0] * len(cells))
                made._cells[key] = [one + other for one, other in zip(before, cells, strict=True)]
        return made

    def lines(self) -> list[str]:
        """Return the family in the text format."""
        escaped = self.help.replace("\\", "\\\\").replace("\n", "\\n")
        out = [f"# HELP {self.name} {escaped}", f"# TYPE {self.name} {self.kind}"]
        out += [f"{self.name}{_labels(key)} {_number(value)}" for key, value in sorted(self._values.items())]
        for key, cells in sorted(self._cells.items()):
            total = 0.0
            for bound, count in zip((*self.bounds, math.inf), cells, strict=False):
                total += count
                out.append(f"{self.name}_bucket{_labels((*key, ('le', _number(bound))))} {_number(total)}")
            out.append(f"{self.name}_sum{_labels(key)} {_number(cells[-1])}")
            out.append(f"{self.name}_count{_labels(key)} {_number(total)}")
        return out


class Metrics:
    """Counts events, and writes the page."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
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

    def family(self, name: str, kind: str, help: str, bounds: Sequence[float] = ()) -> Family:  # noqa: A002
        """Return the metric of a name; it is created at the first call."""
        return self._families.setdefault(name, Family(name, kind, help, bounds))

    def observe(self, event: Event) -> None:
        """Count an event."""
        model, fields = event.model or "unknown", event.fields
        with self._lock:
            if event.name == "prompt_assembled":
                self._prompt(model, fields)
            elif event.name == "compacted":
                self.compactions.add(model=model, trigger=str(fields.get("trigger", "")))
                self.freed.add(max(0, fields.get("freed", 0)), model=model)
            elif event.name == "overflow":
                self.overflows.add(model=model, retried=str(bool(fields.get("retried"))).lower())
            elif event.name == "warning":
                self.warnings.add(model=model)
            elif event.name == "sub_tick":
                self.sub_ticks.add(model=model)

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

    def text(self, others: Sequence[Mapping[str, Any]] = ()) -> str:
        """Return the page that Prometheus scrapes, with what `to_dict` of other processes has added to it."""
        with self._lock:
            families = [
                family.plus(values for each in others if (values := each.get(name)) is not None)
                for name, family in self._families.items()
            ]
        return "".join(line + "\n" for family in families for line in family.lines())

    def to_dict(self) -> dict[str, Any]:
        """Return all values as JSON values, by the names of their families."""
        with self._lock:
            return {name: family.to_dict() for name, family in self._families.items()}


def _key(labels: Mapping[str, str], known: Mapping[Labels, Any]) -> Labels:
    key = tuple(sorted(labels.items())) if len(labels) > 1 else tuple(labels.items())
    return key if key in known or len(known) < _MOST else tuple((name, "other") for name, _ in key)


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
