"""What a cut or a summary will need, made ready while messages come.

A cut of a long history reads every message in it, and writes most of them to the store. Once a session has used half of
its budget, each message that comes brings some older ones of that work with it, so that the prompt that cuts does
little more than choose.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from brim.history.compact.lines import said_in
from brim.history.history import History
from brim.history.receipt import written
from brim.receipts.receipt import handle
from brim.sessions.ahead_log import AHEAD, AheadLog, DroppedTurns, StoredTurn, chosen_of
from brim.store.base import RepeatedText
from brim.store.repeated_text import SHOWN

Span = tuple[int, int]
Repeating = Mapping[str, Sequence[int]]
"""The numbers of the entries that texts repeat, by the handles of the texts."""

_FROM = 2
"""The part of the budget, one in so many, from which on messages are read ahead."""
_LARGE = 100_000
"""Tokens of a budget from which on the log has forms ahead; a smaller cut writes few, and those that it takes."""
_AHEAD = (3, 8)
"""Messages that are read for each that comes, and how many more."""


class LeftOut(NamedTuple):
    """What is dropped from a prompt."""

    texts: dict[str, str]
    """Texts by their handles."""
    turns: DroppedTurns
    """Turns whose texts the store has."""
    repeating: Repeating
    """The numbers of the entries that texts repeat, by their handles."""


class ReadAhead:
    """How far the messages of a session were read ahead, and what the store has of them."""

    def __init__(self, history: History) -> None:
        self._history = history
        self.numbers: dict[int, int] = {}
        """The numbers of the entries of messages, by their place among those of the caller, where known."""
        self.repeating: dict[str, tuple[int, ...]] = {}
        """The numbers of the entries that the texts repeat which were read last, by their handles."""
        self.forget()

    def forget(self) -> None:
        """Read all messages again: the store may not have their texts any more."""
        self._order = self._history.turns.order
        self._spans: list[Span] = []
        """The turns that were read."""
        self.log = AheadLog()
        """What the log has of them."""
        self._lines: list[tuple[str, dict[str, Any]]] = []

    def run(self, came: int, budget: int, *, summaries: bool, store: bool, keep: int = 1) -> dict[str, str]:
        """Read some of the messages, and return texts for the store, by their handles.

        Args:
            came: how many messages have come.
            budget: the tokens of a prompt.
            summaries: whether summaries replace what is dropped, instead of excerpts.
            store: whether there is a store, which takes the texts.
            keep: how many of the newest turns are not read: one may not be complete, and a summary leaves some.
        """
        turns = self._history.turns
        self._lines, self.repeating = [], {}
        if turns.order != self._order or (self.log.said != summaries and (self._spans or self.log.turns)):
            self.forget()
        self.log.said = summaries
        if (turns.fixed + turns.total) * _FROM < budget:
            return {}
        first, until = self._next(), self._until(came, keep)
        if first == until:
            return {}
        read = range(first, until)
        self._spans += map(turns.span, read)
        forms = {} if summaries else self._history.read_ahead(read)
        texts, handles, repeats = dict[str, str](), dict[int, StoredTurn](), dict[int, StoredTurn]()
        for turn in read:
            start, stop = turns.span(turn)
            known = self.log.known(start)
            if summaries:
                found = self._said(turn)
            elif store and (known is None or known[0] != stop):
                found = self.turn_texts(turns.members(turn))
            else:
                continue
            names = tuple(found)
            if known in ((stop, names), (stop, shown := tuple(name[:SHOWN] for name in names))):
                continue
            texts |= found
            if all(map(self.repeating.__contains__, names)):
                repeats[start] = stop, shown
            else:
                handles[start] = stop, names
        if not store:
            return {}
        self.log.repeats.update(repeats)
        logged = self.log.forms
        fresh = {at: form for at, form in forms.items() if logged.get(at) != form} if budget >= _LARGE else {}
        if handles or fresh:
            self._lines = [(AHEAD, self.log.entry(handles, fresh))]
        return texts

    def turn_texts(self, members: list[int]) -> dict[str, str]:
        """Return the texts of a turn and of the results in it by their handles, and note which entries they repeat."""
        parts = list(_turn_parts(self._history, members))
        for name, _, repeated in parts:
            self._note_repeated(name, repeated)
        return {name: text for name, text, _ in parts}

    def _note_repeated(self, name: str, positions: Sequence[int]) -> None:
        """Note that a text repeats messages."""
        numbers = self._numbers(positions)
        if all(numbers):
            self.repeating[name] = tuple(sorted(numbers))

    def _numbers(self, positions: Iterable[int]) -> list[int]:
        """Return the numbers of the entries of messages; 0 where it is not known."""
        indexes = self._history.turns.indexes
        return [self.numbers.get(indexes[at], 0) for at in positions]

    def _next(self) -> int:
        """Return the first turn that was not read; one that has been joined with a later one is read again."""
        spans, starts = self._spans, self._history.turns.starts
        while spans and (len(spans) >= len(starts) or starts[len(spans)] != spans[-1][1]):
            spans.pop()
        return len(spans)

    def _until(self, came: int, keep: int) -> int:
        """Return the turn before which to stop."""
        turns, until = self._history.turns, len(self._spans)
        most = came * _AHEAD[0] + _AHEAD[1]
        while until < len(turns.starts) - keep and most > 0:
            start, stop = turns.span(until)
            most, until = most - (stop - start), until + 1
        return until

    def lines(self) -> list[tuple[str, dict[str, Any]]]:
        """Return the entries for the log of what was read last."""
        return self._lines

    def _said(self, turn: int) -> dict[str, str]:
        """Return what the messages of a turn say, by handle, for a summary that will take their place."""
        found = dict[str, str]()
        for at in self._history.turns.members(turn):
            one = said_in(self._history.turns.messages[at])
            if one is not None:
                found[one.handle] = one.text
                self._note_repeated(one.handle, [at])
        return found

    def remains(self) -> list[Any]:
        """Return what was read, for a caller that frees it little by little."""
        return [*self.log.forms.values(), *self.log.turns.values()]

    def stored(self, spans: Mapping[int, int]) -> set[int]:
        """Return the first positions of those turns whose texts the store has; `spans` says where each ends."""
        if self._order != self._history.turns.order or self.log.said:
            return set()
        known = self.log.known
        return {start for start, stop in spans.items() if (found := known(start)) is not None and found[0] == stop}

    def dropped(self, starts: Collection[int]) -> DroppedTurns:
        """Return turns that the store has, by their first positions."""
        if not starts:  # As with most prompts.
            return DroppedTurns((0, ""), (), ())
        return DroppedTurns(chosen_of(self.log.turns, starts), self._runs(starts), self.log.names(starts))

    def _runs(self, starts: Collection[int]) -> list[int]:
        """Return the first and the last entry of each run of turns whose texts repeat the log."""
        runs: list[int] = []
        joined = False
        for start, (stop, _) in sorted(self.log.repeats.items()):
            if start in starts and start not in self.log.turns:
                numbers = self._numbers(range(start, stop))
                first, last = min(numbers), max(numbers)
                if joined and first > runs[-1]:
                    runs[-1] = last
                else:
                    runs += [first, last]
            joined = start in starts
        return runs

    def replaced(self, texts: Mapping[str, str]) -> LeftOut:
        """Return texts that a summary replaces, without those that the store has."""
        shown = {name[:SHOWN] for name in texts}
        known = [*self.log.turns.items(), *self.log.repeats.items()] if self.log.said else ()
        stored = {start for start, (_, names) in known if names and all(name[:SHOWN] in shown for name in names)}
        turns = self.dropped(stored)
        there = {name[:SHOWN] for name in turns.handles}
        return LeftOut({name: text for name, text in texts.items() if name[:SHOWN] not in there}, turns, {})

    def take(self, repeats: Sequence[RepeatedText]) -> None:
        """Note texts that the store has, by the entries of the messages that they repeat."""
        turns, numbers = self._history.turns, self.numbers
        places = {numbers[index]: at for at, index in enumerate(turns.indexes) if index in numbers}
        named: dict[int, list[RepeatedText]] = {}
        for each in repeats:
            if each.first in places and each.last in places:
                named.setdefault(turns.turn_of(places[each.last]), []).append(each)
        for turn, found in named.items():
            start, stop = turns.span(turn)
            entries = self._numbers(range(start, stop))
            whole = (min(entries), max(entries))
            if any(each.turn and (each.first, each.last) == whole for each in found):
                self.log.repeats[start] = stop, tuple(each.handle for each in found)


def _turn_parts(history: History, members: list[int]) -> Iterator[tuple[str, str, list[int]]]:
    """Yield the texts of a turn with their handles, and the positions of the messages that each repeats."""
    turns = history.turns
    told = written([turns.raws[at] for at in members])
    yield handle(told), told, members
    for at in members:
        for texts in turns.messages[at].outputs():  # A mark in a prompt has the handle of one result.
            joined = "\n".join(texts)
            yield handle(joined), joined, [at]
