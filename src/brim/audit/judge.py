"""Replays one conversation: counts each request as it was recorded, and as each policy would have sent it."""

from __future__ import annotations

from dataclasses import dataclass, field

from brim.audit.facts import Facts, facts_of
from brim.audit.lane import Lane, ReplayedPrompt
from brim.audit.policy import Policy
from brim.audit.recorded import Recorded
from brim.audit.tally import AuditTotals, ConversationTotals
from brim.audit.trace import Place, TraceStep
from brim.errors import InvalidValue

RECORDED = "recorded"
"""Under what the numbers stand of requests as they were recorded."""
_BINS, _LAST = 10, 20
"""Bins of a window's share, each a tenth of it with its upper end: what just fits is below the brim.
The last holds all that is more than twice the window."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplayPlan:
    """What to replay under."""

    policies: tuple[Policy, ...]
    model: str | None = None
    """The model to take all requests for; without it, the one that each names."""
    window: int | None = None
    """Tokens that every model holds; without it, what the catalogue says."""


@dataclass(slots=True)
class Bench:
    """What the conversations of one job share: the plan, the sums, and what is known of models."""

    plan: ReplayPlan
    tally: AuditTotals = field(default_factory=AuditTotals)
    _facts: dict[str | None, Facts] = field(default_factory=dict)

    def facts(self, model: str | None) -> Facts:
        """Return what is known of the model of a request."""
        named = self.plan.model or model
        if named not in self._facts:
            if len(self._facts) > 1024:  # Names that somebody made up must not fill the memory.
                self._facts.clear()
            self._facts[named] = facts_of(named, self.plan.window)
        return self._facts[named]


class Judge:
    """One conversation, request by request."""

    def __init__(self, bench: Bench, place: Place) -> None:
        self._bench = bench
        self._place = place
        self._recorded: Recorded | None = None
        self._lanes: list[Lane] = []
        self._requests = self._overflows = self._peak = 0
        self._lost = [0] * len(bench.plan.policies)
        self._label = ""

    def step(self, step: TraceStep, place: Place) -> None:
        """Replay one request."""
        tally, ask = self._bench.tally, step.ask
        if not step.length:
            return
        tally.add(RECORDED, "refused", by=int(ask.overflowed))
        if ask.partial:
            tally.add(RECORDED, "partial")
            return
        facts = self._bench.facts(ask.model)
        last_aside = self._recorded.aside if self._recorded is not None else None
        try:
            added = self._take(step, facts)
        except (InvalidValue, RecursionError) as error:
            tally.add(RECORDED, "unreadable")
            tally.name(place, str(error) or "it is nested too deep")
            self._recorded = None
            return
        recorded = self._recorded
        assert recorded is not None
        over, fault = self._count(recorded, step, facts)
        same = last_aside == recorded.aside
        for i, lane in enumerate(self._lanes):
            sent = lane.fit(recorded, added, ask.answer, same)
            self._compare(lane.policy, recorded, sent, step, over=over, fault=fault)
            self._lost[i] += sum(sent.lost.values()) if sent is not None else 0

    def finish(self) -> None:
        """Take note of the whole conversation."""
        if self._requests:
            self._bench.tally.add(RECORDED, "conversations")
            talk = ConversationTotals(
                -self._overflows, -max(self._lost, default=0), -self._peak, self._place, self._requests, self._label
            )
            self._bench.tally.rank(talk)

    def _take(self, step: TraceStep, facts: Facts) -> list[object]:
        """Take in a request, and return the messages that are new to the lanes."""
        before = self._recorded
        if before is None or not before.follows(facts, step.ask.format, step.kept):
            recorded = Recorded(facts, step.ask.format)
            recorded.take(step, before)
            old = self._lanes
            self._lanes = [Lane(policy, recorded) for policy in self._bench.plan.policies]
            if before is not None:
                for lane, last in zip(self._lanes, old, strict=False):
                    lane.resume(last)
            self._recorded = recorded
            return step.messages[: step.length]
        length = before.length
        before.take(step, None)
        return step.messages[length : step.length]

    def _count(self, recorded: Recorded, step: TraceStep, facts: Facts) -> tuple[bool, bool]:
        """Count a request as it was recorded, and return whether it is over the model's window, and whether illegal."""
        tally, ask, units = self._bench.tally, step.ask, recorded.units
        room = facts.room(ask.answer)
        over = room is not None and units > room
        tally.add(RECORDED, "requests")
        tally.add(RECORDED, "units", by=units)
        tally.add(RECORDED, "models", facts.label)
        tally.peak(RECORDED, "units", at=units)
        if over:
            tally.add(RECORDED, "overflows")
            tally.add(RECORDED, "overflows by model", facts.label)
        if room is None:
            tally.add(RECORDED, "unknown window")
        else:
            tally.add(RECORDED, "sizes", _bin(units, room))
        if not facts.scale.exact:
            tally.add(RECORDED, "estimated")
        faults = recorded.faults()
        tally.add(RECORDED, "illegal", by=bool(faults))
        for fault in faults:
            tally.add(RECORDED, "faults", fault)
        if ask.reported is not None:
            tally.add(RECORDED, "reported requests")
            tally.add(RECORDED, "reported", by=ask.reported)
            tally.add(RECORDED, "reported cached", by=min(ask.cached or 0, ask.reported))
            tally.add(RECORDED, "counted of reported", by=units)
        if not over and not faults:
            self._price(RECORDED, facts, units, _kept(facts, recorded.shared))
        tally.add(RECORDED, "shared", by=_kept(facts, recorded.shared))
        for role, (count, size) in recorded.roles.items():
            tally.add(RECORDED, "messages", role, by=count)
            tally.add(RECORDED, "roles", role, by=size)
        self._requests += 1
        self._overflows += over
        self._peak, self._label = max(self._peak, units), facts.label
        return over, bool(faults)

    def _compare(
        self,
        policy: Policy,
        recorded: Recorded,
        sent: ReplayedPrompt | None,
        step: TraceStep,
        *,
        over: bool,
        fault: bool,
    ) -> None:
        """Count what a policy would have sent; of what no provider takes, nothing is saved."""
        tally, name, facts = self._bench.tally, f"policy {policy.name}", recorded.facts
        if sent is None:
            tally.add(name, "refused")
            tally.add(name, "refused overflows", by=int(over))
            return
        room = facts.room(step.ask.answer)
        kept = _kept(facts, sent.shared)
        tally.add(name, "requests")
        tally.add(name, "units", by=sent.units)
        tally.add(name, "shared", by=kept)
        tally.peak(name, "units", at=sent.units)
        if room is not None:
            tally.add(name, "sizes", _bin(sent.units, room))
            tally.add(name, "avoided", by=int(over and sent.units <= room))
            tally.add(name, "over", by=int(sent.units > room))
        cost = self._price(name, facts, sent.units, kept)
        tally.add(name, "repaired", by=int(fault))
        if over or fault:
            tally.add(name, "rescued", by=sent.units)
            tally.add(name, "rescued cost", by=cost or 0)
        else:
            tally.add(name, "saved", by=recorded.units - sent.units)
            before = facts.cost(recorded.units, _kept(facts, recorded.shared))
            if cost is not None and before is not None:
                tally.add(name, "saved cost", by=before - cost)
        tally.add(name, "changed", by=int(sent.changed))
        tally.add(name, "dropped", by=sent.dropped)
        tally.add(name, "cut", by=sent.cut)
        for role, units in sent.lost.items():
            tally.add(name, "lost", role, by=units)

    def _price(self, name: str, facts: Facts, units: int, kept: int) -> int | None:
        cost = facts.cost(units, kept)
        if cost is not None:
            self._bench.tally.add(name, "cost", by=cost)
            self._bench.tally.add(name, "priced")
        return cost


def _kept(facts: Facts, shared: int) -> int:
    """Return the units that a cache would have: none where the start is too short to be kept."""
    return shared if shared >= facts.minimum else 0


def _bin(units: int, room: int) -> str:
    return f"{min(max(0, units * _BINS - 1) // max(1, room), _LAST):02d}"
