"""The comparison of one conversation: each request as it was recorded, and as each policy would have sent it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from brim.audit.conversation import RecordedConversation
from brim.audit.models import ModelFacts, facts_of
from brim.audit.policy import Policy
from brim.audit.totals import RECORDED, AuditTotals
from brim.audit.trace import Place, RecordedRequest, TraceStep
from brim.errors import DoesNotFit, InvalidValue
from brim.history.history import History

REPORTED = "reported"
"""The scope of numbers about requests whose size the provider reported."""
_UNBOUND = 10**12
"""A budget larger than any request."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplayPlan:
    """The options of an audit."""

    policies: tuple[Policy, ...]
    model: str | None = None
    """The model of all requests; without it, each request's own."""
    window: int | None = None
    """The tokens of every model's window; without it, the catalogue's."""


class Comparison:
    """Compares one conversation, request by request."""

    def __init__(self, plan: ReplayPlan, totals: AuditTotals) -> None:
        self._plan, self._totals = plan, totals
        self._recorded: RecordedConversation | None = None
        self._attached: Any = None
        """The tools, the system prompt and the other fields of the previous request."""
        self._last: Sequence[Any] = ()
        """The messages of the previous request."""
        self._runs: list[PolicyRun] = []
        self._requests = 0

    def step(self, step: TraceStep, place: Place) -> None:
        """Replay one request."""
        totals, request = self._totals, step.request
        if not step.length:
            return
        totals.count(RECORDED, refused_by_provider=request.overflowed, partial=request.partial)
        if request.partial:
            return
        try:
            recorded = self._recorded = self._take(step)
        except (InvalidValue, RecursionError) as error:
            totals.name(place, _problem(error))
            self._recorded = None
            return
        continued, self._attached = self._attached == recorded.attached, recorded.attached
        messages = step.messages[: step.length]
        shared = recorded.shared(self._last, messages) if continued else 0
        self._last = messages
        self._count(recorded, request, shared)
        for run in self._runs:
            scope, sent = f"policy {run.policy.name}", run.fit(recorded, continued=continued)
            if sent is None:
                totals.count(scope, does_not_fit=1, still_over=recorded.over)
            else:
                self._compare(scope, recorded, sent, shared)

    def finish(self) -> None:
        """Add the conversation to the totals."""
        if self._requests:
            self._totals.add(RECORDED, "conversations")

    def _take(self, step: TraceStep) -> RecordedConversation:
        """Return the conversation with a request added, or a new one if the request changes earlier messages."""
        facts, recorded = facts_of(self._plan.model or step.request.model, self._plan.window), self._recorded
        if recorded is None or not recorded.follows(facts, step.request.format, step.kept):
            recorded = RecordedConversation(facts, step.request.format)
            policies = zip_longest(self._plan.policies, self._runs)
            self._runs = [PolicyRun(policy, recorded, run) for policy, run in policies]
        recorded.take(step)
        return recorded

    def _count(self, recorded: RecordedConversation, request: RecordedRequest, shared: int) -> None:
        """Add a recorded request to the totals."""
        totals, facts, units = self._totals, recorded.facts, recorded.units
        over, faults, label = recorded.over, recorded.faults, facts.model.id
        cached = self._size(RECORDED, recorded, units, shared)
        totals.count(RECORDED, overflows=over, unknown_window=recorded.room is None, illegal=bool(faults))
        totals.count(RECORDED, estimated=not facts.scale.exact)
        totals.add(RECORDED, "models", label)
        for fault in faults:
            totals.add(RECORDED, "faults", fault)
        if request.usage is not None:
            reported, read = request.usage
            totals.count(REPORTED, requests=1, units=reported, cached=min(read, reported), counted=units)
        if not over and not faults:
            self._price(RECORDED, facts, units, cached)
        self._requests += 1

    def _compare(self, scope: str, recorded: RecordedConversation, sent: ReplayedPrompt, shared: int) -> None:
        """Add the prompt of a policy to the totals. If the provider rejected the recorded request, nothing is saved."""
        totals, facts, room = self._totals, recorded.facts, recorded.room
        over, illegal = recorded.over, bool(recorded.faults)
        cached = self._size(scope, recorded, sent.units, sent.shared)
        totals.count(scope, repaired=illegal, changed=sent.changed)
        totals.count(scope, messages_dropped=sent.dropped, messages_cut=sent.cut)
        if room is not None:
            totals.count(scope, overflows_avoided=over and sent.units <= room, still_over=sent.units > room)
        cost = self._price(scope, facts, sent.units, cached)
        if over or illegal:
            totals.count(scope, units_of_refused=sent.units, cost_of_refused=cost or 0)
        else:
            before = facts.cost(recorded.units, facts.cached(shared), written=True)
            saved = before - cost if before is not None and cost is not None else 0
            totals.count(scope, units_saved=recorded.units - sent.units, cost_saved=saved)

    def _size(self, scope: str, recorded: RecordedConversation, units: int, shared: int) -> int:
        """Add the size of a prompt to the totals, and return how many of its tokens are cached."""
        totals, cached = self._totals, recorded.facts.cached(shared)
        totals.count(scope, requests=1, units=units, cache_units=cached)
        totals.peak(scope, units)
        return cached

    def _price(self, scope: str, facts: ModelFacts, units: int, cached: int) -> int | None:
        cost = facts.cost(units, cached, written=True)
        if cost is not None:
            self._totals.count(scope, cost=cost, priced_requests=1)
        return cost


def _problem(error: InvalidValue | RecursionError) -> str:
    """Return what is wrong with a request, without the invalid value: a report has no text of the recording."""
    return f"{error.place} must be {error.expected}" if isinstance(error, InvalidValue) else "it is nested too deeply"


@dataclass(frozen=True, slots=True)
class ReplayedPrompt:
    """One request, as a policy would send it."""

    units: int
    """Tokens of the model."""
    shared: int
    """Length of the prefix that it shares with the previous prompt, in tokens."""
    changed: bool = False
    dropped: int = 0
    """Messages that are not sent."""
    cut: int = 0
    """Messages that are sent in a shorter form."""


class PolicyRun:
    """One conversation under one policy."""

    def __init__(self, policy: Policy, recorded: RecordedConversation, last: PolicyRun | None) -> None:
        self.policy = policy
        self._own: History | None = None
        """A separate history, if the policy keeps a cut."""
        if policy.stable:
            self._own = History(meter=recorded.facts.scale, format=recorded.format, stable=True)
        self._last: Sequence[Any] = () if last is None else last._last
        """The messages of the previous prompt, also if the client changed earlier messages since."""

    def fit(self, recorded: RecordedConversation, *, continued: bool) -> ReplayedPrompt | None:
        """Return the prompt of the last request, or `None` if the messages that must stay do not fit.

        Args:
            recorded: the conversation up to that request.
            continued: whether the request has the tools, the system prompt and the fields of the previous one.
        """
        source = recorded.history.turns.source
        if self._own is not None:
            self._own.extend(source[len(self._own.turns.source) :])
        last, self._last = self._last, ()
        try:
            messages, units = self._fitted(recorded)
        except DoesNotFit:
            return None
        self._last = messages
        shared = recorded.shared(last, messages) if continued else 0
        if len(messages) == recorded.length and messages == source:
            return ReplayedPrompt(recorded.units, shared)
        return ReplayedPrompt(units, shared, True, *recorded.lost(messages))

    def _fitted(self, recorded: RecordedConversation) -> tuple[list[Any], int]:
        """Return the messages that fit, and their tokens."""
        policy, (tools, system, fields) = self.policy, recorded.attached
        limits = (policy.budget, recorded.facts.room(recorded.answer, policy), _UNBOUND)
        budget = min(each for each in limits if each is not None)
        history = self._own if self._own is not None else recorded.history
        fitted = history.fit(budget, tools=tools, system=system, fields=fields, **policy.options)
        return fitted.messages, fitted.used
