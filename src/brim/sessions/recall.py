"""Texts that were dropped from a session's prompt: recalled by handle, searched, and pinned."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from brim.errors import UnknownName
from brim.sessions import pins, recall_tool
from brim.sessions.fixed_parts import FixedParts
from brim.store.base import SearchHit

if TYPE_CHECKING:
    from brim.sessions.journal import Journal
    from brim.sessions.prompt_step import PromptStep
    from brim.sessions.state import SessionState


class Recall(ABC):
    """The part of a session that brings back dropped texts."""

    _state: SessionState
    _journal: Journal

    @abstractmethod
    def _work(self, parts: FixedParts) -> PromptStep:
        """Return a step on a copy of the state."""

    @abstractmethod
    def _done(self, work: PromptStep) -> None:
        """Write what a step has gathered, and take over its state."""

    def recall(self, handle: str) -> str:
        """Return a dropped text by its handle, or by the start of it.

        Raises:
            UnknownName: this session keeps no such text.
        """
        return self._journal.shelf.text(handle)

    def search(self, query: str, limit: int = 20) -> list[SearchHit]:
        """Return the dropped texts that share words with a query, the best first."""
        return self._journal.shelf.search(query, limit)

    def recall_tool(self, format: str | None = None) -> dict[str, Any]:
        """Return the definition of the tool by which a model recalls dropped texts."""
        return recall_tool.tool(format or self._state.context.history.turns.wire.name)

    def answer_recall(self, arguments: Any, budget: int | None = None) -> str:
        """Return the result of a call of that tool, in at most `budget` tokens."""
        limit = self._state.settings.longest_result if budget is None else budget
        return recall_tool.answered(arguments, self._journal.shelf, limit, self._state.model_meter.meter)

    @property
    def pins(self) -> dict[str, str]:
        """Texts that every prompt holds until they are unpinned, by their handles."""
        return dict(self._state.pins)

    def pin(self, handle: str) -> None:
        """Put a dropped text, whole, at the end of every prompt from now on.

        Raises:
            UnknownName: this session keeps no such text.
            InvalidValue: the pins would take more than a quarter of the budget.
            StoreError: the store cannot be written; nothing is pinned then.
        """
        state = self._state
        name, text = self._journal.shelf.find(handle)
        self._pin(pins.added(state.pins, name, text, state.budget, state.model_meter.meter))

    def unpin(self, handle: str) -> None:
        """Remove a pin; its text can still be recalled.

        Raises:
            UnknownName: nothing of this handle is pinned.
        """
        if handle not in self._state.pins:
            raise UnknownName("pin", handle, list(self._state.pins))
        self._pin({name: text for name, text in self._state.pins.items() if name != handle})

    def _pin(self, pinned: dict[str, str]) -> None:
        work = self._work(FixedParts())
        work.state.pins = pinned
        work.lines.append(("note", {"pins": list(pinned)}))
        self._done(work)
