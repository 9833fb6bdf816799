"""What a gateway does to requests, as events: for its metrics, its lines, its summary and the observers of the process.

An event holds numbers and names. The name of a model or of a conversation that contains a key is replaced by its
fingerprint before it comes here.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import Any

from brim.gateway.fit.fitted import FittedBody
from brim.gateway.http.admitted import Admitted
from brim.gateway.http.problem import HttpProblem
from brim.gateway.report.metrics import GatewayMetrics
from brim.observe import Event, Observer, emit
from brim.sessions.learning.models import known
from brim.sessions.learning.windows import Windows
from brim.wire.overflow import Overflow

SOURCES = {
    "setting": "a setting",
    "refusal": "a refusal of upstream",
    "server": "the server's own statement",
    "catalogue": "the catalogue",
    "header": "the header x-brim-budget",
    "ceiling": "a setting or the catalogue, lowered after a refusal without numbers",
}
"""Where the window of a request is known from."""


class Activity:
    """What one gateway did."""

    def __init__(self, metrics: GatewayMetrics, windows: Windows, most: int) -> None:
        self._metrics = metrics
        self._windows = windows
        self._most = most
        self._seen = 0
        self._rows: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self.observers: list[Observer] = []
        """They receive the events of this gateway, beside those that observe the process."""

    def sent(self, fitted: FittedBody, seconds: float) -> None:
        """Note a request that is about to be sent for the first time, so many seconds after it came."""
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
        """Note a request that upstream refused as too long, and the smaller one that is sent in its place."""
        if again is not None:
            self._metrics.shrunk(last, again)
            self._row(again)
        fields = {
            "refused_tokens": last.after,
            "stated_tokens": found.sent,
            "limit_tokens": found.limit,
            "retried": again is not None,
            "used_tokens": again.after if again is not None else None,
        }
        self._tell("overflow", again or last, fields)

    def compacted(self, fitted: FittedBody, *, saves: bool) -> None:
        """Note that the provider compacted a conversation, since it was asked to."""
        trigger = {"trigger": "native", "limit_tokens": fitted.compacts_at, "saves": saves}
        self._tell("compacted", fitted, {"used_tokens": fitted.after, **trigger})

    def learned(self, fitted: FittedBody, window: int, before: int | None, source: str) -> None:
        """Note that a window of a model became known."""
        fields = {"route": fitted.parsed.route, "window_tokens": window, "before_tokens": before, "reason": source}
        self._emit("window_learned", fitted.parsed.admitted, fields, fitted.parsed.label)

    def upstream_error(self, fitted: FittedBody, reason: str, error: str = "") -> None:
        """Note an answer of upstream that is an error, or that broke off; `error` is the type of an event's error."""
        self._tell("upstream_error", fitted, {"reason": reason, "error": error})

    def refused(self, admitted: Admitted | None, route: str, problem: HttpProblem, model: str = "") -> None:
        """Note a request that the gateway refused."""
        fields = {"status": problem.status, "reason": problem.reason, **problem.numbers}
        self._emit("refused", admitted, {"route": route, **fields}, model)

    def fault(
        self, admitted: Admitted | None, route: str, error: Exception, *, kind: str, became: str, model: str = ""
    ) -> None:
        """Note an error of brim, and what became of the request."""
        fields = {"route": route, "reason": kind, "became": became, "error": type(error).__name__}
        self._emit("fault", admitted, fields, model)

    def conversations(self, key: str) -> list[dict[str, Any]]:
        """Return the conversations of the clients with a key, the newest first."""
        return [row for row in reversed(self._rows.values()) if row["key"] == key]

    def summary(self) -> dict[str, Any]:
        """Return the sums since the gateway started."""
        total = self._metrics.metrics.total
        return {
            "requests": total("brim_requests_total"),
            "cut": total("brim_requests_cut_total"),
            "cuts": total("brim_cuts_total"),
            "refused": total("brim_refusals_total"),
            "overflows": total("brim_overflows_total"),
            "retried": total("brim_overflow_retries_total"),
            "upstream_errors": total("brim_upstream_errors_total"),
            "faults": total("brim_faults_total"),
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
        """Return from where the window is known, one of `SOURCES`; empty if it is not known."""
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
        """Note the newest prompt of a conversation."""
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
        while len(self._rows) > self._most:
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
