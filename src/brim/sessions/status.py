"""The status of a session: its size, and its tokens by category."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

CATEGORIES = ("system", "tools", "fields", "memory", "summary", "user", "assistant", "tool results", "framing")
"""The categories of a prompt's tokens, in the order in which they are shown."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Status:
    """The size of a session and its counters."""

    session: str
    model: str | None
    unit: str
    exact: bool
    """Whether the numbers are exact, not estimates."""
    used: int
    """Tokens of the last prompt, corrected by reported usage, and of messages added since then."""
    budget: int
    """Tokens that a prompt may take."""
    window: int
    """The size of the context window in tokens."""
    warning: int
    """The size in tokens from which the session warns."""
    peak: int
    """The most tokens of any prompt, corrected by reported usage."""
    reported: int | None
    """Tokens of the last prompt as the provider counted them; `None` if unknown."""
    cached: int | None
    """Those of them that were read from the provider's cache; `None` if unknown."""
    warnings: int
    """How often the warning line was crossed from below."""
    compactions: int
    sub_ticks: int
    """How often a loop continued in a fresh context."""
    overflows: int
    """How often a provider refused a prompt as too long."""
    prompts: int
    messages: int
    """All messages of the session."""
    regret: Mapping[str, Any] = field(default_factory=dict)
    """Calls that were repeated because a cut had removed their results, their tokens, and both by cut."""
    categories: Mapping[str, int] = field(default_factory=dict)
    """Tokens by category; they add up to `used`."""

    @property
    def utilization(self) -> float:
        """The share of the model's window that is used."""
        return self.used / self.window

    @property
    def peak_utilization(self) -> float:
        """The largest prompt as a share of the current window; above 1 if the window was larger then."""
        return self.peak / self.window

    @property
    def use(self) -> float:
        """The share of the budget that is used."""
        return self.used / self.budget if self.budget else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the status as JSON values."""
        told = {slot.name: getattr(self, slot.name) for slot in fields(self)}
        told |= {"categories": dict(self.categories), "regret": dict(self.regret)}
        shares = {name: round(getattr(self, name), 6) for name in ("utilization", "peak_utilization", "use")}
        return {**told, **shares}
