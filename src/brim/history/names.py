"""The names that a history mentions, those first that are most likely to be needed next.

A name is a word that stands for one thing: a path, an id, an identifier. An agent has to write it letter by letter, so
it has to see it, with what stood around it. Each message is read for names once.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from math import log
from operator import itemgetter
from typing import NamedTuple

from brim.history.turns import Turns
from brim.meter.memo import Memo

_WORD = re.compile(r"\w[\w./\-@#:]{4,198}\w")
_ASCII_WORD = re.compile(r"[0-9A-Za-z_][0-9A-Za-z_./\-@#:]{4,198}[0-9A-Za-z_]")
"""The same in ASCII, in two thirds of the time: no category of Unicode is looked up."""
_TELLING = re.compile(r"[0-9_/#@.]|[a-z][A-Z]")
"""What makes a word a name."""
_MOST = 3_000
"""Words of one text that are looked at."""
_REACH = 400_000
"""Characters of one text in which they are searched: a text without long words would be searched to its end."""
_AROUND = 48
"""Characters on either side of a name that belong to it."""
_WIDEN = 24
"""Characters by which a part of a text may grow, so that it begins and ends well."""
_MARKS = ("\n", ". ", ", ", " ")
"""What a part begins and ends with: a line, a sentence, a member of a list, a word."""
_WRITTEN, _OFTEN, _SPREAD, _NEWER = 1.6, 0.5, 0.3, 0.05
"""What adds to the odds that a name is needed: the agent wrote it, how often, in how many messages it is, how late it
was last seen. Fitted to recorded runs; docs/design/histories.md has the figures."""
_ASKED = 64
"""Messages whose names are remembered with where they were said first: a fit asks for those of the newest."""
_PLACES: Memo[array[int]] = Memo()
"""Where the names of texts are: a history that is fitted anew brings the same texts."""


class Surroundings(NamedTuple):
    """A name in a text of a message, with what stands around it."""

    position: int
    """The message."""
    piece: int
    """The index of the text among the pieces of the message."""
    start: int
    stop: int
    density: float
    """About the tokens of a character."""


@dataclass(slots=True)
class NameUse:
    """Where a name was seen."""

    key: float = 0.0
    """The lower, the more likely it is needed."""
    written: int = 0
    """How often the agent wrote it."""
    messages: int = 0
    """How many messages mention it."""
    step: int = 0
    """The number of the agent's step at which it was last seen."""
    position: int = -1
    """The last message that mentions it."""
    piece: int = 0
    start: int = 0
    stop: int = 0
    around: Surroundings | None = None
    first: tuple[int, int, int] = (-1, 0, 0)
    """The message, the piece and the place where it was said first."""
    origin: Surroundings | None = None


class NameIndex:
    """The names of a history."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._forget()

    def _forget(self) -> None:
        self._order = self._turns.order
        self._read = 0
        self._step = 0
        self._uses: dict[str, NameUse] = {}
        self._ranked: list[tuple[float, str, NameUse]] = []
        self._densities: dict[int, float] = {}
        self._introduced: dict[int, list[Surroundings]] = {}

    def ranked(self) -> Iterator[NameUse]:
        """Yield the names, the most likely to be needed first."""
        self.read(len(self._turns))
        return map(itemgetter(2), self._ranked)

    def introduced(self, position: int) -> Sequence[Surroundings]:
        """Return where the names of a message were said first, with what stands around them."""
        self.read(len(self._turns))
        known = self._introduced.get(position)
        if known is None:
            if len(self._introduced) > _ASKED:
                self._introduced.clear()
            known = self._introduced[position] = list(self._find_introduced(position))
        return known

    def _find_introduced(self, position: int) -> Iterator[Surroundings]:
        pieces = self._turns.messages[position].pieces
        for name in dict.fromkeys([name for piece in pieces for name, _ in names_in(piece.text)]):
            use = self._uses.get(name)
            if use is not None and use.first[0] < position:
                if use.origin is None:
                    at, piece, start = use.first
                    use.origin = self._around(at, piece, start, start + len(name))
                yield use.origin

    def read(self, stop: int) -> None:
        """Read messages up to a position that were not read before."""
        if self._order != self._turns.order:
            self._forget()
        seen: dict[str, NameUse] = {}
        for position in range(self._read, stop):
            self._add(position, seen)
        self._read = max(self._read, stop)
        for name, use in seen.items():
            self._rank(name, use)

    def surroundings(self, use: NameUse) -> Surroundings:
        """Return where a name was last seen, with what stands around it."""
        if use.around is None:
            use.around = self._around(use.position, use.piece, use.start, use.stop)
        return use.around

    def _around(self, at: int, piece: int, start: int, stop: int) -> Surroundings:
        message = self._turns.messages[at]
        if at not in self._densities:
            size = sum([len(piece.text) for piece in message.pieces])
            self._densities[at] = min(1.0, self._turns.units[at] / max(1, size))
        return Surroundings(at, piece, *widened(message.pieces[piece].text, start, stop), self._densities[at])

    def _add(self, position: int, seen: dict[str, NameUse]) -> None:
        """Read a message."""
        message, uses = self._turns.messages[position], self._uses
        if message.role == "system":
            return
        own = message.role == "assistant"
        self._step += own
        for at, piece in enumerate(message.pieces):
            if piece.kind not in ("text", "output", "call"):
                continue
            for name, start in names_in(piece.text):
                use = uses.get(name)
                if use is None:
                    use = uses[name] = NameUse(first=(position, at, start))
                seen[name] = use
                use.written += own
                use.messages += use.position != position
                use.step = self._step
                use.position, use.piece, use.start, use.stop, use.around = position, at, start, start + len(name), None

    def _rank(self, name: str, use: NameUse) -> None:
        """Put a name where it belongs. The odds are such that time alone changes no order."""
        if use.key:
            del self._ranked[bisect_left(self._ranked, (use.key, name, use))]
        odds = 1 + _SPREAD * log(use.messages) + _NEWER * use.step
        if use.written:
            odds += _WRITTEN + _OFTEN * log(1 + use.written)
        use.key = -odds
        insort(self._ranked, (use.key, name, use))


def names_in(text: str) -> list[tuple[str, int]]:
    """Return the names in a text, each with its place."""
    places = _PLACES.get(text)
    if places is None:
        places = _places(text)
        _PLACES.put(text, places)
    ends = iter(places)
    return [(text[start:stop], start) for start, stop in zip(ends, ends, strict=True)]


def _places(text: str) -> array[int]:
    """Return where each name in a text begins and ends."""
    places = array("L")
    words = _ASCII_WORD if text.isascii() else _WORD
    for found in islice(words.finditer(text, 0, _REACH), _MOST):
        name = found.group()
        if not (name.islower() and name.isalpha()) and _TELLING.search(name):  # Most words are found out by the first.
            places.extend(found.span())
    return places


def widened(text: str, start: int, stop: int) -> tuple[int, int]:
    """Return a place in a text with what stands around it: whole lines or sentences if they are near, or words."""
    start, stop = start - _AROUND, stop + _AROUND
    least, most = start - _WIDEN, stop + _WIDEN
    if least <= 0:
        start = 0
    else:
        for mark in _MARKS:
            at = text.rfind(mark, least, start)
            if at >= 0:
                start = at + len(mark)
                break
    if most >= len(text):
        return start, len(text)
    for mark in _MARKS:
        at = text.find(mark, stop, most)
        if at >= 0:
            return start, at + len(mark.rstrip())
    return start, stop
