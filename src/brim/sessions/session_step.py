"""One step of a session: adding messages, building a prompt, a compaction, a usage report, a refusal.

A step works on a copy of the state, and collects log entries and events; the session changes only after the entries are
written. Messages are added to the shared context, so `Session` removes them if the step fails.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from brim.errors import InvalidValue, NoProgress
from brim.history.compact.lines import said_in
from brim.history.compact.plan import Compacted
from brim.history.prompt import SentMessages
from brim.history.regret import RemovedResults
from brim.history.result import Fitted
from brim.history.turns import Span
from brim.meter.base import BaseMeter
from brim.receipts.receipt import handle
from brim.sessions import compaction
from brim.sessions.context import DroppedTurn, read_by_model
from brim.sessions.fixed_parts import FixedParts
from brim.sessions.learning.usage import ReportedUsage
from brim.sessions.learning.windows import LEAST_WINDOW
from brim.sessions.log import cut_record
from brim.sessions.log.cut_record import folded, storable
from brim.sessions.log.dropped_texts import FORGOTTEN, Line
from brim.sessions.settings import SessionSettings
from brim.sessions.state import LastPrompt, SessionState
from brim.store.texts import DROPPED, SHOWN, entry_handle
from brim.truncate import shortened
from brim.wire import Wire, format_of, plain, wire
from brim.wire.base import changed
from brim.wire.message import Message, Path
from brim.wire.overflow import Overflow

NOTE = "\n[cut from {size:,} {unit}; the whole is {handle}]"
"""The end of a shortened result; the handle recalls the whole text."""


def bounded(raw: Any, index: int, wire: Wire, limit: int, meter: BaseMeter) -> Any:
    """Return a message in which each text of a result has at most `limit` tokens; the same object if nothing changed.

    Raises:
        InvalidValue: the message is invalid.
    """
    message: Message = wire.read(raw, index)
    edits: dict[Path, Any] = {}
    for piece in message.pieces if message.results else ():
        if piece.kind == "output" and (size := meter.count(piece.text)) > limit and message.answers(piece):
            note = NOTE.format(size=size, unit=meter.unit, handle=handle(piece.text))
            edits[piece.at] = wire.value(piece, shortened(piece.text, limit, meter, "shape", note))
    return changed(raw, edits) if edits else raw


def _check_shape(given: Sequence[Any], had: int, format: str | None) -> None:
    """Refuse messages of Gemini among those of other formats, and the reverse, which no provider accepts.

    Raises:
        InvalidValue: a message has another format than the session.
    """
    for i, raw in enumerate(given if format is not None else (), had):
        values = plain(raw)
        keys = {"content", "parts"} & set(values) if isinstance(values, Mapping) else set()
        if keys == ({"content"} if format == "gemini" else {"parts"}):
            raise InvalidValue(f"messages[{i}]", raw, f"a message in the format of the session, {format!r}")


ANOTHER_MODEL = "another model"
"""The trigger of a compaction that counts the history for another model."""
PROMPT: Mapping[str, Any] = {
    "unit": "tokens",
    "exact": True,
    "truncated": False,
    "cut": None,
    "held": None,
    "correction": 0,
}
"""The usual values in a prompt's entry, which are not written."""
_GROWTH = 20
"""The history must grow by a twentieth of its room before a summary is tried again."""


class PromptLimit(NamedTuple):
    """How many tokens a prompt may take."""

    budget: int
    """Tokens as the provider counts them."""
    start: int = 0
    """Tokens by which its system messages are longer than those of the session."""
    replaced: int = 0
    """Tokens of the session's system messages that others replace."""
    looseness: float = 1.0
    """The upper bound divided by the estimate, for a prompt that fits only by the estimate."""

    def counted(self, state: SessionState, shared: int) -> int:
        """Return the budget by the meter, of the session's own messages and the other parts.

        Args:
            state: the state of the session.
            shared: tokens of the prompt that are in the reported one.
        """
        return max(0, int(state.counted(self.budget, shared) * self.looseness) - self.start)

    def reason(self, state: SessionState, shared: int) -> str:
        """Return in words why the budget by the meter differs; empty if it does not."""
        if self.looseness == 1:
            return state.reason(self.budget, shared)
        counted = int(self.budget * self.looseness)
        return (
            f"a budget of {self.budget:,} is {counted:,} by brim's count: what must stay fits by the estimate, but not"
            f" by the upper bound, which is {self.looseness:.2f} times that"
        )


@dataclass(slots=True, kw_only=True)
class SessionStep:
    """One step, on a copy of the state."""

    state: SessionState
    number: int | None
    """The number of its first entry; `None` if messages are not logged."""
    summarise: Any = None
    lines: list[Line] = field(default_factory=list)
    """Entries for the log."""
    dropped: list[Line] = field(default_factory=list)
    """Entries that follow them: what was dropped."""
    events: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    """Events that are emitted once the entries are written."""
    meta: Mapping[str, Any] | None = None
    """What the store's list of sessions shows instead of the status."""

    def count_by(self, meter: BaseMeter) -> None:
        """Count with another meter; what was reported for a count of the old one no longer applies."""
        state = self.state
        if meter is not state.meter:
            state.meter, state.counts.measured = meter, ()
            state.show(state.context.messages)
            state.last = None if state.last is None else state.last._replace(units=state.context.units)
            self.lines.append(("note", {"units": state.context.units}))

    def add(self, given: Sequence[Any]) -> None:
        """Add messages at the end, before other entries of the step.

        Tool results over the limit are shortened by their kind.
        """
        state, context = self.state, self.state.context
        had = len(context.messages)
        _check_shape(
            given, had, state.settings.format or (context.history.turns.wire.name if had else format_of(given))
        )
        format = wire(state.settings.format or format_of(given) or context.history.turns.wire.name)
        cap, meter = state.settings.longest_result, state.meter
        sent = list(given)
        if cap is not None:
            sent = [bounded(raw, had + i, format, cap, meter) for i, raw in enumerate(given)]
        if state.removed is None:
            state.record_results_removed_before()
        first = len(context.history.turns)
        context.extend(sent)
        self.events += [("regret", charged) for charged in state.charge(first)]
        state.counts.messages += len(given)
        if self.number is None:
            return
        lines: list[Line] = []
        for raw, shown in zip(given, sent, strict=True):
            body = {"message": storable(raw)}
            lines.append(("message", body if shown is raw else {**body, "sent": storable(shown)}))
        if whole := [entry_handle(*line)[:SHOWN] for line in lines if "sent" in line[1]]:
            lines.append((DROPPED, {"results": whole}))
        self.lines = [*lines, *self.lines]
        context.numbers |= {had + i: self.number + i for i in range(len(given))}

    def prompt(
        self, parts: FixedParts, limit: PromptLimit, *, pin: Sequence[int | str] = (), capture: bool = False
    ) -> Fitted:
        """Return the prompt within its limit; its numbers are those of the meter, without the correction.

        Args:
            parts: the parts outside the history.
            limit: how many tokens it may take.
            pin: the indexes of messages that stay, and texts in messages that stay.
            capture: whether the receipt's JSON contains the messages.

        Raises:
            DoesNotFit: what has to stay is larger than the budget.
        """
        state = self.state
        limit = limit._replace(budget=min(limit.budget, state.counts.ceiling or limit.budget))
        estimate, same = state.estimate(parts), state.same(parts, limit.replaced)
        self.warn(state.bound(estimate + limit.start, same))
        budget = limit.counted(state, same)
        line = state.settings.line(budget)
        if self.summarise is not None and line is not None and estimate >= line:
            self._summarise(parts, budget)
        state.last_fit = state.last_fit._replace(regret=state.counts.regrets() if state.counts.regret else None)
        context, most = state.context, limit.budget
        parts, fitted, placed = self._within(parts, limit, [*pin, *state.settings.options["pin"]], capture=capture)
        shared = state.shared(fitted.shared - limit.replaced)
        state.last_fit = fitted.last
        whole = context.units + parts.units(context)
        left = fitted.used + parts.room(context) < whole
        if left and self.number is not None:
            self._drop(fitted.last.sent.whole)
        cut = self._report_cut(placed, parts, placed.budget, left=left)
        if cut is not None:
            state.record_removed_results(fitted.last.sent.whole, fitted.last.sent.changed)
        self._record_saved(whole - placed.used, fitted, moved=cut is not None)
        last = LastPrompt(placed.used + limit.start, context.units, {}, parts.extra(context)[1])
        state.follow(last, shared)
        used = int(state.bound(last.counted) / limit.looseness)
        state.counts.above = state.counts.above and (cut is None or used >= state.settings.window.warning)
        categories = state.spent(parts, fitted, placed, used)
        state.counts.prompts += 1
        state.counts.peak = max(state.counts.peak, used)
        state.last = last._replace(categories=categories)
        self._report_prompt(
            placed, most if used != placed.used else placed.budget, used, left=left, cut=cut, capture=capture
        )
        return placed

    def _within(
        self, parts: FixedParts, limit: PromptLimit, pins: Sequence[int | str], *, capture: bool
    ) -> tuple[FixedParts, Fitted, Fitted]:
        """Return the parts, the fitted history and the prompt whose bound is within the limit.

        Its budget is that of a prompt that keeps what it can of the reported one. A new cut may keep less of that, or
        other text: then what the report allows is not used.
        """
        state, low = self.state, self.state.settings.low
        same = state.same(parts, limit.replaced)
        made = self._fit(parts, limit, same, low, pins, capture=capture)
        shared = state.shared(made[1].shared - limit.replaced)
        if state.bound(made[2].used + limit.start, shared) <= limit.budget * limit.looseness:
            return made
        low = low * limit.counted(state, same) / max(1, limit.counted(state, 0))
        return self._fit(parts, limit, 0, min(state.settings.high, low), pins, capture=capture)

    def _fit(
        self,
        parts: FixedParts,
        limit: PromptLimit,
        shared: int,
        low: float,
        pins: Sequence[int | str],
        *,
        capture: bool,
    ) -> tuple[FixedParts, Fitted, Fitted]:
        """Return the parts, the fitted history and the prompt that shares so many tokens with the reported one."""
        state, context, budget = self.state, self.state.context, limit.counted(self.state, shared)
        parts = _with_room(parts, state, budget)
        fitted = context.fit(
            max(0, budget - parts.room(context)),
            state.lines(low, limit.budget, limit.reason(state, shared)),
            before=parts.before,
            counted=parts.extra(context),
            capture=capture,
            pin=pins,
        )
        return parts, fitted, parts.placed(fitted, context, budget)

    def send_whole(self, parts: FixedParts, counted: int, same: int) -> None:
        """Record that the whole history is sent unchanged; its count is `counted`, of which the last prompt had some.

        Args:
            parts: its parts outside the history.
            counted: its tokens by the meter.
            same: those that it shares with the reported prompt.
        """
        state, (extra, exact) = self.state, parts.extra(self.state.context)
        state.follow(LastPrompt(counted, state.context.units, {}, exact), same)
        state.last_fit = state.last_fit._replace(
            before=read_by_model(parts.before), sent=SentMessages([], []), extra=extra
        )

    def warn(self, estimate: int) -> None:
        """Warn if the use crosses the warning line from below."""
        window = self.state.settings.window
        if self.state.counts.crosses(estimate, window.warning):
            fields = {"used_tokens": estimate, "warning_tokens": window.warning, "window_tokens": window.size}
            self.lines.append(("warning", fields))
            self.events.append(("warning", fields))

    def _summarise(self, parts: FixedParts, budget: int) -> None:
        """Replace older turns by a summary; if that saves nothing, try again when the history has grown."""
        state = self.state
        if state.context.units < state.counts.wait:
            return
        room = budget - parts.units(state.context)
        made = state.plan_summary(room)
        compacted = None
        if made is not None:
            try:
                compacted = compaction.shrunk(made, self.summarise)
            except NoProgress:
                compacted = None
        if compacted is None:
            state.counts.wait = state.context.units + max(1, room // _GROWTH)
            return
        self.compact(compacted, "line")
        state.counts.above = state.estimate(parts) >= state.settings.window.warning

    def compact(self, compacted: Compacted, trigger: str) -> None:
        """Continue with the result of a compaction."""
        state = self.state
        whole = state.context.whole(compacted.messages)
        self._drop(whole)
        said = {one.handle for one in map(said_in, state.context.history.turns.messages) if one is not None}
        index = [text for name, text in compacted.texts.items() if name not in said]
        self.dropped += [("text", {"text": text}) for text in index]
        state.compacted, state.last = compacted, None
        state.counts.compactions += 1
        state.record_removed_results(whole, compacted.messages)
        state.show(compacted.messages)
        state.counts.wait = 0
        self.lines.append(("compaction", compaction_entry(state, trigger)))
        self._report_compaction(trigger, compacted.before, compacted.after, compacted.replaced, compacted.reason)

    def _report_compaction(self, trigger: str, before: int, after: int, replaced: int, reason: str) -> None:
        """Report a compaction."""
        fields = {"trigger": trigger, "before_tokens": before, "after_tokens": after, "freed": before - after}
        self.events.append(
            ("compacted", {**fields, "replaced": replaced, "reason": reason, "notice": compaction.NOTICE})
        )

    def restart(
        self, messages: Sequence[Any], trigger: str, event: dict[str, Any] | None = None, *, forget: bool = False
    ) -> None:
        """Continue with other messages, and drop the old ones, or forget them and all that was dropped."""
        state = self.state
        if forget:
            self.dropped.append((DROPPED, {FORGOTTEN: True}))
        elif self.number is not None:
            self._drop([])
        state.compacted, state.last, state.counts.wait, state.counts.above = None, None, 0, False
        state.removed = RemovedResults()
        state.show(list(messages))
        if trigger == "sub_tick":
            state.counts.sub_ticks += 1
            self.events.append(("sub_tick", {"after_tokens": state.context.units, **(event or {})}))
        if self.number is not None:
            self.lines.append(("compaction", compaction_entry(state, trigger)))

    def learn(self, usage: ReportedUsage) -> None:
        """Correct the following counts by reported usage."""
        state, counts = self.state, self.state.counts
        if usage.prompt is not None:
            counts.reported, counts.cached = usage.prompt, usage.cached
            if state.last is not None:
                state.learn(state.last.counted, usage.prompt)
                counts.peak = max(counts.peak, state.bound(state.last.counted))
            if usage.prompt >= state.settings.window.warning:
                self.warn(usage.prompt)
        body: dict[str, Any] = {name: value for name, value in usage.to_dict().items() if value is not None}
        if usage.passes == 1:
            del body["passes"]
        self.lines.append(("usage", body))

    def refuse(self, overflow: Overflow, *, retried: bool) -> None:
        """Record a refusal: later prompts are smaller than the refused one."""
        state = self.state
        last = state.bound(state.last.counted) if state.last is not None else state.budget
        if last >= LEAST_WINDOW:
            state.counts.ceiling = max(1, int(last * overflow.retry_share))
        state.counts.overflows += 1
        fields = {
            "limit_tokens": overflow.limit,
            "sent_tokens": overflow.sent,
            "used_tokens": last,
            "budget_tokens": state.budget,
            "retried": retried,
        }
        self.lines.append(("event", {"event": "overflow", **fields}))
        self.events.append(("overflow", fields))

    def change_settings(self, before: SessionSettings) -> None:
        """Log settings that replace others; for another model the history is counted anew."""
        settings = self.state.settings
        if settings.model == before.model:
            self.lines.append(("note", {"settings": settings.to_dict()}))
        else:
            self.lines.append(("compaction", compaction_entry(self.state, ANOTHER_MODEL)))

    def _drop(self, whole: Sequence[Span]) -> None:
        """Record the turns that are not sent unchanged; the messages in some ranges of positions are."""
        turns, self.state.noted = self.state.context.left_out(whole, self.state.noted)
        self.dropped += dropped_lines(turns)

    def _record_saved(self, saved: int, fitted: Fitted, *, moved: bool) -> None:
        """Record how many tokens the cut saves, unless results of calls are still missing."""
        counts, held = self.state.counts, fitted.held
        if held is None or not counts.cut:
            counts.saved = 0
        elif moved or not held.unanswered:
            counts.saved = max(0, saved)

    def _report_cut(self, placed: Fitted, parts: FixedParts, budget: int, *, left: bool) -> dict[str, Any] | None:
        """Report the new cut of this prompt and return its numbers; `None` without one, or if cuts are not counted."""
        state, held = self.state, placed.held
        cut, before = int(left) if held is None else held.seen, state.estimate(parts)
        moved, state.counts.cut = left and cut != state.counts.cut, cut
        if not moved or state.settings.options["compact_at"] == "never":
            return None
        state.counts.compactions += 1
        replaced = state.noted.missing
        line, unit = state.settings.line(budget), state.meter.unit
        reason = f"{before:,} {unit} reached the limit of {line:,}; {replaced:,} messages were shortened or left out"
        self._report_compaction("line", before, placed.used, replaced, reason)
        return {"before": before, "after": placed.used, "replaced": replaced, "reason": reason}

    def _report_prompt(
        self, placed: Fitted, budget: int, used: int, *, left: bool, cut: Mapping[str, Any] | None, capture: bool
    ) -> None:
        """Add the log entries and the event of a prompt of `used` tokens by the provider's count."""
        state = self.state
        assert state.last is not None
        categories = dict(state.last.categories)
        fields: dict[str, Any] = {"truncated": left, "categories": categories}
        if state.settings.options["stable"]:
            fields["stable_prefix"] = placed.stable_prefix
        if self.number is not None:
            self.log_cut()
            self.lines.append(("prompt", self._entry(placed, budget, used, fields, cut, capture=capture)))
        self.events.append(("prompt_assembled", {"used_tokens": used, "budget_tokens": budget, **fields}))

    def log_cut(self) -> None:
        """Add the log entry of the cut, if it differs from the logged one."""
        state = self.state
        held = state.last_fit.held
        if held is None:
            return
        changes = cut_record.changes(held, state.logged_cut)
        if changes is not None:
            self.lines.append((cut_record.KIND, changes))
        state.logged_cut = held

    def _entry(
        self,
        placed: Fitted,
        budget: int,
        used: int,
        fields: Mapping[str, Any],
        cut: Mapping[str, Any] | None,
        *,
        capture: bool,
    ) -> dict[str, Any]:
        """Return the log entry of a prompt, without the usual values of `PROMPT`; captured prompts have the receipt."""
        state = self.state
        assert state.last is not None
        body: dict[str, Any] = {
            "used": used,
            "correction": used - state.last.counted,
            "budget": budget,
            "unit": state.meter.unit,
            "exact": state.exact,
            "messages": len(placed.messages),
            **fields,
            "units": state.context.units,
            "cut": cut,
            "held": None if placed.held is None else placed.held.length,
        }
        body = {name: value for name, value in body.items() if name not in PROMPT or value != PROMPT[name]}
        if capture:
            body["receipt"] = placed.receipt.to_dict()
            body["sent"] = folded(placed.messages, state.context.messages)
        return body


def _with_room(parts: FixedParts, state: SessionState, budget: int) -> FixedParts:
    """Return the parts with only as much memory as leaves room for the essential messages."""
    context = state.context
    if not parts.sections:
        return parts
    free = budget - context.essential - sum(parts.extra(context)[0].values())
    if parts.room(context) <= free:
        return parts
    return parts.with_memory(max(0, free - context.history.turns.chat.frame("user")))


def prompt_body(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body of a prompt's entry with the values that were not written."""
    return {**PROMPT, **body}


def dropped_lines(turns: Sequence[DroppedTurn]) -> list[Line]:
    """Return the entries of dropped turns: the numbers of their messages, and messages that the log does not have."""
    if not turns:
        return []
    unknown: list[Line] = [("turn", {"messages": storable(turn.messages)}) for turn in turns if not turn.numbers]
    return [*unknown, (DROPPED, {"turns": {turn.handle[:SHOWN]: turn.numbers for turn in turns}})]


def compaction_entry(state: SessionState, trigger: str) -> dict[str, Any]:
    """Return the log entry of a compaction, with everything that the history continues with."""
    state.logged_cut = None
    return {
        "trigger": trigger,
        "view": storable(state.context.messages),
        "numbers": {str(at): number for at, number in state.context.numbers.items()},
        "format": state.context.history.turns.format,
        "compacted": state.compacted.to_dict() if state.compacted is not None else None,
        "settings": state.settings.to_dict(),
    }
