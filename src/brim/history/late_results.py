"""Results that do not follow their call, where a provider requires it, and the order that repairs them.

Moving each result at once would shift all messages after it each time. So the moves of one batch are collected, and the
messages are put in order once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from brim.wire.message import Message


class LateResults:
    """The late results of one batch. Until they are moved, positions are those in which the messages came."""

    __slots__ = ("_before", "_ends")

    def __init__(self) -> None:
        self._before: dict[int, list[int]] = defaultdict(list)
        """The results that belong before a message, by its position."""
        self._ends: dict[int, int] = {}
        """The end of the results that follow calls, as far as they were read, by the first message of their run."""

    def __bool__(self) -> bool:
        return bool(self._before)

    def add(self, messages: Sequence[Message], runs: Sequence[int], call: int, at: int) -> bool:
        """Return whether other messages separate a result from its call; it will be moved before the first of them.

        Args:
            messages: the messages, in the order in which they came.
            runs: for each message the first of those that are one for the provider.
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
        """Return the positions of `size` messages in their new order."""
        moved = {at for late in self._before.values() for at in late}
        ordered: list[int] = []
        for at in range(size):
            ordered += self._before.get(at, ())
            if at not in moved:
                ordered.append(at)
        return ordered
