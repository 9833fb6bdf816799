"""Rank the texts of a conversation by a question, offline.

The measure is BM25 in which the neighbours of a text count as fields of it: each term spreads over the texts around
those that have it, weaker with every step, and only then saturates. An answer seldom repeats the words of its question,
but it stands beside it. The index grows by one text at a time and holds nothing but lists of numbers.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import accumulate

from brim.errors import InvalidValue
from brim.history.words import terms

_SATURATION = 1.2
"""How much of a term it takes until more of it says little more: the `k1` of BM25."""
_LENGTH = 0.75
"""How much a long text must have more of a term to count the same: the `b` of BM25."""
_SPREAD = 0.6
"""What a neighbour counts of a text's own words; the next one the square of it, and so on."""
_REACH = 6
"""Neighbours on each side that a term reaches at the least; beyond them there are less than three hundredths left."""
_KIN_LETTERS = 5
"""Words that start with as many of the same letters are kin: donate and donation."""
_KIN_SHARE = 0.5
"""What a word's kin count of it."""
_MOST_TERMS = 32
"""Terms of a query that are looked up: a long query costs no more, and its rarest words tell what it is about."""
_ROOMY = 2
"""Times the usual size beyond which a text pays for the room that it takes from others."""


class Relevance:
    """An index of texts that grows, and ranks them by a query."""

    def __init__(self) -> None:
        self.lengths: list[int] = []
        """How many terms each text has."""
        self._postings: dict[str, list[int]] = {}
        """For each term the texts that have it, each followed by how often."""
        self._kin: dict[str, list[str]] = {}
        """The terms that start with the same letters."""

    def __len__(self) -> int:
        return len(self.lengths)

    def add(self, text: str) -> None:
        """Index one more text."""
        found = terms(text)
        number = len(self.lengths)
        self.lengths.append(len(found))
        postings = self._postings
        for term, times in Counter(found).items():
            if term in postings:
                postings[term] += (number, times)
            else:
                postings[term] = [number, times]
                if _has_kin(term):
                    self._kin.setdefault(term[:_KIN_LETTERS], []).append(term)

    def rank(self, query: str, sizes: Sequence[int] | None = None) -> list[int]:
        """Return the number of every text, the most relevant first, and the newest first among equals.

        Where the query matches nothing, that is from the newest to the oldest. `sizes` are the units that each text
        takes; without them the number of its terms stands in.

        Raises:
            InvalidValue: `sizes` are not as many as the texts.
        """
        return ordered(self.scores(query), self.lengths if sizes is None else sizes)

    def scores(self, query: str) -> list[float]:
        """Return how relevant each text is, from 0 for one that neither matches nor stands near a match."""
        scores = [0.0] * len(self.lengths)
        usual = max(1, _usual(self.lengths))
        for term, weight in self._wanted(query):
            for start, amounts in _stretches(self._shares(self._postings[term], usual), len(scores)):
                for number, amount in enumerate(spread(amounts), start):
                    scores[number] += weight * amount / (amount + _SATURATION)
        return scores

    def _wanted(self, query: str) -> list[tuple[str, float]]:
        """Return the known terms of a query and their kin, with their weights; kin last."""
        asked = dict.fromkeys(terms(query))
        own = {term: self._rarity(term) for term in asked if term in self._postings}
        # A long query has words enough without kin.
        others = self._kin_of(asked) if len(asked) < _MOST_TERMS else ()
        kin = {term: _KIN_SHARE * self._rarity(term) for term in others}
        return [*_heaviest(own), *_heaviest(kin)][:_MOST_TERMS]

    def _kin_of(self, asked: Collection[str]) -> Iterator[str]:
        """Yield the terms that start as one of those asked for, and are none of them."""
        for start in dict.fromkeys(term[:_KIN_LETTERS] for term in asked if _has_kin(term)):
            yield from (other for other in self._kin.get(start, ()) if other not in asked)

    def _rarity(self, term: str) -> float:
        """Return what a term is worth: the fewer texts have it, the more."""
        having = len(self._postings[term]) // 2
        # Rounded, so that the last bit of another machine's logarithm does not change an order.
        return round(math.log1p((len(self.lengths) - having + 0.5) / (having + 0.5)), 6)

    def _shares(self, postings: Sequence[int], usual: int) -> Iterator[tuple[int, float]]:
        """Yield the texts of a term in their order, with how much of it there is for a text of that length."""
        base, slope = 1 - _LENGTH, _LENGTH / usual
        lengths = self.lengths
        for number, times in zip(postings[::2], postings[1::2], strict=True):
            yield number, times / (base + slope * lengths[number])


def ordered(scores: Sequence[float], sizes: Sequence[int]) -> list[int]:
    """Return the numbers of the texts in the order in which to take them, for their scores and sizes.

    A text of usual size is taken by its score alone. One that is much larger takes the room of several others, and its
    score counts by so much less.

    Raises:
        InvalidValue: the sizes are not as many as the scores.
    """
    if len(sizes) != len(scores):
        raise InvalidValue("sizes", len(sizes), f"one for each of the {len(scores):,} texts")
    room = _ROOMY * max(1, _usual(sizes))
    worth = [score if size <= room else score * room / size for score, size in zip(scores, sizes, strict=True)]
    # Sorting leaves equals in their order, also in reverse: the newest first.
    return sorted(range(len(worth) - 1, -1, -1), key=worth.__getitem__, reverse=True)


def spread(amounts: Sequence[float]) -> list[float]:
    """Return the amounts with what each receives from its neighbours on both sides, weaker with every step."""
    received = list(accumulate(amounts, lambda carried, own: carried * _SPREAD + own))
    carried = 0.0
    for i in range(len(amounts) - 1, -1, -1):
        received[i] += carried
        carried = (carried + amounts[i]) * _SPREAD
    return received


def _stretches(shares: Iterable[tuple[int, float]], count: int) -> Iterator[tuple[int, list[float]]]:
    """Yield the stretches of neighbouring texts that a term reaches: the first text, and each one's own share."""
    start, last = 0, -1
    amounts: list[float] = []
    for number, share in shares:
        if amounts and number - last > 2 * _REACH:
            yield start, amounts + [0.0] * _REACH
            amounts = []
        if not amounts:
            start = max(0, number - _REACH)
            amounts = [0.0] * (number - start)
        else:
            amounts += [0.0] * (number - last - 1)
        amounts.append(share)
        last = number
    if amounts:
        yield start, amounts + [0.0] * min(_REACH, count - last - 1)


def _has_kin(term: str) -> bool:
    """Return whether other terms may be forms of the same word: numbers and paths have none."""
    return len(term) >= _KIN_LETTERS and term.isalpha()


def _heaviest(weights: dict[str, float]) -> list[tuple[str, float]]:
    """Return the terms by weight, in their own order among equals."""
    return sorted(weights.items(), key=lambda item: -item[1])


def _usual(sizes: Sequence[int]) -> int:
    """Return the median, which a few huge texts do not move."""
    return sorted(sizes)[len(sizes) // 2] if sizes else 0
