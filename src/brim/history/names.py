"""The names in a history, and the lines in which each was last used.

A name is a path, an id or an identifier. An agent has to write it letter by letter, so it has to see it, in its line.
Each message is read for names once, and a name that is used again moves to the end of the index, so a fit finds the
newest names without looking at all of them. A name that stands only further back than a thousand messages is not found.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Collection, Iterator
from itertools import islice

from brim.history.envelopes import body
from brim.history.turns import MessageIndex
from brim.history.worth import NameUse
from brim.meter.memo import Memo
from brim.meter.words import stem
from brim.wire.message import Message

_WORD = re.compile(r"(?<!\\)\w[\w./\-@#:]{4,198}\w")
"""A long word; the letter of an escape such as `\\n` is not its first."""
_PLAIN_WORD = re.compile(r"[^\W\d_]{3,40}")
"""A word of letters, alone or in a name."""
_TELLING = re.compile(r"[0-9_/#@.]|[a-z][A-Z]")
"""What makes a word a name."""
_MOST_WORDS = 3_000
"""Words of one text that are examined."""
_REACH = 400_000
"""Characters of one text that are searched: a text without long words would be searched to its end."""
_PLACES: Memo[array[int]] = Memo()
"""The places of names in texts: a history that is fitted again has the same texts."""


class NameIndex(MessageIndex):
    """The names of the newest messages of a history."""

    _block = 1_000

    def _forget(self) -> None:
        self._uses: dict[str, NameUse] = {}
        """The names, the one that was used longest ago first."""

    def needed(self, newest: int) -> Iterator[tuple[NameUse, float]]:
        """Yield the last uses of the `newest` names, and the chance that the next message has each."""
        self.keep_up()
        now = len(self._turns)
        return ((use, use.chance(now)) for use in islice(reversed(self._uses.values()), newest))

    def _add(self, position: int, message: Message) -> None:
        if message.role == "system":
            return
        uses, places = Counter[str](), dict[str, tuple[int, int, int]]()
        for at, piece in enumerate(message.pieces):
            if piece.kind in ("text", "output", "call"):
                for name, start in names_in(piece.text[: body(piece.text)]):
                    uses[name] += 1
                    places[name] = position, at, start
        own, task = message.role == "assistant", position == self._turns.task
        for name, place in places.items():
            known = self._uses.pop(name, None)
            use = self._uses[name] = known or NameUse(position)
            use.add(place, uses[name], len(places), own=own, task=task)


def names_in(text: str) -> list[tuple[str, int]]:
    """Return the names in a text, each with its offset."""
    places = _PLACES.get(text)
    if places is None:
        places = _places(text)
        _PLACES.put(text, places)
    ends = iter(places)
    return [(text[start:stop], start) for start, stop in zip(ends, ends, strict=True)]


def _places(text: str) -> array[int]:
    """Return where each name in a text begins and ends."""
    places = array("L")
    for found in islice(_WORD.finditer(text, 0, _REACH), _MOST_WORDS):
        name = found.group()
        if not (name.islower() and name.isalpha()) and _TELLING.search(name):  # The first test excludes most words.
            places.extend(found.span())
    return places


def has_value(text: str) -> bool:
    """Return whether a text has more than plain words: a number, a path, an identifier."""
    return _TELLING.search(text) is not None


def single_places(text: str, terms: Collection[str]) -> Iterator[int]:
    """Yield the offsets of words that occur once in a text and whose stem is among some terms; names are divided."""
    lower = text[:_REACH].replace("İ", "I").lower()  # The only letter whose lower case is longer.
    for word, times in Counter(_PLAIN_WORD.findall(lower)).items():
        if times == 1 and stem(word) in terms:
            found = re.search(rf"(?<![^\W\d_]){word}(?![^\W\d_])", lower)
            if found is not None:  # A run of more letters than a word may have is divided.
                yield found.start()


def named_places(text: str, names: Collection[str]) -> Iterator[int]:
    """Yield the offsets of names that occur once in a text, not as a part of another."""
    for name in names:
        at = text.find(name, 0, _REACH)
        if at >= 0:
            found = re.finditer(rf"(?<![\w\-]){re.escape(name)}(?![\w\-]|[./@#:]\w)", text[:_REACH])
            if (first := next(found, None)) and not next(found, None):
                yield first.start()


def asked_names(text: str) -> frozenset[str]:
    """Return the values that a text names, also short ones: `shop-4`, `W12`, `4711`, `app.py`."""
    return frozenset(islice((word for word in _SHORT_NAME.findall(text[:_REACH]) if has_value(word)), _MOST_ASKED))


_SHORT_NAME = re.compile(r"\w[\w./\-@#:]{1,198}\w")
_MOST_ASKED = 30
"""Names of one instruction that are looked for in each result."""
