"""A conversation as it was recorded: the size of each message, counted once, and of each request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from brim.audit.models import ModelFacts
from brim.audit.trace import TraceStep
from brim.history.history import History
from brim.history.note import is_note, note_in
from brim.wire import Format
from brim.wire.message import Message

NOTE = "note"
"""The role of the note that brim adds."""
_FAULTS = (
    ("there is no call", "a result without its call"),
    ("the first message must be the user's", "the first message is not the user's"),
    ("a result must follow its call", "a result that does not follow its call"),
)
"""Invalid messages: an excerpt from the reason for a repair, and how a report calls it."""


class MessageSize(NamedTuple):
    """The size of one message."""

    units: int
    role: str
    """The role; `tool` for results, even if they are part of a user message."""
    note: int = 0
    """Tokens of the note that brim added to it."""


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
        self.roles: dict[str, list[int]] = {}
        """Messages and tokens of the last request by role."""
        self.sizes: dict[int, MessageSize] = {}
        """The size of each message, by the identity of the message."""
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
            units += self.size(now).units
        return units

    def _count(self) -> None:
        """Add the new messages to the sizes and to the sums by role."""
        turns = self.history.turns
        if turns.generation != self._generation:
            self._generation, self._counted, self.sizes, self.roles = turns.generation, 0, {}, {}
        new = slice(self._counted, None)
        for raw, message, units in zip(turns.raws[new], turns.messages[new], turns.units[new], strict=True):
            role = _role(message)
            self.sizes[id(raw)] = MessageSize(units, role)
            row = self.roles.setdefault(role, [0, 0])
            row[0] += 1
            row[1] += units
        self._counted = len(turns.raws)

    def size(self, raw: Any) -> MessageSize:
        """Return the size of a message in a prompt, including messages that brim shortened or wrote."""
        known = self.sizes.get(id(raw))
        if known is not None:
            return known
        turns = self.history.turns
        message = turns.wire.read(raw, 0)
        note = note_in(message, turns.chat.piece) if message.role == "user" else 0
        return MessageSize(turns.chat.units(message), NOTE if is_note(message) else _role(message), note)

    def _faults(self) -> list[str]:
        turns = self.history.turns
        faults = {next((text for part, text in _FAULTS if part in r.reason), r.reason) for r in turns.repairs}
        if turns.seams.open:
            faults.add("a call without its result")
        if turns.unfinished and turns.idle(()):
            faults.add("reasoning without a text or a call after it")
        return sorted(faults)


def _role(message: Message) -> str:
    return "tool" if message.results else message.role
