"""A conversation as it was recorded: each message counted once, and what each request takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from brim.audit.facts import Facts
from brim.audit.trace import TraceStep
from brim.history.history import History
from brim.history.note import is_note, note_in
from brim.wire.message import Message

NOTE = "note"
"""What the line of brim's own counts as, beside the roles."""
_FAULTS = (
    ("no call waits", "a result without its call"),
    ("the user has to speak", "the model speaks first"),
    ("its result has to follow", "a result apart from its call"),
)
"""What is wrong with a message, in the words of a repair and in those of a report."""
_MOST_MADE = 4096
"""Messages of brim's own making whose weights are kept."""

Aside = tuple[Any, Any]


class RecordedSize(NamedTuple):
    """What one message takes."""

    units: int
    role: str
    """Who speaks: what tools returned is told apart from what the user said."""
    noted: int = 0
    """Units of brim's own line in it."""


class Recorded:
    """One conversation as it was recorded, up to its last request."""

    def __init__(self, facts: Facts, format: str | None) -> None:
        self.facts = facts
        self.format = format
        self.history = History(meter=facts.scale, format=format)
        self.length = 0
        """Messages of the last request."""
        self.aside: Aside = (None, None)
        """The tools and the system prompt of the last request."""
        self.extra: Mapping[str, int] = {}
        """Units beside the messages."""
        self.units = 0
        """Units of the last request."""
        self.shared = 0
        """Units at its start that the request before had as well."""
        self.roles: dict[str, list[int]] = {}
        """Messages and units of the last request by who speaks."""
        self.weights: dict[int, RecordedSize] = {}
        """What each message weighs, by its identity."""
        self._made: dict[int, tuple[Any, RecordedSize]] = {}
        self._generation = -1
        self._counted = 0

    def follows(self, facts: Facts, format: str | None, kept: int) -> bool:
        """Return whether the next request goes on from this one: it only adds messages."""
        same = facts.scale is self.facts.scale and facts.size == self.facts.size and format == self.format
        return same and kept >= self.length

    def take(self, step: TraceStep, before: Recorded | None) -> None:
        """Take in a request; `before` is the conversation that it changes rather than goes on from.

        Raises:
            InvalidValue: a message or a tool that cannot be.
        """
        aside = (step.ask.tools, step.ask.system)
        last_units, last_aside = self.units, self.aside
        self.history.extend(step.messages[self.length : step.length])
        if aside != last_aside:
            self.aside = aside
        self.extra, _ = self.history.beside(*self.aside)
        kept, self.length = self.length, step.length
        self._weigh()
        book, repairs = self.history.book, self.history.book.repairs
        messages = book.total + book.fixed + sum(repair.units for repair in repairs)
        self.units = messages + sum(self.extra.values())
        if kept and last_aside == self.aside:
            self.shared = last_units - self.extra["reply"]
        elif before is not None and before.aside == self.aside:
            self.shared = self._before(step.kept)
        else:
            self.shared = 0

    def _before(self, kept: int) -> int:
        """Return the units of the first messages and of what stands before them."""
        book = self.history.book
        if not kept:
            return 0
        own = sum(units for units, index in zip(book.units, book.indexes, strict=True) if index < kept)
        return own + sum(self.extra.values()) - self.extra["reply"]

    def _weigh(self) -> None:
        """Take note of who said how much, of the messages that are new."""
        book = self.history.book
        if book.generation != self._generation:
            self._generation, self._counted, self.weights, self.roles = book.generation, 0, {}, {}
        for raw, message, units in zip(
            book.raws[self._counted :], book.messages[self._counted :], book.units[self._counted :], strict=True
        ):
            role = role_of(message)
            self.weights[id(raw)] = RecordedSize(units, role)
            row = self.roles.setdefault(role, [0, 0])
            row[0] += 1
            row[1] += units
        self._counted = len(book.raws)

    def weigh(self, raw: Any) -> RecordedSize:
        """Return what a message that is sent weighs; also one that brim changed or wrote."""
        known = self.weights.get(id(raw))
        if known is not None:
            return known
        seen = self._made.get(id(raw))
        if seen is None or seen[0] is not raw:
            book = self.history.book
            message = book.wire.read(raw, 0)
            noted = note_in(message, book.chat.piece) if message.role == "user" else 0
            role = NOTE if is_note(message) else role_of(message)
            told = RecordedSize(book.chat.units(message), role, noted)
            if len(self._made) >= _MOST_MADE:
                self._made.clear()
            seen = self._made[id(raw)] = (raw, told)
        return seen[1]

    def faults(self) -> list[str]:
        """Return what no provider would take of the last request, each kind once."""
        book = self.history.book
        found = {next((told for said, told in _FAULTS if said in r.reason), r.reason) for r in book.repairs}
        if book.pairs.open:
            found.add("a call without its result")
        if book.unfinished and book.idle(()):
            found.add("reasoning that leads to nothing")
        return sorted(found)

    def source(self) -> Sequence[Any]:
        """Return the messages as they came."""
        return self.history.book.source


def role_of(message: Message) -> str:
    """Return who speaks: what tools returned is told apart from what the user said."""
    return "tool" if message.results else message.role
