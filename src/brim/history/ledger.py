"""The ledger of a history: the exact values that messages state by a key, of which the newest counts.

An id, a port, a path or a checksum cannot be guessed, and a summary in words loses it. So a message that states such
values stays before a long one that states none, and one whose values were all corrected later goes first.
"""

from __future__ import annotations

import re
from collections import Counter

from brim.history.turns import Turns
from brim.meter.memo import Memo

_STATED = re.compile(r"""["']?\b([A-Za-z_][\w.\-/]{1,78}\w)["']?\s?(?:=>?|:|->)\s?["']?([\w./\\@|=+\-]{2,200})""")
"""A key and its value: `port=8443`, `"port": 8443`, `a -> b`."""
_EXACT = re.compile(r"\d|[/\\|@_]|[a-z][A-Z]")
"""What makes a value one that nobody can guess."""
_REACH = 200_000
"""Characters of a text in which values are looked for."""
_FOUND: Memo[tuple[tuple[str, str], ...]] = Memo()


class Ledger:
    """The keys that the messages of people and results state; each message is read once."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._forget()

    def _forget(self) -> None:
        self._order, self._read = self._turns.order, 0
        self._latest: dict[str, int] = {}
        """The position of the message that stated each key last."""
        self._current: Counter[int] = Counter()
        """How many keys each message was the last to state, by position."""

    def keep_up(self) -> None:
        """Read the messages that have come."""
        turns = self._turns
        if self._order != turns.order:
            self._forget()
        for at in range(self._read, len(turns)):
            for piece in turns.messages[at].pieces:
                for key, _ in values_in(piece.text) if piece.kind in ("text", "output") else ():
                    self._current[self._latest.get(key, at)] -= key in self._latest
                    self._latest[key] = at
                    self._current[at] += 1
        self._read = len(turns)

    def current(self, position: int) -> int:
        """Return how many keys a message was the last to state."""
        return self._current[position]


def values_in(text: str) -> tuple[tuple[str, str], ...]:
    """Return the keys and exact values that a text states."""
    known = _FOUND.get(text)
    if known is None:
        found = (match.groups() for match in _STATED.finditer(text, 0, _REACH))
        known = tuple((key, value) for key, value in found if _EXACT.search(value))
        _FOUND.put(text, known)
    return known
