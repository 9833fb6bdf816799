"""What a cut or a summary will need, made ready while messages come.

A cut of a long history reads every message in it, and writes most of them to the store. Once a session has used half of
its budget, each message that comes brings some older ones of that work with it, so that the prompt that cuts does
little more than choose.
"""

from __future__ import annotations

from collections.abc import Mapping

from brim.history.compact.plan import said_in
from brim.history.compact.reading import MessageReading, read
from brim.history.history import History
from brim.history.receipt import written
from brim.receipts.receipt import handle

Span = tuple[int, int]

_FROM = 2
"""The part of the budget, one in so many, from which on messages are read ahead."""
_AHEAD = (3, 8)
"""Messages that are read for each that comes, and how many more."""


class ReadAhead:
    """How far the messages of a session were read ahead, and which of their texts the store has."""

    def __init__(self, history: History) -> None:
        self._history = history
        self.forget()
        self.readings: dict[tuple[str, str], MessageReading] = {}
        """What a summary needs of messages, by role and text."""

    def forget(self) -> None:
        """Read all messages again: the store may not have their texts any more."""
        self._generation = self._history.turns.generation
        self._turn = 0
        """The first turn that was not read."""
        self._handles: dict[Span, tuple[str, ...]] = {}
        self._texts: set[str] = set()

    def run(self, came: int, budget: int, *, summaries: bool, store: bool) -> dict[str, str]:
        """Read some of the messages, and return texts for the store, by their handles.

        Args:
            came: how many messages have come.
            budget: the tokens of a prompt.
            summaries: whether summaries replace what is dropped, instead of excerpts.
            store: whether there is a store, which takes the texts.
        """
        turns = self._history.turns
        if turns.generation != self._generation:
            self.forget()
        if (turns.fixed + turns.total) * _FROM < budget:
            return {}
        until, texts = self._turn, dict[str, str]()
        most = came * _AHEAD[0] + _AHEAD[1]
        while until < len(turns.starts) - 1 and most > 0:  # The newest turn may not be complete.
            span = turns.span(until)
            members, most, until = turns.members(until), most - (span[1] - span[0]), until + 1
            if summaries:
                found = {name: text for at in members for name, text in self._said(at)}
                self._texts.update(found if store else ())
            else:
                found = turn_texts(self._history, members) if store else {}
                self._handles[span] = tuple(found)
            texts |= found
        if not summaries:
            self._history.read_ahead(turns.starts[until] if until < len(turns.starts) else 0)
        self._turn = until
        return texts if store else {}

    def _said(self, at: int) -> list[tuple[str, str]]:
        """Read a message for a summary, and return its text with its handle."""
        one = said_in(self._history.turns.messages[at])
        if one is None:
            return []
        self.readings[one.role, one.text] = read(one)
        return [(one.handle, one.text)]

    def handles(self, span: Span) -> tuple[str, ...]:
        """Return the handles of the texts of a turn, if the store has them."""
        return self._handles.get(span, ()) if self._generation == self._history.turns.generation else ()

    def without_stored(self, texts: Mapping[str, str]) -> dict[str, str | None]:
        """Return texts by their handles, `None` for those that the store has."""
        return {name: None if name in self._texts else text for name, text in texts.items()}


def turn_texts(history: History, members: list[int]) -> dict[str, str]:
    """Return the text of a turn, and those of the results in it, by their handles."""
    turns = history.turns
    told = written([turns.raws[at] for at in members])
    texts = {handle(told): told}
    for at in members:
        if outputs := [piece.text for piece in turns.messages[at].pieces if piece.kind == "output"]:
            joined = "\n".join(outputs)
            texts[handle(joined)] = joined
    return texts
