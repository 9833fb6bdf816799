"""A call and its results are sent together: a provider refuses either without the other."""

from __future__ import annotations

from brim.wire.message import Message


class Pairs:
    """Joins each result to the call that it answers, however far back and however many at a time."""

    __slots__ = ("open",)

    def __init__(self) -> None:
        self.open: dict[str, list[int]] = {}
        """The positions of the messages whose calls wait for a result, by the call's id."""

    def bond(self, message: Message, at: int) -> int | None:
        """Return the position of the earliest call that the message answers."""
        earliest: int | None = None
        for call in message.results:
            callers = self.open.get(call)
            if callers:
                # Ids may come again: a result answers the newest call that waits.
                earliest = callers[-1] if earliest is None else min(earliest, callers[-1])
                callers.pop()
                if not callers:
                    del self.open[call]
        for call in message.calls:
            self.open.setdefault(call, []).append(at)
        return earliest

    def orphans(self, message: Message) -> set[int]:
        """Return which pieces of a message are results that answer nothing."""
        if len(message.results) == 1 and message.results[0] in self.open:
            return set()
        waiting = {call: len(callers) for call, callers in self.open.items()}
        lost = set()
        for i, piece in enumerate(message.pieces):
            if piece.kind == "result":
                if not waiting.get(piece.id):
                    lost.add(i)
                else:
                    waiting[piece.id] -= 1
        return lost

    def moved(self, frm: int) -> None:
        """Take note that a message was put before position `frm`, and what stood there one further back."""
        for callers in self.open.values():
            callers[:] = [at + 1 if at >= frm else at for at in callers]
