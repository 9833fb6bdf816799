"""What goes with a prompt: a system prompt and tools that take from its budget, and who is told about it.

A model is sent more than the prompt. A budget for the user's message alone overflowed by what stood beside it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from brim.errors import DoesNotFit
from brim.meter import BaseMeter
from brim.receipts.section import Section
from brim.sections.fit import fit
from brim.sections.fitting import Prompt
from brim.sections.stages import HARD

if TYPE_CHECKING:
    from brim.settings.resolved import Resolved

_UNBOUND = 10**12
"""Units that no prompt has."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PromptExtras:
    """What is sent with a prompt, and who is told of it."""

    system: str | None = None
    """A system prompt that is sent with it."""
    tools: Sequence[Mapping[str, Any]] | None = None
    """The tool definitions that are sent with it."""
    agent: str | None = None
    """Whose prompt it is."""
    emit: Callable[[dict[str, Any]], object] | None = None
    """Called with the `prompt_assembled` event."""
    about: Mapping[str, Any] = field(default_factory=dict)
    """What else the event tells, such as a `rule_id`."""

    @classmethod
    def parted(cls, asked: Mapping[str, Any]) -> tuple[PromptExtras, dict[str, Any]]:
        """Return what stands beside the prompt, and the rest of what was asked, which is about the prompt itself."""
        own = {slot.name for slot in fields(cls)}
        mine = {key: value for key, value in asked.items() if key in own}
        return cls(**mine), {key: value for key, value in asked.items() if key not in own}

    def left(self, budget: int, meter: BaseMeter) -> int:
        """Return what is left of a budget once the system prompt and the tools are counted.

        Raises:
            DoesNotFit: they take all of it.
        """
        if not self.system and not self.tools:
            return budget
        said = [{"role": "system", "content": self.system}] if self.system else []
        taken = meter.count_messages(said, self.tools or None)
        if taken > budget:
            raise DoesNotFit(
                f"the prompt does not fit: the system prompt and the tools have {taken:,} {meter.unit} and the budget"
                f" is {budget:,}. Raise it by {taken - budget:,}, or send fewer tools.",
                needed=taken,
                available=budget,
                parts={"system and tools": taken},
            )
        return budget - taken

    def tell(self, settings: Resolved, parts: Sequence[Section], made: Prompt, told: Mapping[str, Any]) -> None:
        """Log a prompt that was over its budget, if it is to be logged, and emit its event."""
        if settings.value("prompt.log") and made.receipt.truncated:
            self._log(parts, made, told)
        if self.emit is not None:
            self.emit(made.receipt.event(self.agent, **self.about))

    def _log(self, parts: Sequence[Section], made: Prompt, told: Mapping[str, Any]) -> None:
        log, receipt = logging.getLogger("brim"), made.receipt
        size = _whole(parts, told)
        if size <= receipt.budget:
            return
        log.warning(
            "[Context:Budget] Prompt over budget for %s: ~%d %s (limit %d). %s",
            self.agent or "unknown",
            size,
            receipt.unit,
            receipt.budget,
            "Truncating sections." if told.get("stages") else "Hard truncating.",
        )
        for stage in receipt.stages:
            if stage != HARD:
                log.debug("[Context:Budget] %s", stage)
        if told.get("stages") and HARD in receipt.stages:
            still = sum(part.wanted for part in receipt.parts) + receipt.joins
            log.warning(
                "[Context:Budget] Still over budget after section trimming (~%d %s). Hard truncating.",
                still,
                receipt.unit,
            )


def shrinking(parts: Sequence[Section], **told: Any) -> Prompt:
    """Return a prompt in which what is required is served first, and left out where not even its marker fits."""
    try:
        return fit(parts, **told)
    except DoesNotFit:
        first = max((abs(part.rank) for part in parts), default=0) + 1
        first = first if told.get("direction") == "higher" else -first
        return fit([replace(part, required=False, priority=first) if part.required else part for part in parts], **told)


def _whole(parts: Sequence[Section], told: Mapping[str, Any]) -> int:
    """Return the units that the prompt would have without any budget."""
    free = [replace(part, ceiling=None) for part in parts]
    plain = {**told, "budget": _UNBOUND, "stages": (), "hard_marker": None, "show_budget": False}
    return fit(free, **plain).receipt.used
