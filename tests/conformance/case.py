"""One case of the suite: a history, a budget, and what is expected of whoever fits one into the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .adapter import Message


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """A history and what must hold of the prompt that is made of it."""

    name: str
    """What the case is about, in words that can stand in a table."""
    why: str
    """What goes wrong in practice, as a sentence."""
    messages: Callable[[], list[Message]]
    """Makes the history, new each time, so that no trimmer sees what another one changed."""
    budget: int | float
    """Units, or a share of the history's size."""
    expects: tuple[str, ...] = ()
    """Names of checks, beside those that every prompt must pass."""
    shows: tuple[str, ...] = ()
    """Texts that have to stand in the prompt, in any of its messages, if `shows` is among the checks."""
    share: float = 1.0
    """How many of them, as a share."""
    refusal: str = "no"
    """Whether an error of the trimmer's own is an answer: "no", "may", or "must" where no prompt can be right."""
    steps: int = 0
    """Into how many steps the history is dealt out, each fitted on top of the last result; 0 is all at once."""

    def units(self, size: int) -> int:
        """Return the budget for a history of `size` units."""
        return self.budget if isinstance(self.budget, int) else int(size * self.budget)


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """What came of one case."""

    state: str
    """One of `STATES`."""
    detail: str = ""
    """What was wrong, as a sentence; empty where nothing was."""

    @property
    def right(self) -> bool:
        """Whether nothing is held against the trimmer."""
        return self.state in ("pass", "refused")


STATES = ("pass", "refused", "fail", "error", "timeout", "not asked")
"""Refused is an error of the trimmer's own where the case allows one; any other error is an error."""
