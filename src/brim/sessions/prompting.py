"""One prompt at work: count, warn, compact, fit, and gather what is to be written and told of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from brim.errors import NoProgress
from brim.history.compact.compacted import Compacted
from brim.history.fitted import Fitted
from brim.sessions import shrinking
from brim.sessions.aside import Aside
from brim.sessions.calibrating import mix_dict
from brim.sessions.sending import kept
from brim.sessions.state import Last, SessionState
from brim.sessions.usage import Reported
from brim.sessions.view import held_dict, jsonable
from brim.wire.overflow import Overflow

_SMALLER = 0.75
"""What a prompt shrinks to after a refusal that told no numbers."""
_MARGIN = 0.95
"""What of the told limit is used after a refusal that did."""
_GROWTH = 20
"""The part of the room, one in so many, by which a conversation has to grow before compaction is tried again."""


@dataclass(slots=True, kw_only=True)
class Prompting:
    """One prompt at work, on a state of its own."""

    state: SessionState
    aside: Aside
    summarise: Any = None
    capture: bool = False
    query: str | None = None
    most: int | None = None
    """Units of this one prompt, where they are fewer than the session's own."""
    lines: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    """What is to be written to the log."""
    texts: dict[str, str] = field(default_factory=dict)
    """What left the prompt, by handle."""
    events: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    """What is to be told, once it is written."""

    @property
    def budget(self) -> int:
        """Units that the prompt may use."""
        return self.state.budget if self.most is None else min(self.state.budget, self.most)

    def run(self) -> Fitted:
        """Return the prompt.

        Raises:
            DoesNotFit: what has to stay is bigger than the budget.
        """
        estimate = self._estimate()
        self.warn(estimate + self.state.counts.drift)
        line = self.state.settings.line(self.budget)
        if line is not None and estimate >= line and self.state.view.units >= self.state.counts.wait:
            self._compact()
        return self._fit()

    def _estimate(self) -> int:
        """Return the units of the whole prompt, if nothing is left out."""
        return self.state.view.units + self.aside.units(self.state.view)

    def warn(self, estimate: int) -> None:
        """Take note of the use, and warn where it crosses the line from below."""
        window = self.state.settings.window
        if self.state.counts.crosses(estimate, window.warning):
            fields = {"used_tokens": estimate, "warning_tokens": window.warning, "window_tokens": window.size}
            self.lines.append(("warning", fields))
            self.events.append(("warning", fields))

    def _compact(self) -> None:
        """Replace older turns by a summary, if that pays; if not, wait until there is more to replace."""
        state = self.state
        room = self.budget - self.aside.units(state.view)
        made = shrinking.planned(state.view, state.settings, room, state.compacted)
        compacted = None
        if made is not None:
            try:
                compacted = shrinking.shrunk(made, self.summarise)
            except NoProgress:
                compacted = None
        if compacted is None:
            state.counts.wait = state.view.units + max(1, room // _GROWTH)
            return
        self.take(compacted, "line")
        state.counts.above = self._estimate() >= state.settings.window.warning

    def take(self, compacted: Compacted, trigger: str) -> None:
        """Go on with what a compaction left."""
        state = self.state
        state.show(compacted.messages)
        state.compacted, state.last = compacted, None
        state.counts.compactions += 1
        state.counts.wait = 0
        self.texts.update(compacted.texts)
        self.lines.append(("compaction", compaction(state, trigger)))
        fields = {
            "trigger": trigger,
            "before_tokens": compacted.before,
            "after_tokens": compacted.after,
            "freed": compacted.freed,
            "replaced": compacted.replaced,
            "reason": compacted.reason,
            "notice": shrinking.NOTICE,
        }
        self.events.append(("compacted", fields))

    def restart(self, messages: Sequence[Any], trigger: str, event: dict[str, Any] | None) -> None:
        """Go on with other messages altogether; all that was there leaves."""
        state = self.state
        self.texts.update(state.view.left_out([]))
        state.show(list(messages))
        state.compacted, state.last, state.counts.wait, state.counts.above = None, None, 0, False
        if trigger == "sub_tick":
            state.counts.sub_ticks += 1
            self.events.append(("sub_tick", {"after_tokens": state.view.units, **(event or {})}))
        self.lines.append(("compaction", compaction(state, trigger)))

    def learn(self, told: Reported) -> bool:
        """Take what a provider reported, and return whether the conversation was counted again."""
        state, recount, mix = self.state, False, None
        if told.input is not None and told.passes == 1:
            used = state.last.used if state.last is not None else None
            state.counts.reported = told.input
            state.counts.drift = max(0, told.input - used) if used is not None else 0
            mix = state.calibrating.mix()
            if mix is not None:
                recount = state.calibrating.record(mix, told.input, used)
            if recount:
                state.show(state.view.messages)
                state.last = None if state.last is None else state.last._replace(units=state.view.units)
            if told.input >= state.settings.window.warning:
                self.warn(told.input)
        body = {
            **told.to_dict(),
            "mix": None if mix is None else mix_dict(mix),
            "calibration": state.calibrating.to_dict() if recount else None,
            "units": state.view.units,
            "counts": state.counts.to_dict(),
        }
        self.lines.append(("usage", body))
        return recount

    def refuse(self, overflow: Overflow, *, retried: bool) -> None:
        """Take note of a refusal: from now on prompts are smaller than the one that was refused."""
        state = self.state
        last = state.last.used if state.last is not None else state.budget
        factor = overflow.factor
        state.counts.ceiling = max(1, int(last * (_SMALLER if factor is None else factor * _MARGIN)))
        state.counts.overflows += 1
        fields = {
            "limit_tokens": overflow.limit,
            "sent_tokens": overflow.sent,
            "used_tokens": last,
            "budget_tokens": state.budget,
            "retried": retried,
        }
        self.lines.append(("event", {"event": "overflow", **fields, "counts": state.counts.to_dict()}))
        self.events.append(("overflow", fields))

    def _fit(self) -> Fitted:
        state, aside = self.state, self.aside
        view, budget, whole = state.view, self.budget, self._estimate()
        fitted = view.fit(
            max(0, budget - aside.room(view)),
            tools=aside.tools,
            system=aside.system,
            capture=self.capture,
            query=self.query,
        )
        left = fitted.used + aside.room(view) < whole
        if left:
            self.texts.update(view.left_out(fitted.messages))
        placed = aside.placed(fitted, view, budget)
        categories = state.spent(aside, fitted, placed, whole=not left)
        state.counts.prompts += 1
        state.counts.peak = max(state.counts.peak, placed.used)
        state.last = Last(placed.used, view.units, categories, view.history.beside(aside.tools, aside.system)[1])
        self._say(placed, left=left)
        return placed

    def _say(self, placed: Fitted, *, left: bool) -> None:
        """Gather what is written and told of a prompt; its receipt stands in the log only where it is captured."""
        state, meter = self.state, self.state.calibrating.meter
        categories = dict(state.last.categories) if state.last is not None else {}
        told: dict[str, Any] = {"truncated": left, "categories": categories}
        if state.settings.stable:
            told["stable_prefix"] = placed.stable_prefix
        body: dict[str, Any] = {
            "used": placed.used,
            "budget": placed.budget,
            "unit": meter.unit,
            "exact": state.exact,
            "messages": len(placed.messages),
            **told,
            "units": state.view.units,
            "held": held_dict(placed.stable),
            "counts": state.counts.to_dict(),
        }
        if self.capture:
            body["receipt"] = placed.receipt.to_dict()
            body["sent"] = kept(placed.messages, state.view.messages)
        self.lines.append(("prompt", body))
        self.events.append(("prompt_assembled", {"used_tokens": placed.used, "budget_tokens": placed.budget, **told}))


def compaction(state: SessionState, trigger: str) -> dict[str, Any]:
    """Return what the log says of a conversation that begins anew: all that it goes on with."""
    return {
        "trigger": trigger,
        "view": [jsonable(raw) for raw in state.view.messages],
        "format": state.view.history.book.format,
        "compacted": state.compacted.to_dict() if state.compacted is not None else None,
        "counts": state.counts.to_dict(),
        "calibration": state.calibrating.to_dict(),
        "pins": list(state.pins),
    }
