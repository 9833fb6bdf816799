"""One step of a session on a copy of its state: count, warn, compact, fit, and gather what is logged and reported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from brim.errors import NoProgress
from brim.history.compact.lines import said_in
from brim.history.compact.plan import Compacted
from brim.history.result import Fitted
from brim.sessions import compaction
from brim.sessions.context import DroppedTurn
from brim.sessions.cut_record import cut_record
from brim.sessions.fixed_parts import FixedParts
from brim.sessions.log_value import storable
from brim.sessions.memory_log import Line
from brim.sessions.sent_messages import folded
from brim.sessions.state import Last, SessionState
from brim.sessions.usage import ReportedUsage
from brim.store.texts import DROPPED, SHOWN
from brim.wire.overflow import Overflow

CUT = "cut"
"""The trigger of an entry by which the history continues as it was last sent."""
PROMPT: Mapping[str, Any] = {"unit": "tokens", "exact": True, "truncated": False, "cut": None, "held": None}
"""The fields of a prompt's entry that are not written, and their values then."""
_HELD = 8
"""How many times the budget the history may take before what was cut off leaves memory."""
_GROWTH = 20
"""The part of the room, one in so many, by which a conversation has to grow before compaction is tried again."""


@dataclass(slots=True, kw_only=True)
class PromptStep:
    """One step, on a copy of the state."""

    state: SessionState
    parts: FixedParts
    summarise: Any = None
    capture: bool = False
    query: str | None = None
    most: int | None = None
    """Tokens that this one prompt may take, if fewer than the session's budget."""
    logged: bool = True
    """Whether there is a log; otherwise prompts, which are many, gather no entry for it."""
    lines: list[Line] = field(default_factory=list)
    """Entries for the log."""
    dropped: list[Line] = field(default_factory=list)
    """Entries that follow them: what left the prompt."""
    events: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    """Events that are emitted once the entries are written."""

    @property
    def budget(self) -> int:
        """Tokens that the prompt may take."""
        return self.state.budget if self.most is None else min(self.state.budget, self.most)

    def run(self) -> Fitted:
        """Return the prompt.

        Raises:
            DoesNotFit: what has to stay is larger than the budget.
        """
        if self.state.context.units > _HELD * self.budget:
            self._continue_as_sent()
        estimate = self.state.estimate(self.parts)
        self.warn(estimate + self.state.counts.drift)
        line = self.state.settings.line(self.budget)
        if self.summarise is not None and line is not None and estimate >= line:
            self._summarise()
        return self._fit()

    def _continue_as_sent(self) -> None:
        """Continue with the messages as the last prompt had them, and with what has come since."""
        state = self.state
        context = state.context.as_sent()
        if context is not None:
            self.dropped += dropped_lines(state.context.left_out(context.messages))
            state.context, state.counts.cut, state.counts.saved = context, 0, 0
            self.lines.append(("compaction", compaction_entry(state, CUT)))

    def warn(self, estimate: int) -> None:
        """Note the use, and warn if it crosses the warning line from below."""
        window = self.state.settings.window
        if self.state.counts.crosses(estimate, window.warning):
            fields = {"used_tokens": estimate, "warning_tokens": window.warning, "window_tokens": window.size}
            self.lines.append(("warning", fields))
            self.events.append(("warning", fields))

    def _summarise(self) -> None:
        """Replace older turns by a summary, if that saves tokens; if not, wait until there is more to replace."""
        state = self.state
        if state.context.units < state.counts.wait:
            return
        room = self.budget - self.parts.units(state.context)
        made = compaction.planned(state.context, state.settings, room, state.compacted)
        compacted = None
        if made is not None:
            try:
                compacted = compaction.shrunk(made, self.summarise)
            except NoProgress:
                compacted = None
        if compacted is None:
            state.counts.wait = state.context.units + max(1, room // _GROWTH)
            return
        self.take(compacted, "line")
        state.counts.above = state.estimate(self.parts) >= state.settings.window.warning

    def take(self, compacted: Compacted, trigger: str) -> None:
        """Continue with the result of a compaction."""
        state = self.state
        self.dropped += dropped_lines(state.context.left_out(compacted.messages))
        said = {one.handle for one in map(said_in, state.context.history.turns.messages) if one is not None}
        index = [text for name, text in compacted.texts.items() if name not in said]
        self.dropped += [("text", {"text": text}) for text in index]
        state.compacted, state.last = compacted, None
        state.show(compacted.messages)
        state.counts.compactions += 1
        state.counts.wait = 0
        self.lines.append(("compaction", compaction_entry(state, trigger)))
        self._tell(trigger, compacted.before, compacted.after, compacted.replaced, compacted.reason)

    def _tell(self, trigger: str, before: int, after: int, replaced: int, reason: str) -> None:
        """Report a compaction."""
        fields = {"trigger": trigger, "before_tokens": before, "after_tokens": after, "freed": before - after}
        self.events.append(
            ("compacted", {**fields, "replaced": replaced, "reason": reason, "notice": compaction.NOTICE})
        )

    def restart(self, messages: Sequence[Any], trigger: str, event: dict[str, Any] | None) -> None:
        """Continue with other messages; all that was there is dropped."""
        state = self.state
        self.dropped += dropped_lines(state.context.left_out([]))
        state.compacted, state.last, state.counts.wait, state.counts.above = None, None, 0, False
        state.show(list(messages))
        if trigger == "sub_tick":
            state.counts.sub_ticks += 1
            self.events.append(("sub_tick", {"after_tokens": state.context.units, **(event or {})}))
        self.lines.append(("compaction", compaction_entry(state, trigger)))

    def learn(self, usage: ReportedUsage) -> bool:
        """Learn from reported usage, and return whether the history was counted again."""
        state, recount, mix = self.state, False, None
        if usage.input is not None and usage.passes == 1:
            used = state.last.used if state.last is not None else None
            state.counts.reported = usage.input
            state.counts.drift = max(0, usage.input - used) if used is not None else 0
            mix = state.model_meter.sent_size()
            if mix is not None:
                recount = state.model_meter.record(mix, usage.input, used)
            if recount:
                state.show(state.context.messages)
                state.last = None if state.last is None else state.last._replace(units=state.context.units)
            if usage.input >= state.settings.window.warning:
                self.warn(usage.input)
        body: dict[str, Any] = {name: value for name, value in usage.to_dict().items() if value is not None}
        if usage.passes == 1:
            del body["passes"]
        if recount:
            body |= {"calibration": state.model_meter.to_dict(), "units": state.context.units}
        elif mix is not None:
            body["mix"] = asdict(mix)
        self.lines.append(("usage", body))
        return recount

    def refuse(self, overflow: Overflow, *, retried: bool) -> None:
        """Note a refusal: from now on prompts are smaller than the refused one."""
        state = self.state
        last = state.last.used if state.last is not None else state.budget
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

    def _fit(self) -> Fitted:
        state, context, budget = self.state, self.state.context, self.budget
        fitted = self._fitted()
        parts = self.parts
        whole = context.units + parts.units(context)
        left = fitted.used + parts.room(context) < whole
        if left:
            self.dropped += dropped_lines(context.left_out(fitted.messages, _identity(fitted)))
        placed = parts.placed(fitted, context, budget)
        cut = self._cut(placed, left=left)
        self._note_saved(whole - placed.used, fitted, moved=cut is not None)
        state.counts.above = state.counts.above and (cut is None or placed.used >= state.settings.window.warning)
        categories = state.spent(parts, fitted, placed, whole=not left)
        state.counts.prompts += 1
        state.counts.peak = max(state.counts.peak, placed.used)
        state.last = Last(placed.used, context.units, categories, parts.extra(context)[1])
        self._report(placed, left=left, cut=cut)
        return placed

    def _fitted(self) -> Fitted:
        """Return the history beside the other parts; memory gives way to what has to stay.

        Raises:
            DoesNotFit: what has to stay is larger than the budget, even without memory.
        """
        context = self.state.context
        if self.parts.sections:
            free = self.budget - context.essential - sum(self.parts.extra(context)[0].values())
            if self.parts.room(context) > free:
                self.parts = self.parts.with_memory(max(0, free - context.history.turns.chat.frame("user")))
        return context.fit(
            max(0, self.budget - self.parts.room(context)),
            before=self.parts.before,
            counted=self.parts.extra(context),
            capture=self.capture,
            query=self.query,
        )

    def _note_saved(self, saved: int, fitted: Fitted, *, moved: bool) -> None:
        """Note by how much the cut makes the prompt shorter, without calls that only wait for their results."""
        counts, held = self.state.counts, None if fitted.stable is None else fitted.stable.held
        if held is None or not counts.cut:
            counts.saved = 0
        elif moved or not held.unanswered:
            counts.saved = max(0, saved)

    def _cut(self, placed: Fitted, *, left: bool) -> dict[str, Any] | None:
        """Return what the cut did before this prompt, and report it; `None` if there was none, or `never` one."""
        state, held = self.state, placed.stable.held if placed.stable is not None else None
        cut, before = int(left) if held is None else held.seen, state.estimate(self.parts)
        moved, state.counts.cut = left and cut != state.counts.cut, cut
        if not moved or state.settings.compact_at == "never":
            return None
        state.counts.compactions += 1
        replaced = state.context.missing
        line, unit = state.settings.line(self.budget), state.model_meter.meter.unit
        reason = f"{before:,} {unit} reached the line of {line:,}; excerpts stay of {replaced:,} messages"
        self._tell("line", before, placed.used, replaced, reason)
        return {"before": before, "after": placed.used, "replaced": replaced, "reason": reason}

    def _report(self, placed: Fitted, *, left: bool, cut: Mapping[str, Any] | None) -> None:
        """Gather the log entry and the event of a prompt."""
        state = self.state
        categories = dict(state.last.categories) if state.last is not None else {}
        fields: dict[str, Any] = {"truncated": left, "categories": categories}
        if state.settings.stable:
            fields["stable_prefix"] = placed.stable_prefix
        if self.logged:
            self.lines.append(("prompt", self._entry(placed, fields, cut)))
        self.events.append(("prompt_assembled", {"used_tokens": placed.used, "budget_tokens": placed.budget, **fields}))

    def _entry(self, placed: Fitted, fields: Mapping[str, Any], cut: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return the log entry of a prompt; it has the receipt only if prompts are captured.

        There is one for each prompt, so what is as in most of them is left out: see `PROMPT`.
        """
        state, held = self.state, placed.stable.held if placed.stable is not None else None
        body: dict[str, Any] = {
            "used": placed.used,
            "budget": placed.budget,
            "unit": state.model_meter.meter.unit,
            "exact": state.exact,
            "messages": len(placed.messages),
            **fields,
            "units": state.context.units,
            "cut": cut,
            "held": cut_record(held, state.logged_cut),
        }
        body = {name: value for name, value in body.items() if name not in PROMPT or value != PROMPT[name]}
        state.logged_cut = held
        if self.capture:
            body["receipt"] = placed.receipt.to_dict()
            body["sent"] = folded(placed.messages, state.context.messages)
        return body


def _identity(fitted: Fitted) -> Any:
    """Return a value that stays the same as long as the same messages are left out; `None` without a cut that is held.

    What comes after a cut is sent as it came, unless it is a call that waits for its result.
    """
    held = fitted.stable.held if fitted.stable is not None else None
    return None if held is None else (held.identity, held.unanswered)


def prompt_body(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body of a prompt's entry with the fields that were not written."""
    return {**PROMPT, **body}


def dropped_lines(turns: Sequence[DroppedTurn]) -> list[Line]:
    """Return the entries of turns that left the prompt: which messages they are, and those that the log has not."""
    if not turns:
        return []
    unknown: list[Line] = [("turn", {"messages": storable(turn.messages)}) for turn in turns if not turn.numbers]
    return [*unknown, (DROPPED, {"turns": {turn.handle[:SHOWN]: turn.numbers for turn in turns}})]


def compaction_entry(state: SessionState, trigger: str) -> dict[str, Any]:
    """Return the log entry of a history that begins anew: all that it continues with."""
    state.logged_cut = None
    return {
        "trigger": trigger,
        "view": storable(state.context.messages),
        "numbers": {str(at): number for at, number in state.context.numbers.items()},
        "format": state.context.history.turns.format,
        "compacted": state.compacted.to_dict() if state.compacted is not None else None,
        "calibration": state.model_meter.to_dict(),
        "pins": dict(state.pins),
        "settings": state.settings.to_dict(),
    }
