"""What a session is at one moment; a step makes the next one, which takes its place once it is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from brim.history.compact.compacted import Compacted
from brim.history.fitted import Fitted
from brim.sessions.aside import Aside
from brim.sessions.calibrating import Calibrating
from brim.sessions.counts import Counts
from brim.sessions.settings import SessionSettings
from brim.sessions.status import CATEGORIES, Status
from brim.sessions.view import View


class Last(NamedTuple):
    """The last prompt."""

    used: int
    units: int
    """Units of the whole conversation then."""
    categories: Mapping[str, int]
    exact: bool = True
    """Whether what stood beside the conversation, its tools above all, was counted and not estimated."""


@dataclass(slots=True, kw_only=True)
class SessionState:
    """What a session is at one moment."""

    settings: SessionSettings
    view: View
    calibrating: Calibrating
    counts: Counts
    compacted: Compacted | None = None
    last: Last | None = None
    pins: Mapping[str, str] = field(default_factory=dict)
    """Texts that every prompt holds, by their handles."""

    def copy(self) -> SessionState:
        """Return one that can become another without this one; the view is taken over."""
        return replace(self, counts=replace(self.counts), calibrating=self.calibrating.copy())

    @property
    def budget(self) -> int:
        """Units that a prompt may use: the window's, or less once a provider has refused a prompt as too long."""
        ceiling = self.counts.ceiling
        return self.settings.budget if ceiling is None else min(self.settings.budget, ceiling)

    @property
    def exact(self) -> bool:
        """Whether the prompt as a whole is counted; not where its maker does not publish what the chat format adds."""
        known = not self.view.history.book.chat.estimated
        return self.calibrating.meter.exact and known and (self.last is None or self.last.exact)

    def show(self, messages: list[Any]) -> None:
        """Go on with other messages, counted by what is known by now."""
        self.calibrating.recount()
        self.view = self.view.anew(self.calibrating.meter, messages)

    def used(self) -> int:
        """Return the units of the last prompt and of what was added since."""
        if self.last is None:
            return self.view.units
        return max(0, self.last.used + self.view.units - self.last.units)

    def spent(self, aside: Aside, fitted: Fitted, placed: Fitted, *, whole: bool) -> dict[str, int]:
        """Return the units of a prompt by what they are spent on; together they are all of it."""
        view = self.view
        beside, _ = view.history.beside(aside.tools, aside.system)
        sums = view.categories() if whole else view.categories_of(fitted.messages)
        for name in ("system", "tools"):
            sums[name] = sums.get(name, 0) + beside[name]
        sums["memory"] = placed.used - fitted.used
        sums["framing"] = placed.used - sum(units for name, units in sums.items() if name != "framing")
        return {name: sums[name] for name in CATEGORIES if sums.get(name)}

    def status(self, session: str) -> Status:
        """Return how full it is."""
        counts, settings, meter = self.counts, self.settings, self.calibrating.meter
        categories = dict(self.view.categories() if self.last is None else self.last.categories)
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
