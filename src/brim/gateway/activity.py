"""What a gateway does to requests, as events: for its metrics, its lines, its summary and the observers of the process.

An event holds numbers and names. The name of a model or of a conversation that contains a key is replaced by its
fingerprint before it comes here.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import Any

from brim.gateway.guard import IncomingRequest
from brim.gateway.metrics import GatewayMetrics
from brim.gateway.outcome import FitOutcome, GatewayPlan
from brim.gateway.problem import HttpProblem
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

    def sent(
        self, incoming: IncomingRequest, route: str, outcome: FitOutcome, plan: GatewayPlan | None, seconds: float
    ) -> None:
        """Note a request that is about to be sent for the first time."""
        self._metrics.overhead.see(seconds, route=route)
        if outcome.before is None or outcome.after is None:
            return
        self._metrics.sized(route, incoming.model, outcome)
        self._row(incoming, outcome)
        truncated = bool(outcome.edits)
        short = {"used_tokens": outcome.after, "budget_tokens": outcome.budget or 0, "truncated": truncated}
        self._emit("prompt_assembled", incoming, route, outcome, short)
        if outcome.request is not None and outcome.request.cut:
            self._emit("cut", incoming, route, outcome, self._sizes(outcome, plan))
        elif outcome.over:
            self._emit("over", incoming, route, outcome, self._sizes(outcome, plan))

    def overflow(
        self,
        incoming: IncomingRequest,
        route: str,
        found: Overflow,
        last: FitOutcome,
        again: FitOutcome | None,
    ) -> None:
        """Note a request that upstream refused as too long, and the smaller one that is sent in its place."""
        if again is not None:
            self._metrics.shrunk(route, incoming.model, last, again)
            self._row(incoming, again)
        fields = {
            "refused_tokens": last.after,
            "stated_tokens": found.sent,
            "limit_tokens": found.limit,
            "retried": again is not None,
            "used_tokens": again.after if again is not None else None,
        }
        self._emit("overflow", incoming, route, again or last, fields)

    def learned(self, incoming: IncomingRequest, route: str, window: int, before: int | None, source: str) -> None:
        """Note that a window of a model became known."""
        fields = {"window_tokens": window, "before_tokens": before, "reason": source}
        self._emit("window_learned", incoming, route, None, fields)

    def refused(self, incoming: IncomingRequest | None, route: str, problem: HttpProblem) -> None:
        """Note a request that the gateway refused."""
        fields = {"status": problem.status, "reason": problem.reason, **problem.numbers}
        self._emit("refused", incoming, route, None, fields)

    def fault(self, incoming: IncomingRequest | None, route: str, kind: str, became: str, error: Exception) -> None:
        """Note an error of brim, and what was done with the request."""
        self._emit("fault", incoming, route, None, {"reason": kind, "became": became, "error": type(error).__name__})

    def to_dict(self) -> dict[str, Any]:
        """Return the sums, and the newest conversations."""
        return {"summary": self.summary(), "conversations": list(self._rows.values())}

    def summary(self) -> dict[str, Any]:
        """Return the sums since the gateway started."""
        metrics = self._metrics
        return {
            "requests": int(metrics.requests.total()),
            "cut": int(metrics.cut.total()),
            "cuts": int(metrics.cuts.total()),
            "refused": int(metrics.refusals.total()),
            "overflows": int(metrics.metrics.overflows.total()),
            "retried": int(metrics.retries.total()),
            "faults": int(metrics.faults.total()),
            "tokens_saved": int(metrics.saved.total()),
            "conversations": self._seen,
            "windows_learned": int(metrics.learned.total()),
        }

    def _sizes(self, outcome: FitOutcome, plan: GatewayPlan | None) -> dict[str, Any]:
        room = plan.engine.room if plan is not None else None
        return {
            "before_tokens": outcome.before,
            "used_tokens": outcome.after,
            "budget_tokens": outcome.budget,
            "window_tokens": room.window if room is not None else None,
            "reason": self.source(plan, outcome) if plan is not None else "",
            "dropped": outcome.edits,
            "cut": outcome.request.cut if outcome.request is not None else 0,
            "method": outcome.method,
        }

    def source(self, plan: GatewayPlan, outcome: FitOutcome) -> str:
        """Return from where the window is known, one of `SOURCES`; empty if it is not known."""
        room, model = plan.engine.room, outcome.request.input.model if outcome.request is not None else ""
        if room is None:
            return ""
        learned = self._windows.learned(plan.engine.scope)
        if learned is not None and room.target == learned.ceiling:
            return "ceiling"
        if room.window == plan.engine.limits.size:
            return "setting"
        if learned is not None and room.window == learned.size:
            return "refusal"
        if room.window == self._windows.served(plan.engine.scope.server, model):
            return "server"
        return "catalogue" if known(model) is not None else "header"

    def _row(self, incoming: IncomingRequest, outcome: FitOutcome) -> None:
        """Note the newest prompt of a conversation."""
        made = outcome.request
        if made is None or not made.conversation:
            return
        before = self._rows.pop(made.conversation, None)
        self._seen += before is None
        self._rows[made.conversation] = {
            "id": made.conversation,
            "key": incoming.key,
            "model": incoming.model,
            "updated": time.time(),
            "before": outcome.before,
            "used": outcome.after,
            "budget": outcome.budget,
            "window": made.room.window if made.room is not None else None,
            "cuts": made.cut or (before["cuts"] if before is not None else 0),
            "requests": 1 + (before["requests"] if before is not None else 0),
        }
        while len(self._rows) > self._most:
            self._rows.popitem(last=False)

    def _emit(
        self,
        name: str,
        incoming: IncomingRequest | None,
        route: str,
        outcome: FitOutcome | None,
        fields: dict[str, Any],
    ) -> None:
        made = outcome.request if outcome is not None else None
        who = {"request": incoming.id, "key": incoming.key} if incoming is not None else {}
        event = Event(
            name=name,
            at=time.time(),
            session=(made.conversation or None) if made is not None else None,
            model=(incoming.model or None) if incoming is not None else None,
            fields={**who, "route": route, **fields},
        )
        emit(event, (self._metrics, *self.observers))
