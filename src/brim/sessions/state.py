"""The state of a session at one moment. A step makes the next one, which replaces it once it is logged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from brim.history.compact.plan import Compacted
from brim.history.result import Fitted
from brim.history.stable import HeldCut
from brim.sessions.context import Context
from brim.sessions.counts import Counts
from brim.sessions.fixed_parts import FixedParts
from brim.sessions.model_meter import ModelMeter
from brim.sessions.settings import SessionSettings
from brim.sessions.status import CATEGORIES, Status


class Last(NamedTuple):
    """The last prompt."""

    used: int
    units: int
    """Tokens of the whole history then."""
    categories: Mapping[str, int]
    exact: bool = True
    """Whether the parts outside the history, above all the tools, were counted and not estimated."""


@dataclass(slots=True, kw_only=True)
class SessionState:
    """The state of a session at one moment."""

    settings: SessionSettings
    context: Context
    model_meter: ModelMeter
    counts: Counts
    compacted: Compacted | None = None
    last: Last | None = None
    logged_cut: HeldCut | None = None
    """The cut that the log has: only what changes is written."""
    pins: Mapping[str, str] = field(default_factory=dict)
    """Texts that every prompt holds, by their handles."""

    def copy(self) -> SessionState:
        """Return a state that can change without this one; they share the context."""
        return replace(self, counts=replace(self.counts), model_meter=self.model_meter.copy())

    @property
    def budget(self) -> int:
        """Tokens that a prompt may take: the window's budget, or less once a prompt was refused as too long."""
        ceiling = self.counts.ceiling
        return self.settings.budget if ceiling is None else min(self.settings.budget, ceiling)

    @property
    def exact(self) -> bool:
        """Whether the prompt is counted exactly; not if its maker does not publish what the chat format adds."""
        known = not self.context.history.turns.chat.estimated
        return self.model_meter.meter.exact and known and (self.last is None or self.last.exact)

    def show(self, messages: list[Any]) -> None:
        """Continue with other messages, counted by what is known by now."""
        self.model_meter.recount()
        summary = None if self.compacted is None else self.compacted.marked
        self.counts.saved = 0 if messages is not self.context.messages else self.counts.saved
        before = self.context
        self.context = before.anew(self.model_meter.meter, messages, summary)
        self.context.take_numbers(before)

    def estimate(self, parts: FixedParts) -> int:
        """Return the tokens of the next prompt, if nothing more is cut."""
        return max(0, self.context.units + parts.units(self.context) - self.counts.saved)

    def used(self) -> int:
        """Return the tokens of the last prompt and of what was added since."""
        if self.last is None:
            return self.context.units
        return max(0, self.last.used + self.context.units - self.last.units)

    def spent(self, parts: FixedParts, fitted: Fitted, placed: Fitted, *, whole: bool) -> dict[str, int]:
        """Return the tokens of a prompt by category; they add up to all of it."""
        context = self.context
        beside, _ = parts.extra(context)
        sums = context.categories() if whole else context.categories_of(fitted.messages, _held(fitted))
        for name in ("system", "tools", "fields"):
            sums[name] = sums.get(name, 0) + beside.get(name, 0)
        sums["memory"] = placed.used - fitted.used
        sums["framing"] = placed.used - sum(units for name, units in sums.items() if name != "framing")
        return {name: sums[name] for name in CATEGORIES if sums.get(name)}

    def status(self, session: str) -> Status:
        """Return how full it is."""
        counts, settings, meter = self.counts, self.settings, self.model_meter.meter
        categories = dict(self.context.categories() if self.last is None else self.last.categories)
        if (more := self.used() - sum(categories.values())) and self.last is not None:
            categories["new"] = more
        return Status(
            session=session,
            model=settings.model,
            unit=meter.unit,
            exact=self.exact,
            used=self.used(),
            budget=self.budget,
            window=settings.window.size,
            warning=settings.window.warning,
            peak=counts.peak,
            reported=counts.reported,
            warnings=counts.warnings,
            compactions=counts.compactions,
            sub_ticks=counts.sub_ticks,
            overflows=counts.overflows,
            prompts=counts.prompts,
            messages=counts.messages,
            categories=categories,
        )


def _held(fitted: Fitted) -> HeldCut | None:
    return None if fitted.stable is None else fitted.stable.held
