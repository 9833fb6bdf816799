"""The state of a session. A step makes the next state, which replaces it once it is logged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

from brim.errors import InvalidType
from brim.history.compact.plan import Compacted, CompactionPlan, plan
from brim.history.prompt import sent_messages
from brim.history.regret import RemovedResults, answered_calls
from brim.history.result import Fitted
from brim.history.stable import HeldCut, LastFit, Stable
from brim.history.turns import Span
from brim.meter import BaseMeter, meter_for, name_of
from brim.meter.window import Window
from brim.sessions.context import Context, NotedTurns, read_by_model
from brim.sessions.fixed_parts import FixedParts
from brim.sessions.learning.reported_prompt import ReportedPrompt, report
from brim.sessions.recall_tool import NAME as RECALL
from brim.sessions.settings import SessionSettings
from brim.sessions.status import CATEGORIES, Status


@dataclass(slots=True)
class Counts:
    """The counters of a session, as they are logged."""

    prompts: int = 0
    messages: int = 0
    """Number of messages that were added."""
    peak: int = 0
    """The most tokens of any prompt."""
    warnings: int = 0
    compactions: int = 0
    sub_ticks: int = 0
    overflows: int = 0
    above: bool = False
    """Whether the last prompt was at or above the warning line."""
    reported: int | None = None
    """Tokens of the last prompt as the provider counted them."""
    cached: int | None = None
    """Those of them that were read from its cache."""
    measured: Sequence[int] = ()
    """The numbers of the `ReportedPrompt`; empty if there is none."""
    wait: int = 0
    """The history size from which a summary is tried again, after one that saved nothing."""
    cut: int = 0
    """Number of messages when the history was last cut; 1 if the cut is not kept."""
    saved: int = 0
    """Tokens that the kept cut saves."""
    ceiling: int | None = None
    """The most tokens of a prompt, by the provider's count, after it refused one."""
    regret: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """By number of the cut: calls that were repeated because the cut had removed their results, and their tokens."""

    def regrets(self) -> dict[str, Any]:
        """Return the cost of the cuts: repeated calls, their tokens, and both for each cut."""
        cuts = {cut: dict(zip(("calls", "tokens"), each, strict=True)) for cut, each in self.regret.items()}
        return {name: sum(each[name] for each in cuts.values()) for name in ("calls", "tokens")} | {"cuts": cuts}

    def charge(self, cut: int, tokens: int) -> None:
        """Count a repeated call for a cut."""
        calls, before = self.regret.get(str(cut), (0, 0))
        self.regret = {**self.regret, str(cut): [calls + 1, before + tokens]}

    def crosses(self, units: int, line: int) -> bool:
        """Return whether the use now crosses the warning line from below, and record on which side it is."""
        crossed = units >= line and not self.above
        self.above = units >= line
        self.warnings += crossed
        return crossed

    def to_dict(self) -> dict[str, Any]:
        """Return the counters as JSON values, without zeros."""
        return {name: value for name in _NAMES if (value := getattr(self, name))}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Counts:
        """Return the counters from the result of `to_dict`; unknown fields are ignored."""
        return cls(**{name: value for name, value in values.items() if name in _NAMES})


_NAMES = tuple(slot.name for slot in fields(Counts))
_SHOWN = tuple(slot.name for slot in fields(Status) if slot.name in _NAMES and slot.name != "regret")
"""The counters that a status shows as they are."""


class LastPrompt(NamedTuple):
    """The numbers of the last prompt."""

    counted: int
    """Its tokens by brim's meter."""
    units: int
    """Tokens of the whole history at that time."""
    categories: Mapping[str, int]
    exact: bool = True
    """Whether the count is exact, including that of the parts outside the history, such as tools."""


@dataclass(slots=True, kw_only=True)
class SessionState:
    """The state of a session at one moment."""

    settings: SessionSettings
    context: Context
    meter: BaseMeter
    counts: Counts = field(default_factory=Counts)
    compacted: Compacted | None = None
    last: LastPrompt | None = None
    last_fit: LastFit = field(default_factory=LastFit)
    """The result of the last fit, with the kept cut."""
    logged_cut: HeldCut | None = None
    """The cut as logged; only changes are written."""
    noted: NotedTurns = field(default_factory=NotedTurns)
    """The turns that are logged as dropped."""
    removed: RemovedResults | None = None
    """The calls whose results cuts have removed; `None` until it is needed."""

    @classmethod
    def new(
        cls,
        window: Window | int | None,
        model: str | None,
        meter: Any,
        options: Mapping[str, Any],
    ) -> SessionState:
        """Return the first state of a new session.

        Raises:
            InvalidValue: a setting is invalid.
            UnknownName: there is no such model or meter.
        """
        known = name_of(meter)
        own = meter is not None and known is None
        settings = SessionSettings.of(window, model, meter=known, own_meter=own, options=options)
        scale = meter_of(settings, meter)
        context = Context(scale, format=settings.format)
        return cls(settings=settings, context=context, meter=scale, last_fit=LastFit(lines_of(settings)))

    def copy(self) -> SessionState:
        """Return a copy that can be changed independently; both share the context."""
        return replace(self, counts=replace(self.counts))

    @property
    def budget(self) -> int:
        """Tokens that a prompt may take, as the provider counts them: the window's budget, or less after a refusal."""
        ceiling = self.counts.ceiling
        return self.settings.budget if ceiling is None else min(self.settings.budget, ceiling)

    @property
    def exact(self) -> bool:
        """Whether prompts are counted exactly, including the chat format, which not all providers publish."""
        known = not self.context.history.turns.chat.estimated
        agrees = self.reported is None or self.reported.agrees
        return self.meter.exact and known and agrees and (self.last is None or self.last.exact)

    @property
    def reported(self) -> ReportedPrompt | None:
        """The prompt that the provider counted, which bounds the next one; `None` if there is none."""
        return ReportedPrompt.of(self.counts.measured, self.meter)

    def bound(self, tokens: int, shared: int | None = None) -> int:
        """Return the upper bound of a prompt by the provider's count.

        Args:
            tokens: its tokens by the meter.
            shared: those that it shares with the reported prompt, by default as many as the last prompt.
        """
        known = self.reported
        return tokens if known is None else known.bound(tokens, known.shared if shared is None else shared)

    def shared(self, last: int) -> int:
        """Return the tokens that a prompt shares with the reported one, if it shares so many with the last one."""
        known = self.reported
        return 0 if known is None or self.last is None else max(0, known.shared + last - self.last.counted)

    def same(self, parts: FixedParts, replaced: int = 0) -> int:
        """Return the tokens that the next prompt shares with the reported one, if nothing more is cut.

        Args:
            parts: its parts outside the history.
            replaced: tokens of the session's system messages that others replace.
        """
        if self.last is None:
            return 0
        extra, last = parts.extra(self.context)[0], self.last_fit
        gone = (
            0 if last.before is None else sum(last.extra.values()) - last.same_parts(read_by_model(parts.before), extra)
        )
        return self.shared(self.last.counted - gone - replaced)

    def counted(self, tokens: int, shared: int) -> int:
        """Return the largest count of a prompt that is within `tokens` by the provider's count, or 0."""
        known = self.reported
        return tokens if known is None else max(0, known.budget(tokens, shared))

    def reason(self, tokens: int, shared: int) -> str:
        """Return in words why the budget is not `tokens`; empty if it is."""
        known = self.reported
        return "" if known is None else known.reason(tokens, known.budget(tokens, shared))

    def lines(self, low: float, budget: int, correction: str) -> LastFit:
        """Return the last fit, for a cut that leaves a share of the budget.

        Args:
            low: the share.
            budget: the budget by the provider's count.
            correction: why the budget by the meter's count differs.
        """
        last = self.last_fit
        stable = None if last.stable is None else replace(last.stable, low=low, budget=budget)
        return last._replace(stable=stable, correction=correction)

    def follow(self, prompt: LastPrompt, shared: int) -> None:
        """Record a prompt that shares so many tokens with the reported one."""
        if (known := self.reported) is not None:
            self.counts.measured = replace(known, shared=shared).numbers
        self.last = prompt

    def learn(self, counted: int, reported: int, *, refused: bool = False) -> None:
        """Record the reported size of the last prompt; `refused` says whether it was refused."""
        known = report(self.reported, counted, reported, self.meter, refused=refused)
        self.counts.measured = () if known is None else known.numbers

    def plan_summary(self, room: int) -> CompactionPlan | None:
        """Return what a summary should replace within `room` tokens; `None` if it would save nothing."""
        turns, options = self.context.history.turns, self.settings.options
        if room < 1 or not len(turns):
            return None
        chosen: dict[str, Any] = {name: options[name] for name in ("keep_turns", "summary_share", "pin")}
        return plan(turns, meter=turns.meter, room=room, previous=self.compacted, **chosen)

    def show(self, messages: list[Any]) -> None:
        """Continue with other messages; a matching cut is kept."""
        summary = None if self.compacted is None else self.compacted.marked
        self.counts.saved = 0 if messages is not self.context.messages else self.counts.saved
        self.context = self.context.anew(self.meter, messages, summary)
        self.noted, self.last_fit = NotedTurns(), LastFit(self.last_fit.stable)

    def estimate(self, parts: FixedParts) -> int:
        """Return the tokens of the next prompt by the meter, if nothing more is cut."""
        return max(0, self.context.units + parts.units(self.context) - self.counts.saved)

    def used(self) -> int:
        """Return the tokens of the last prompt and of messages added since then, corrected by reported usage."""
        if self.last is None:
            return self.context.units
        return self.bound(max(0, self.last.counted + self.context.units - self.last.units))

    def spent(self, parts: FixedParts, fitted: Fitted, placed: Fitted, used: int) -> dict[str, int]:
        """Return the tokens of a prompt by category; they add up to its corrected size `used`."""
        context = self.context
        beside, _ = parts.extra(context)
        sums = context.categories(fitted.last.sent)
        for name in ("system", "tools", "fields"):
            sums[name] = sums.get(name, 0) + beside.get(name, 0)
        sums["memory"] = placed.used - fitted.used
        return shares(sums, placed.used, used)

    def record_removed_results(self, whole: Sequence[Span], changed: Iterable[Any]) -> None:
        """Record which results the newest cut removed, to notice calls that request one again.

        Args:
            whole: the ranges of positions whose messages the prompt sends as they are.
            changed: its other messages.
        """
        before = self.removed or RemovedResults()
        self.removed = self.context.results.removed(before, whole, changed, self.counts.compactions)

    def record_results_removed_before(self) -> None:
        """Record which results the cut of a reopened session removed."""
        turns, held = self.context.history.turns, self.last_fit.held
        self.removed = RemovedResults()
        if held is not None and held.budget and held.length <= len(turns):
            sent = sent_messages(turns, held.kept, held.edits, held.note, held.length)
            self.record_removed_results(sent.whole, sent.changed)

    def charge(self, first: int) -> list[dict[str, Any]]:
        """Count new calls that repeat one whose result was removed, and return the fields of their events.

        Recalling a dropped text is charged to the newest cut.
        """
        charged: list[dict[str, Any]] = []
        if not self.counts.compactions or self.removed is None:
            return charged
        for call in answered_calls(self.context.history.turns, first):
            cut = self.counts.compactions if call.name == RECALL else self.removed.cuts.get(call.key)
            if cut is not None:
                self.counts.charge(cut, call.units)
                self.removed = self.removed.without(call.key)
                charged.append({"cut": cut, "call": call.name, "regret_tokens": call.units})
        return charged

    def status(self, session: str) -> Status:
        """Return how full its context is."""
        counts, settings, last = self.counts, self.settings, self.last
        if last is None:
            categories = self.context.categories(self.context.all)
        else:
            categories = shares(last.categories, sum(last.categories.values()), self.bound(last.counted))
            if more := self.used() - sum(categories.values()):
                categories["new"] = more
        return Status(
            session=session,
            model=settings.model,
            unit=self.meter.unit,
            exact=self.exact,
            used=self.used(),
            budget=self.budget,
            window=settings.window.size,
            warning=settings.window.warning,
            regret=counts.regrets(),
            categories=categories,
            **{name: getattr(counts, name) for name in _SHOWN},
        )


def lines_of(settings: SessionSettings) -> Stable | None:
    """Return the lines between which a session keeps its cut; `None` if it does not keep cuts."""
    return Stable(high=settings.high, low=settings.low) if settings.options["stable"] else None


def shares(sums: Mapping[str, int], total: int, used: int) -> dict[str, int]:
    """Return tokens by category so that they add up to a corrected size.

    A correction does not say which part was counted wrongly.
    """
    made = dict(sums) if used == total else {name: units * used // max(1, total) for name, units in sums.items()}
    made["framing"] = used - sum(units for name, units in made.items() if name != "framing")
    return {name: made[name] for name in CATEGORIES if made.get(name)}


def meter_of(settings: SessionSettings, meter: Any) -> BaseMeter:
    """Return the meter of a session.

    Raises:
        InvalidType: the session was created with a caller's own meter, and none is passed.
    """
    given = settings.meter if meter is None else meter
    if given is None and settings.own_meter:
        raise InvalidType("meter", meter, "passed again, because this session was created with your own meter")
    return meter_for(given, settings.model if given is None else None)
