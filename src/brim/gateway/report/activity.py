"""The events of a gateway, for its metrics, lines, summary and observers.

An event has numbers and names. A name of a model or conversation that contains a key is a fingerprint here.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import replace
from typing import Any

from brim.gateway.fit import FittedBody
from brim.gateway.http.admitted import Admitted
from brim.gateway.http.problem import HttpProblem
from brim.observe import Event, Observer, emit
from brim.observe.metrics import Metrics
from brim.sessions.learning.models import known
from brim.sessions.learning.usage import ReportedUsage
from brim.sessions.learning.windows import Windows
from brim.wire.overflow import Overflow

SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
"""The bounds of histograms, in seconds."""
OTHER = "other"
_MOST_NAMES = 50
"""Models outside the catalogue that get a label; later ones are counted under `other`."""


class GatewayMetrics(Metrics):
    """The metrics of one gateway."""

    def __init__(self) -> None:
        super().__init__()
        self._names: set[str] = set()
        self._store_failures = 0
        counter, histogram = self.counter, self.histogram
        where = ["route", "model"]
        self.requests = counter("brim_requests_total", "Requests by how they ended.", [*where, "outcome"])
        self.cut = counter("brim_requests_cut_total", "Requests that were cut before they were sent.", where)
        self.cuts = counter("brim_cuts_total", "New cuts, by the source of the window size.", ["model", "reason"])
        self.saved = counter("brim_saved_tokens_total", "Tokens that were not sent.", where)
        self.overhead = histogram(
            "brim_overhead_seconds", "Seconds until a request was sent upstream.", ["route"], SECONDS
        )
        self.streams = self.gauge("brim_open_streams", "Open streams.")
        self.refusals = counter("brim_refusals_total", "Requests that the gateway refused.", [*where, "reason"])
        self.faults = counter("brim_faults_total", "Requests that brim failed to read or to fit.", ["kind", "became"])
        self.learned = counter("brim_windows_learned_total", "Window sizes that were learned.", ["model"])
        self.store = counter("brim_store_faults_total", "Errors of the store.", [])
        self.upstream_errors = counter("brim_upstream_errors_total", "Errors of upstream.", [*where, "reason"])
        self.usage = counter("brim_usage_tokens_total", "Tokens that providers reported.", [*where, "kind"])
        self.window = self.gauge("brim_window_tokens", "The window of the newest request.", ["model"])

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
        """Record the window of a request, what was cut from it, and the calls in it that repeat what a cut removed."""
        where = (fitted.parsed.route, self.label(fitted.parsed.label))
        if fitted.request is not None and fitted.request.regret[0]:
            self.regret(*fitted.request.regret, where[1])
        if fitted.planned is not None and fitted.planned.room is not None:
            self.window.labels(where[1]).set(fitted.planned.room.window)
        if fitted.edits:
            self.cut.labels(*where).inc()
            self.saved.labels(*where).inc(max(0, (fitted.before or 0) - (fitted.after or 0)))

    def used(self, fitted: FittedBody, usage: ReportedUsage) -> None:
        """Count the tokens that a provider reported; those from its cache are part of the input."""
        label = self.label(fitted.parsed.label)
        for kind in ("input", "output", "cached", "written"):
            self.usage.labels(fitted.parsed.route, label, kind).inc(getattr(usage, kind) or 0)

    def shrunk(self, last: FittedBody, again: FittedBody) -> None:
        """Count what a retried request lost compared with the first attempt."""
        label = self.label(last.parsed.label)
        where = (last.parsed.route, label)
        self.cut.labels(*where).inc(int(not last.edits))
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
            self.learned.labels(model).inc()
        super().observe(event if model == event.model else replace(event, model=model))

    def page(self, store_failures: int) -> bytes:
        """Return the page that Prometheus scrapes; `store_failures` is how often the store has failed."""
        self.store.inc(max(0, store_failures - self._store_failures))
        self._store_failures = store_failures
        return self.text().encode()


_MOST_ROWS = 500
"""Conversations in the status, the newest ones."""
SOURCES = {
    "setting": "a setting",
    "refusal": "an overflow error",
    "server": "the model server",
    "catalogue": "the catalogue",
    "header": "the header x-brim-budget",
}
"""The sources of a known window."""


class Activity:
    """The events and conversations of one gateway."""

    def __init__(self, metrics: GatewayMetrics, windows: Windows) -> None:
        self._metrics = metrics
        self._windows = windows
        self._seen = 0
        self._rows: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self.observers: list[Observer] = []
        """Receive the events of this gateway, in addition to the observers of the process."""

    def sent(self, fitted: FittedBody, seconds: float) -> None:
        """Record a request that is about to be sent, `seconds` after it arrived."""
        self._metrics.overhead.labels(fitted.parsed.route).observe(seconds)
        if fitted.before is None or fitted.after is None:
            return
        self._metrics.sized(fitted)
        self._row(fitted)
        truncated = bool(fitted.edits)
        short = {"used_tokens": fitted.after, "budget_tokens": fitted.budget or 0, "truncated": truncated}
        self._tell("prompt_assembled", fitted, short)
        if fitted.request is not None and fitted.request.cut:
            self._tell("cut", fitted, self._sizes(fitted))
        elif fitted.over:
            self._tell("over", fitted, self._sizes(fitted))

    def overflow(self, last: FittedBody, found: Overflow, again: FittedBody | None) -> None:
        """Record a rejection for length, and the smaller request that is sent instead."""
        if again is not None:
            self._metrics.shrunk(last, again)
            self._row(again)
        lowered = last.request.answer if last.request is not None else None
        fields = {
            "refused_tokens": last.after,
            "stated_tokens": found.sent,
            "limit_tokens": found.limit,
            "answer_tokens": last.parsed.answer if lowered is None else lowered,
            "retried": again is not None,
            "used_tokens": again.after if again is not None else None,
            "new_answer_tokens": again.answer if again is not None else None,
        }
        self._tell("overflow", again or last, fields)

    def learned(self, fitted: FittedBody, window: int, before: int | None) -> None:
        """Record that the window of a model was learned from a rejection."""
        fields = {"route": fitted.parsed.route, "window_tokens": window, "before_tokens": before}
        self._emit("window_learned", fitted.parsed.admitted, fields, fitted.parsed.label)

    def upstream_error(self, fitted: FittedBody, reason: str, error: str = "") -> None:
        """Record an error of upstream; `error` is the type of an error event."""
        self._tell("upstream_error", fitted, {"reason": reason, "error": error})

    def refused(self, admitted: Admitted | None, route: str, problem: HttpProblem, model: str = "") -> None:
        """Record a request that the gateway refused."""
        fields = {"status": problem.status, "reason": problem.reason, **problem.numbers}
        self._emit("refused", admitted, {"route": route, **fields}, model)

    def fault(
        self, admitted: Admitted | None, route: str, error: Exception, *, kind: str, became: str, model: str = ""
    ) -> None:
        """Record a request that brim failed to read or to fit, and what was done with it."""
        fields = {"route": route, "reason": kind, "became": became, "error": type(error).__name__}
        self._emit("fault", admitted, fields, model)

    def conversations(self, key: str) -> list[dict[str, Any]]:
        """Return the conversations of the clients with a key, newest first."""
        return [row for row in reversed(self._rows.values()) if row["key"] == key]

    def summary(self) -> dict[str, Any]:
        """Return the totals since the gateway started."""
        total = self._metrics.total
        return {
            "requests": total("brim_requests_total"),
            "cut": total("brim_requests_cut_total"),
            "cuts": total("brim_cuts_total"),
            "refused": total("brim_refusals_total"),
            "overflows": total("brim_overflows_total"),
            "retried": total("brim_overflows_total", retried="true"),
            "upstream_errors": total("brim_upstream_errors_total"),
            "faults": total("brim_faults_total", kind="fault"),
            "tokens_saved": total("brim_saved_tokens_total"),
            "conversations": self._seen,
            "windows_learned": total("brim_windows_learned_total"),
        }

    def _sizes(self, fitted: FittedBody) -> dict[str, Any]:
        room = fitted.planned.room if fitted.planned is not None else None
        return {
            "before_tokens": fitted.before,
            "used_tokens": fitted.after,
            "budget_tokens": fitted.budget,
            "window_tokens": room.window if room is not None else None,
            "reason": self.source(fitted),
            "dropped": fitted.edits,
            "cut": fitted.request.cut if fitted.request is not None else 0,
            "summary_of": fitted.request.summary_of if fitted.request is not None else "",
            "method": fitted.method,
        }

    def source(self, fitted: FittedBody) -> str:
        """Return the source of the window; `ceiling` if a rejected size limits the prompt, empty if nothing does."""
        planned, model = fitted.planned, fitted.parsed.model
        if planned is None or planned.room is None:
            return ""
        room, learned = planned.room, self._windows.learned(planned.engine.scope)
        if learned is not None and room.target == learned.ceiling:
            return "ceiling"
        if room.window == planned.engine.limits.size:
            return "setting"
        if learned is not None and room.window == learned.size:
            return "refusal"
        if room.window == self._windows.served(planned.engine.scope):
            return "server"
        return "catalogue" if known(model) is not None else "header"

    def _row(self, fitted: FittedBody) -> None:
        """Record the newest prompt of a conversation."""
        made, parsed = fitted.request, fitted.parsed
        if made is None or not made.conversation:
            return
        before = self._rows.pop(made.conversation, None)
        self._seen += before is None
        self._rows[made.conversation] = {
            "id": made.conversation,
            "key": parsed.admitted.key,
            "model": parsed.label,
            "updated": time.time(),
            "before": fitted.before,
            "used": fitted.after,
            "budget": fitted.budget,
            "window": made.room.window if made.room is not None else None,
            "cuts": made.cut or (before["cuts"] if before is not None else 0),
            "requests": 1 + (before["requests"] if before is not None else 0),
        }
        while len(self._rows) > _MOST_ROWS:
            self._rows.popitem(last=False)

    def _tell(self, name: str, fitted: FittedBody, fields: dict[str, Any]) -> None:
        parsed, made = fitted.parsed, fitted.request
        session = made.conversation if made is not None else ""
        self._emit(name, parsed.admitted, {"route": parsed.route, **fields}, parsed.label, session)

    def _emit(
        self, name: str, admitted: Admitted | None, fields: dict[str, Any], model: str, session: str = ""
    ) -> None:
        who = {"request": admitted.id, "key": admitted.key} if admitted is not None else {}
        told = {**who, **fields}
        event = Event(name=name, at=time.time(), session=session or None, model=model or None, fields=told)
        emit(event, (self._metrics, *self.observers))
