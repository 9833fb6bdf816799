"""A conversation as it was recorded: the size of each message, counted once, and of each request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from brim.audit.models import ModelFacts
from brim.audit.trace import TraceStep
from brim.history.history import History
from brim.history.note import is_note, note_in
from brim.wire import Format

_FAULTS = (
    ("there is no call", "a result without its call"),
    ("the first message must be the user's", "the first message is not the user's"),
    ("a result must follow its call", "a result that does not follow its call"),
)
"""Invalid messages: an excerpt from the reason for a repair, and how a report calls it."""


class RecordedConversation:
    """One conversation as it was recorded, up to its last request."""

    def __init__(self, facts: ModelFacts, format: Format | None) -> None:
        self.facts = facts
        self.format = format
        self.history = History(meter=facts.scale, format=format)
        self.length = 0
        """Messages of the last request."""
        self.answer = 0
        """The maximum tokens of its answer."""
        self.room: int | None = None
        """Tokens that the model's window leaves for it; `None` if unknown."""
        self.attached: tuple[Any, Any, Any] = (None, None, None)
        """The tools, the system prompt and the other fields of the last request."""
        self.extra: Mapping[str, int] = {}
        """Tokens in addition to the messages."""
        self.units = 0
        """Tokens of the last request."""
        self.faults: list[str] = []
        """Why a provider would reject it; each reason once."""
        self.sizes: dict[int, int] = {}
        """The tokens of each message, by the identity of the message."""
        self._generation = -1
        self._counted = 0

    def follows(self, facts: ModelFacts, format: Format | None, kept: int) -> bool:
        """Return whether the next request only adds messages to the last one."""
        same = facts.scale is self.facts.scale and facts.window == self.facts.window and format == self.format
        return same and kept >= self.length

    def take(self, step: TraceStep) -> None:
        """Add a request.

        Raises:
            InvalidValue: a message or a tool is invalid.
        """
        self.history.extend(step.messages[self.length : step.length])
        self.length = step.length
        self.attached = (step.request.tools, step.request.system, step.request.fields)
        self.extra, _ = self.history.extra_units(*self.attached)
        self._count()
        turns = self.history.turns
        messages = turns.total + turns.fixed + sum(repair.units for repair in turns.repairs)
        self.units = messages + sum(self.extra.values())
        self.answer, self.room = step.request.answer, self.facts.room(step.request.answer)
        self.faults = self._faults()

    @property
    def over(self) -> bool:
        """Whether the last request is over the model's window."""
        return self.room is not None and self.units > self.room

    def shared(self, last: Sequence[Any], messages: Sequence[Any]) -> int:
        """Return the length of the prefix that a prompt shares with the previous one, in tokens."""
        if not last:
            return 0
        units = sum(self.extra.values()) - self.extra["reply"]
        for before, now in zip(last, messages, strict=False):
            if before is not now and before != now:
                break
            units += self._size(now)
        return units

    def _count(self) -> None:
        """Add the new messages to the sizes."""
        turns = self.history.turns
        if turns.generation != self._generation:
            self._generation, self._counted, self.sizes = turns.generation, 0, {}
        new = slice(self._counted, None)
        self.sizes |= {id(raw): units for raw, units in zip(turns.raws[new], turns.units[new], strict=True)}
        self._counted = len(turns.raws)

    def _size(self, raw: Any) -> int:
        """Return the tokens of a message in a prompt, including messages that brim shortened or wrote."""
        turns = self.history.turns
        known = self.sizes.get(id(raw))
        return turns.chat.units(turns.wire.read(raw, 0)) if known is None else known

    def lost(self, messages: Sequence[Any]) -> tuple[int, int]:
        """Return how many messages a prompt of brim lacks, and how many it has in a shorter form."""
        turns, missing, cut = self.history.turns, self._counted, 0
        for raw in messages:
            message = None if id(raw) in self.sizes else turns.wire.read(raw, 0)
            if message is None or not is_note(message):
                missing -= 1
                cut += message is not None and not (message.role == "user" and note_in(message, turns.chat.piece))
        return max(0, missing), cut

    def _faults(self) -> list[str]:
        turns = self.history.turns
        faults = {next((text for part, text in _FAULTS if part in r.reason), r.reason) for r in turns.repairs}
        if turns.seams.open:
            faults.add("a call without its result")
        if turns.unfinished and turns.idle(()):
            faults.add("reasoning without a text or a call after it")
        return sorted(faults)
