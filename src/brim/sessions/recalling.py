"""What left a session's prompt: recalled by its handle, found by its words, and pinned so that it stays."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from brim.errors import UnknownName
from brim.sessions import pins, recall
from brim.sessions.aside import Aside
from brim.store.base import SearchHit

if TYPE_CHECKING:
    from brim.sessions.journal import Journal
    from brim.sessions.prompting import Prompting
    from brim.sessions.state import SessionState


class Recalling(ABC):
    """The part of a session that knows what left its prompt."""

    _state: SessionState
    _journal: Journal

    @abstractmethod
    def _work(self, aside: Aside) -> Prompting:
        """Return the work on a copy of the state."""

    @abstractmethod
    def _done(self, work: Prompting) -> None:
        """Write what a piece of work has gathered, and take over its state."""

    def recall(self, handle: str) -> str:
        """Return a text that left the prompt, by its handle or the start of it.

        Raises:
            UnknownName: this session keeps no such text.
        """
        return self._journal.shelf.text(handle)

    def search(self, query: str, limit: int = 20) -> list[SearchHit]:
        """Return the texts that left the prompt and share words with a query, the best first."""
        return self._journal.shelf.search(query, limit)

    def recall_tool(self, format: str | None = None) -> dict[str, Any]:
        """Return the definition of the tool by which a model brings back what left its prompt."""
        return recall.tool(format or self._state.view.history.book.wire.name)

    def answer_recall(self, arguments: Any, budget: int | None = None) -> str:
        """Return what that tool answers to the arguments of a call, in at most `budget` units."""
        limit = self._state.settings.longest_result if budget is None else budget
        return recall.answered(arguments, self._journal.shelf, limit, self._state.calibrating.meter)

    @property
    def pins(self) -> dict[str, str]:
        """Texts that every prompt holds until they are unpinned, by their handles."""
        return dict(self._state.pins)

    def pin(self, handle: str) -> None:
        """Hold a text that left the prompt in every prompt from now on, whole, at its end.

        Raises:
            UnknownName: this session keeps no such text.
            InvalidValue: the pins would take more than a quarter of the budget.
            StoreError: the store cannot be written; nothing is pinned then.
        """
        state = self._state
        name, text = self._journal.shelf.find(handle)
        self._hold(pins.added(state.pins, name, text, state.budget, state.calibrating.meter))

    def unpin(self, handle: str) -> None:
        """Let go of a pin; its text can still be recalled.

        Raises:
            UnknownName: nothing of this handle is pinned.
        """
        if handle not in self._state.pins:
            raise UnknownName("pin", handle, list(self._state.pins))
        self._hold({name: text for name, text in self._state.pins.items() if name != handle})

    def _hold(self, held: dict[str, str]) -> None:
        work = self._work(Aside())
        work.state.pins = held
        work.lines.append(("note", {"pins": list(held)}))
        self._done(work)
