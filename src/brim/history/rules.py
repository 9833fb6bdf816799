"""Which messages of a history stay together, and what providers ask of thinking."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from brim.wire import Wire
from brim.wire.message import Message


class Seams:
    """Where a history may be cut: for each message, the earliest one that it may not be separated from.

    A call and its results stay together, however far apart: a provider refuses either without the other. Some formats
    also keep the model's consecutive items together, or all messages up to the model's next one.
    """

    __slots__ = ("_before", "_calls", "_ends", "_last", "_wire", "open")

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self.open: dict[str, list[int]] = {}
        """The positions of messages with calls that have no result yet, by the call's id."""
        self._calls: dict[str, list[str]] | None = {} if wire.named else None
        """The ids of calls by the name of their function, the newest last, if a result may answer a call by it."""
        self._last = ""
        """The role of the last message."""
        self.start_batch()

    def bond(self, message: Message, at: int) -> int | None:
        """Return the position of the earliest message that this one may not be separated from.

        `None` allows a cut before it. Messages are passed in order, each once.
        """
        last, self._last = self._last, message.role
        call = self._answered(message, at)
        if call is None:
            return at - 1 if self._continues(last, message) else None
        return call

    def _continues(self, last: str, message: Message) -> bool:
        """Return whether the format binds a message to the one before, whose role is `last`."""
        if self._wire.batches:
            return last == message.role == "assistant"
        if not self._wire.pairs or not last:
            return False
        # The user comes first: a cut is allowed where the model starts, and before a further message of the user.
        starts = message.role == "assistant" != last
        return not starts and not (message.role == last == "user" and not message.results)

    def _answered(self, message: Message, at: int) -> int | None:
        """Return the position of the earliest call that the message answers."""
        earliest: int | None = None
        for call in message.results:
            callers = self.open.get(call)
            if callers:
                # Ids may be used again: a result answers the newest open call.
                earliest = callers[-1] if earliest is None else min(earliest, callers[-1])
                callers.pop()
                if not callers:
                    del self.open[call]
        for call in message.calls:
            self.open.setdefault(call, []).append(at)
        if self._calls is not None and message.calls:
            for piece in message.pieces:
                if piece.kind == "call":
                    self._calls.setdefault(piece.name, []).append(piece.id)
        return earliest

    def named(self, message: Message) -> Message:
        """Return a message whose results have the ids of the open calls that they answer by name.

        A client may leave out the id of a result or of a call, but not the name.
        """
        if self._calls is None or not message.results:
            return message
        taken: Counter[str] = Counter()
        pieces, lost = list(message.pieces), []
        for i, piece in enumerate(pieces):
            if piece.kind == "result":
                if taken[piece.id] < len(self.open.get(piece.id, ())):
                    taken[piece.id] += 1
                else:
                    lost.append(i)
        waiting = {name: self._waiting(name) for name in {pieces[i].name for i in lost}}
        for i in lost:
            piece = pieces[i]
            # A result or a call without an id has the name in its place.
            calls = waiting[piece.name] if piece.id == piece.name else iter((piece.name,))
            answered = next((call for call in calls if taken[call] < len(self.open.get(call, ()))), None)
            if answered is not None:
                taken[answered] += 1
                pieces[i] = piece._replace(id=answered)
        results = tuple(piece.id for piece in pieces if piece.kind == "result")
        return message._replace(pieces=tuple(pieces), results=results)

    def _waiting(self, name: str) -> Iterator[str]:
        """Return the ids of open calls of a function, the newest first."""
        calls = (self._calls or {}).get(name, [])
        while calls and calls[-1] not in self.open:
            calls.pop()
        return reversed(calls)

    def callers(self, message: Message) -> dict[int, int | None]:
        """Return for each result the position of the call that it answers; `None` if there is none."""
        taken: dict[str, int] = {}
        found: dict[int, int | None] = {}
        for i, piece in enumerate(message.pieces):
            if piece.kind == "result":
                waiting, before = self.open.get(piece.id, ()), taken.get(piece.id, 0)
                found[i] = waiting[-1 - before] if before < len(waiting) else None
                taken[piece.id] = before + 1
        return found

    def moved(self, place: Mapping[int, int]) -> None:
        """Adjust positions after messages were moved."""
        for callers in self.open.values():
            callers[:] = [place[at] for at in callers]

    # Results that a provider expects earlier. Until a batch is complete, positions are in the order of arrival.

    def start_batch(self) -> None:
        """Forget the late results of the last batch of messages."""
        self._before: dict[int, list[int]] = defaultdict(list)
        """The results to insert before a message, by its position."""
        self._ends: dict[int, int] = {}
        """The end of the results after calls so far, by the first message of the calls' run."""

    def is_late(self, messages: Sequence[Message], runs: Sequence[int], call: int, at: int) -> bool:
        """Return whether other messages separate a result from its call; it will be moved before the first of them.

        Args:
            messages: the messages, in the order of arrival.
            runs: for each message the first of those that the provider combines with it.
            call: the position of the call.
            at: the position of the result.
        """
        run = runs[call]
        end = self._ends.get(run, call + 1)
        while end < at and (runs[end] == run or messages[end].results):
            end += 1
        self._ends[run] = end
        if end < at:
            self._before[end].append(at)
        return end < at

    def order(self, size: int) -> list[int]:
        """Return the positions of `size` messages in their new order; empty if none is moved."""
        moved = {at for late in self._before.values() for at in late}
        staying = (at for at in range(size if moved else 0) if at not in moved)
        return [each for at in staying for each in (*self._before.get(at, ()), at)]


_UNBOUND = re.compile(r"claude-(?:[a-z]+-)?[1-4]\b|claude-[a-z]+-5(?:-0)?(?![-.]?[1-9])|claude-[1-4]")
"""Models known to accept thinking after any edit; later ones refuse it."""


def binds(model: str | None) -> bool:
    """Return whether a model may refuse thinking after an edit; an unknown model may."""
    return model is None or _UNBOUND.search(model) is None


def asks_for_thinking(model: str | None) -> bool:
    """Return whether a model may refuse a last call without the thinking before it.

    Those that bind thinking decide by themselves whether to think, and do not ask for it; an unknown model may ask.
    """
    return model is None or "claude" not in model.casefold() or not binds(model)
