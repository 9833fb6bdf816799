"""Texts that were dropped from a session's prompt: recalled by handle, searched, and pinned."""

from __future__ import annotations

from typing import Any

from brim.errors import InvalidValue, UnknownName
from brim.sessions import pins, recall_tool
from brim.sessions.fixed_parts import FixedParts
from brim.sessions.logged_state import LoggedState
from brim.store.base import SearchHit

RESTORED = "restored"
"""The field of a message in the log that was restored from a dropped text; its value is the handle."""


class Recall(LoggedState):
    """The part of a session that brings back dropped texts."""

    def recall(self, handle: str) -> str:
        """Return a dropped text by its handle, or by the start of it.

        Raises:
            UnknownName: this session keeps no such text.
        """
        return self._journal.dropped.text(handle)

    def search(self, query: str, limit: int = 20) -> list[SearchHit]:
        """Return the dropped texts that share words with a query, the best first."""
        return self._journal.dropped.search(query, limit)

    def recall_tool(self, format: str | None = None) -> dict[str, Any]:
        """Return the definition of the tool by which a model recalls dropped texts."""
        return recall_tool.tool(format or self._state.context.history.turns.wire.name)

    def answer_recall(self, arguments: Any, budget: int | None = None) -> str:
        """Return the result of a call of that tool, in at most `budget` tokens."""
        limit = self._state.settings.longest_result if budget is None else budget
        return recall_tool.answered(arguments, self._journal.dropped, limit, self._state.model_meter.meter)

    def restore(self, handle: str) -> None:
        """Add a dropped text as the newest message, which the next prompt always includes.

        Raises:
            UnknownName: this session keeps no such text.
            InvalidValue: a tool call has no result yet, so no message can follow it.
            StoreError: the store cannot be written; nothing is added then.
        """
        name, text = self._journal.dropped.find(handle)
        self.refresh()

        def step() -> None:
            turns = self._state.context.history.turns
            if turns.unfinished:
                expected = "a session without an open tool call: restore the text once the call has its result"
                raise InvalidValue("the session", self.id, expected)
            said = turns.wire.say(f"Restored from earlier ({handle}):\n{text}")
            self._add([said], marks={RESTORED: name})

        self._agreed(step)

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
        name, text = self._journal.dropped.find(handle)

        def step() -> None:
            state = self._state
            pinned = pins.added(state.pins, name, text, state.budget, state.model_meter.meter)
            self._pin(pinned)

        self._agreed(step)

    def unpin(self, handle: str) -> None:
        """Remove a pin; its text can still be recalled.

        Raises:
            UnknownName: nothing of this handle is pinned.
        """

        def step() -> None:
            if handle not in self._state.pins:
                raise UnknownName("pin", handle, list(self._state.pins))
            self._pin({name: text for name, text in self._state.pins.items() if name != handle})

        self._agreed(step)

    def _pin(self, pinned: dict[str, str]) -> None:
        work = self._work(FixedParts())
        work.state.pins = pinned
        work.lines.append(("note", {"pins": pinned}))
        self._done(work)
