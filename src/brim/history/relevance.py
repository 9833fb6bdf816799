"""Rank the texts of a conversation by a question, offline.

The measure is BM25 on a text together with its neighbours, which count the less the farther they are: an answer seldom
repeats the words of its question, but it stands beside it. Terms and lengths spread over the neighbours first, and only
then a term saturates, so that two words of the query near each other are worth more than one word twice. The index
grows by one text at a time and holds nothing but lists of numbers.
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
"""How much more of a term a longer text must have to count the same: the `b` of BM25."""
_SPREAD = 0.6
"""What a neighbour counts of a text's own words; the next one the square of it, and so on."""
_REACH = 6
"""Neighbours on each side that a term reaches at the least; beyond them there are less than three hundredths left."""
_KIN_LETTERS = 5
"""Words that start with as many of the same letters are kin: donate and donation."""
_KIN_SHARE = 0.5
"""What a word's kin count of it."""
_MOST_TERMS = 20
"""Terms of a query that are looked up: a long query costs no more, and its rarest words tell what it is about."""
_LONG = 2
"""Times the usual size beyond which a text is long: it counts as a part of that size, and pays for its room."""


class Relevance:
    """An index of texts that grows, and ranks them by a query."""

    def __init__(self) -> None:
        self._lengths: list[int] = []
        """How many terms each text has."""
        self._postings: dict[str, list[int]] = {}
        """For each term the texts that have it, each followed by how often."""
        self._kin: dict[str, list[str]] = {}
        """The terms that start with the same letters."""
        self._halves: list[float] = []
        """For each text the amount of a term that is worth half of what any amount is."""

    def __len__(self) -> int:
        return len(self._lengths)

    def add(self, text: str) -> None:
        """Index one more text."""
        found = terms(text)
        number = len(self._lengths)
        self._lengths.append(len(found))
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
        takes: a long one is put back for the room that others could have.

        Raises:
            InvalidValue: `sizes` are not as many as the texts.
        """
        return ordered(self.scores(query), sizes)

    def scores(self, query: str) -> list[float]:
        """Return how relevant each text is, from 0 for one that neither matches nor stands near a match."""
        scores = [0.0] * len(self._lengths)
        wanted = self._wanted(query)
        if wanted:
            usual = _usual(self._lengths)
            long = _LONG * usual
            halves = self._caught_up(usual)
            for term, weight in wanted:
                for start, amounts in _stretches(self._amounts(term, long), len(scores)):
                    for number, amount in enumerate(spread(amounts), start):
                        scores[number] += weight * amount / (amount + halves[number])
        return scores

    def _caught_up(self, usual: int) -> list[float]:
        """Return the amounts that are worth half, which depend on all texts: anew if there are more since."""
        if len(self._halves) < len(self._lengths):
            beyond = [usual] * _REACH  # The first and the last have neighbours on one side only.
            clipped = [min(length, _LONG * usual) for length in self._lengths]
            around = spread([*beyond, *clipped, *beyond])[_REACH:-_REACH]
            slope = _SATURATION * _LENGTH * len(around) / sum(around)
            self._halves = [_SATURATION * (1 - _LENGTH) + slope * length for length in around]
        return self._halves

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
        return round(math.log1p((len(self._lengths) - having + 0.5) / (having + 0.5)), 6)

    def _amounts(self, term: str, long: int) -> Iterator[tuple[int, float]]:
        """Yield the texts that have a term in their order, and how often; for a long one, in a part of it."""
        postings, lengths = self._postings[term], self._lengths
        for number, times in zip(postings[::2], postings[1::2], strict=True):
            length = lengths[number]
            yield number, times if length <= long else times * long / length


def ordered(scores: Sequence[float], sizes: Sequence[int] | None = None) -> list[int]:
    """Return the numbers of the texts in the order in which to take them, for their scores and sizes.

    Raises:
        InvalidValue: the sizes are not as many as the scores.
    """
    worth = scores
    if sizes is not None:
        if len(sizes) != len(scores):
            raise InvalidValue("sizes", len(sizes), f"one for each of the {len(scores):,} texts")
        long = _LONG * _usual(sizes)
        worth = [score if size <= long else score * long / size for score, size in zip(scores, sizes, strict=True)]
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


def _stretches(having: Iterable[tuple[int, float]], count: int) -> Iterator[tuple[int, list[float]]]:
    """Yield the stretches of neighbouring texts that a term reaches: the first text, and the amount in each."""
    start, last = 0, -1
    amounts: list[float] = []
    for number, amount in having:
        if amounts and number - last > 2 * _REACH:
            yield start, amounts + [0.0] * _REACH
            amounts = []
        if not amounts:
            start = max(0, number - _REACH)
            amounts = [0.0] * (number - start)
        else:
            amounts += [0.0] * (number - last - 1)
        amounts.append(amount)
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
    """Return the median, which a few huge texts do not move, or 1 if it is less."""
    return max(1, sorted(sizes)[len(sizes) // 2]) if sizes else 1
