"""The comparison of one conversation: each request as it was recorded, and as each policy would have sent it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from brim.audit.conversation import RecordedConversation
from brim.audit.models import ModelFacts, facts_of
from brim.audit.policy import Policy
from brim.audit.policy_run import PolicyRun, ReplayedPrompt
from brim.audit.totals import RECORDED, AuditTotals, ConversationTotals
from brim.audit.trace import Place, TraceStep
from brim.errors import InvalidValue

REPORTED = "reported"
"""The scope of numbers about requests whose size the provider reported."""
BINS = 21
"""Bins of request sizes: twenty tenths of the window, each with its upper end, and one for all larger requests."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplayPlan:
    """The options of an audit."""

    policies: tuple[Policy, ...]
    model: str | None = None
    """The model of all requests; without it, each request's own."""
    window: int | None = None
    """The tokens of every model's window; without it, the catalogue's."""


class ReplayContext:
    """The state that the conversations of one job share."""

    def __init__(self, plan: ReplayPlan) -> None:
        self.plan = plan
        self.totals = AuditTotals()
        self._facts = lru_cache(maxsize=1024)(facts_of)

    def facts(self, model: str | None) -> ModelFacts:
        """Return the facts about the model of a request."""
        return self._facts(self.plan.model or model, self.plan.window)


class Comparison:
    """Compares one conversation, request by request."""

    def __init__(self, context: ReplayContext, place: Place) -> None:
        self._context = context
        self._place = place
        self._recorded: RecordedConversation | None = None
        self._runs: list[PolicyRun] = []
        self._requests = self._overflows = self._longest = 0
        self._label = ""

    def step(self, step: TraceStep, place: Place) -> None:
        """Replay one request."""
        totals, request = self._context.totals, step.request
        if not step.length:
            return
        totals.count(RECORDED, refused_by_provider=request.overflowed, partial=request.partial)
        if request.partial:
            return
        facts = self._context.facts(request.model)
        attached = self._recorded.attached if self._recorded is not None else None
        try:
            recorded, added = self._take(step, facts)
        except (InvalidValue, RecursionError) as error:
            totals.name(place, str(error) or "it is nested too deeply")
            self._recorded = None
            return
        over, illegal = self._count(recorded, step)
        for run in self._runs:
            sent = run.fit(recorded, added, request.answer, same=attached == recorded.attached)
            self._compare(f"policy {run.policy.name}", recorded, sent, request.answer, over=over, illegal=illegal)

    def finish(self) -> None:
        """Add the whole conversation to the totals."""
        if self._requests:
            self._context.totals.add(RECORDED, "conversations")
            lost = max((run.lost for run in self._runs), default=0)
            order = (-self._overflows, -lost, -self._longest, self._place)
            self._context.totals.rank(ConversationTotals(*order, self._requests, self._label))

    def _take(self, step: TraceStep, facts: ModelFacts) -> tuple[RecordedConversation, list[object]]:
        """Add a request, and return the conversation and the messages that are new to the policies.

        Raises:
            InvalidValue: a message or a tool is invalid.
        """
        before = self._recorded
        if before is not None and before.follows(facts, step.request.format, step.kept):
            length = before.length
            before.take(step, None)
            return before, step.messages[length : step.length]
        recorded = RecordedConversation(facts, step.request.format)
        recorded.take(step, before)
        policies = self._context.plan.policies
        last = self._runs if self._runs else [None] * len(policies)
        self._runs = [PolicyRun(each, recorded, run) for each, run in zip(policies, last, strict=True)]
        self._recorded = recorded
        return recorded, step.messages[: step.length]

    def _count(self, recorded: RecordedConversation, step: TraceStep) -> tuple[bool, bool]:
        """Count a request as it was recorded. Return whether it is over the model's window, and whether illegal."""
        totals, facts, units = self._context.totals, recorded.facts, recorded.units
        room = facts.room(step.request.answer)
        over = room is not None and units > room
        faults = recorded.faults()
        cached = facts.cached(recorded.shared)
        totals.count(
            RECORDED,
            requests=1,
            units=units,
            overflows=over,
            unknown_window=room is None,
            estimated=not facts.scale.exact,
            illegal=bool(faults),
            cache_units=cached,
        )
        totals.peak(RECORDED, units)
        totals.add(RECORDED, "models", facts.label)
        if over:
            totals.add(RECORDED, "overflows_by_model", facts.label)
        if room is not None:
            totals.add(RECORDED, "sizes", _bin(units, room))
        for fault in faults:
            totals.add(RECORDED, "faults", fault)
        if step.request.usage is not None:
            reported, read = step.request.usage
            totals.count(REPORTED, requests=1, units=reported, cached=min(read, reported), counted=units)
        if not over and not faults:
            self._price(RECORDED, facts, units, cached)
        for role, (count, size) in recorded.roles.items():
            totals.add(RECORDED, "messages_by_role", role, by=count)
            totals.add(RECORDED, "units_by_role", role, by=size)
        self._requests += 1
        self._overflows += over
        self._longest, self._label = max(self._longest, units), facts.label
        return over, bool(faults)

    def _compare(
        self,
        scope: str,
        recorded: RecordedConversation,
        sent: ReplayedPrompt | None,
        answer: int,
        *,
        over: bool,
        illegal: bool,
    ) -> None:
        """Count the prompt of a policy. A request that the provider would have refused saves nothing."""
        totals, facts = self._context.totals, recorded.facts
        if sent is None:
            totals.count(scope, does_not_fit=1, still_over=over)
            return
        room = facts.room(answer)
        cached = facts.cached(sent.shared)
        totals.count(
            scope,
            requests=1,
            units=sent.units,
            cache_units=cached,
            repaired=illegal,
            changed=sent.changed,
            messages_dropped=sent.dropped,
            messages_cut=sent.cut,
        )
        totals.peak(scope, sent.units)
        if room is not None:
            totals.add(scope, "sizes", _bin(sent.units, room))
            totals.count(scope, overflows_avoided=over and sent.units <= room, still_over=sent.units > room)
        cost = self._price(scope, facts, sent.units, cached)
        if over or illegal:
            totals.count(scope, units_of_refused=sent.units, cost_of_refused=cost or 0)
        else:
            before = facts.cost(recorded.units, facts.cached(recorded.shared))
            saved = before - cost if before is not None and cost is not None else 0
            totals.count(scope, units_saved=recorded.units - sent.units, cost_saved=saved)
        for role, units in sent.lost.items():
            totals.add(scope, "units_lost_by_role", role, by=units)

    def _price(self, scope: str, facts: ModelFacts, units: int, cached: int) -> int | None:
        cost = facts.cost(units, cached)
        if cost is not None:
            self._context.totals.count(scope, cost=cost, priced_requests=1)
        return cost


def _bin(units: int, room: int) -> str:
    return f"{min(max(0, units * 10 - 1) // max(1, room), BINS - 1):02d}"
