"""What a cut will need, made ready while messages come.

A cut of a long history reads every message in it. Once a session has used half of its budget, each message that comes
brings some older ones of that work with it, so that the prompt that cuts does little more than choose.
"""

from __future__ import annotations

from brim.history.history import History

_FROM = 2
"""The part of the budget, one in so many, from which on messages are read ahead."""
_AHEAD = (3, 8)
"""Messages that are read for each that comes, and how many more."""


class ReadAhead:
    """How far the messages of a session were read ahead."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._order = history.turns.order
        self._spans: list[tuple[int, int]] = []
        """The turns that were read."""

    def run(self, came: int, budget: int) -> None:
        """Read some of the messages, after so many have come; `budget` is that of a prompt."""
        turns, spans = self._history.turns, self._spans
        if turns.order != self._order:
            self._order = turns.order
            spans.clear()
        if (turns.fixed + turns.total) * _FROM < budget:
            return
        # A turn that has been joined with a later one is read again.
        while spans and (len(spans) >= len(turns.starts) or turns.starts[len(spans)] != spans[-1][1]):
            spans.pop()
        first, left = len(spans), came * _AHEAD[0] + _AHEAD[1]
        while len(spans) < len(turns.starts) - 1 and left > 0:  # The newest turn may not be complete.
            start, stop = turns.span(len(spans))
            spans.append((start, stop))
            left -= stop - start
        if len(spans) > first:
            self._history.read_ahead(range(first, len(spans)))
