"""The next prompt of a session with a large window, decided when its last message comes.

A prompt that cuts a history of a million tokens reads all of it. Most programs send every prompt with the same system
prompt and the same tools, so what the next one is can be found out before it is asked for. Nothing of it is written or
reported until then, and it is made again if anything is not as it was expected.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from brim.amounts import units
from brim.errors import BrimError
from brim.history.result import Fitted
from brim.sessions.fixed_parts import FixedParts
from brim.sessions.prompt_step import PromptStep
from brim.sessions.state import SessionState

_LARGE = 100_000
"""Tokens of a budget from which on it pays."""


class AheadPrompt(NamedTuple):
    """A prompt that was not asked for yet."""

    state: SessionState
    """The state that it was made from."""
    work: PromptStep
    fitted: Fitted
    after: tuple[Any, ...]
    """What the fit left behind in the context."""


class PromptAhead:
    """The prompt that a session expects to make next."""

    def __init__(self) -> None:
        self._parts: tuple[FixedParts | None, FixedParts | None] = (None, None)
        """The parts outside the history of the last two prompts."""
        self._made: AheadPrompt | None = None

    def note(self, parts: FixedParts) -> None:
        """Note the parts of a prompt that was made: the next one may have the same."""
        self._parts = self._parts[1], parts

    def forget(self) -> None:
        """Drop the prompt: a message comes."""
        self._made = None

    def prepare(self, state: SessionState, make: Callable[[FixedParts], PromptStep]) -> None:
        """Make the next prompt, if it is going to be compacted and no call waits for its result."""
        before, parts = self._parts
        if parts is None or not _is_due(state, parts) or (before is not None and before != parts):
            return
        context = state.context
        start = context.checkpoint()
        try:
            work = make(parts)
            self._made = AheadPrompt(state, work, work.run(), context.checkpoint())
        except BrimError:
            return  # The prompt itself meets it too.
        finally:
            context.rewind(start)

    def take(self, state: SessionState, parts: FixedParts, most: int | None) -> AheadPrompt | None:
        """Return the prompt of these parts, if it was made and nothing has changed since.

        It was made for the budget of the session: `most` is one that may be lower.
        """
        made, self._made = self._made, None
        if made is None or made.state is not state or made.work.parts != parts:
            return None
        if most is not None and units("budget", most) < state.budget:
            return None
        if made.work.parts.extra(state.context) != parts.extra(state.context):
            return None  # A tool was changed in its place.
        state.context.rewind(made.after)
        return made


def _is_due(state: SessionState, parts: FixedParts) -> bool:
    """Return whether the next prompt compacts a large history, and no call waits for its result."""
    line, turns = state.settings.line(state.budget), state.context.history.turns
    if line is None or state.budget < _LARGE or turns.unfinished or not len(turns):
        return False
    return state.estimate(parts) >= line
