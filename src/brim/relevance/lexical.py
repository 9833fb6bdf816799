"""Relevance of the texts of a conversation to a query, offline.

The measure is BM25 over a text and its neighbours, which count less with distance: an answer seldom repeats the words
of its question, but is next to it. Terms and lengths are spread over the neighbours before a term saturates, so that
two words of the query near each other are worth more than one word twice. Texts by a speaker whom the query names are
worth more.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Sequence
from itertools import accumulate

from brim.errors import InvalidValue
from brim.meter.words import terms

_SATURATION = 1.2
"""How soon a repeated term saturates: the `k1` of BM25."""
_LENGTH = 0.75
"""How much the length of a text counts: the `b` of BM25."""
_KIN_LETTERS = 5
"""Words that share this many first letters are related: donate and donation. Without, recall is 0.005 lower."""
_KIN_SHARE = 0.5
"""The weight of a related word."""
_MOST_TERMS = 20
"""Terms of a query that are used; of a long query, the rarest."""
_LONG = 2
"""A text of more than twice the median size is long, and ranks lower."""
_SPREAD = 0.6
"""The weight of a neighbour's words; of the next one the square, and so on."""
_REACH = 6
"""Texts of usual length that the first and the last text are taken to have beside them."""
_FAINT = 0.03
"""Amounts of a term up to this do not count: the texts are too far from a match."""
_SPEAKER_NAMED = 1.3
"""The weight of a text whose speaker the query names. Without, recall is 0.014 lower."""
_LONGEST_NAME = 60
"""Characters at the start of a text that are searched for its speaker."""
_SPEAKER = re.compile(r"([^\W\d_][^\s:]*(?: [^\s:]+){0,2}): ")
"""The one to three words before a colon with which a text starts."""


class Relevance:
    """A growing index of texts, ranked by a query."""

    def __init__(self, *, conversation: bool = True) -> None:
        """Start an empty index.

        `conversation` says whether the texts follow each other, so that a text near a match is relevant too, and begin
        with the name of their speaker if that is known.
        """
        self._conversation = conversation
        self._lengths: list[int] = []
        """How many terms each text has."""
        self._postings: dict[str, list[tuple[int, int]]] = {}
        """For each term the numbers of its texts, each with its frequency."""
        self._kin: dict[str, list[str]] = {}
        """The terms that start with the same letters."""
        self._halves: list[float] = []
        """For each text the amount of a term that scores half of the maximum."""
        self._said_by: dict[str, list[int]] = {}
        """For each term of a speaker's name the numbers of the texts."""

    def __len__(self) -> int:
        return len(self._lengths)

    def add(self, text: str) -> None:
        """Index one more text."""
        number, found = len(self._lengths), terms(text)
        self._lengths.append(len(found))
        for term, times in Counter(found).items():
            if term not in self._postings and _has_kin(term):
                self._kin.setdefault(term[:_KIN_LETTERS], []).append(term)
            self._postings.setdefault(term, []).append((number, times))
        speaker = _SPEAKER.match(text[:_LONGEST_NAME]) if self._conversation else None
        for term in set(terms(speaker[1])) if speaker else ():
            self._said_by.setdefault(term, []).append(number)

    def rank(self, query: str, sizes: Sequence[int] | None = None, own: Collection[int] = ()) -> list[int]:
        """Return the number of every text, the most relevant first, and the newest first among equals.

        If the query matches nothing, the newest is first. `sizes` are the tokens of the texts: a long one ranks lower,
        since others could have its room. `own` are the texts that the query was taken from, which it does not match.

        Raises:
            InvalidValue: `sizes` are not one for each text.
        """
        return ordered(self.scores(query, own), sizes)

    def scores(self, query: str, own: Collection[int] = ()) -> list[float]:
        """Return how relevant each text is, from 0 for one that does not match; `own` texts do not."""
        scores = [0.0] * len(self._lengths)
        wanted, usual = self._wanted(query, own), _usual(self._lengths)
        halves = self._caught_up(usual) if wanted else []
        for term, weight in wanted:
            amounts = self._amounts(term, _LONG * usual, own)
            for number, amount in enumerate(spread(amounts) if self._conversation else amounts):
                if amount > _FAINT:
                    scores[number] += weight * amount / (amount + halves[number])
        for number in {number for term in terms(query) for number in self._said_by.get(term, ())}:
            scores[number] *= _SPEAKER_NAMED
        return scores

    def _caught_up(self, usual: int) -> list[float]:
        """Return the amounts that score half of the maximum; new texts change them."""
        if len(self._halves) < len(self._lengths):
            around: Sequence[float] = [min(length, _LONG * usual) for length in self._lengths]
            if self._conversation:
                beyond = [usual] * _REACH
                around = spread([*beyond, *around, *beyond])[_REACH:-_REACH]
            slope = _SATURATION * _LENGTH * len(around) / sum(around)
            self._halves = [_SATURATION * (1 - _LENGTH) + slope * length for length in around]
        return self._halves

    def _wanted(self, query: str, own: Collection[int]) -> list[tuple[str, float]]:
        """Return the known terms of a query and related ones, with their weights; related ones last."""
        words = dict.fromkeys(terms(query))
        known = {term: self._rarity(having) for term in words if (having := self._having(term, own))}
        # A long query needs no related words.
        starts = {term[:_KIN_LETTERS]: None for term in words if _has_kin(term)} if len(words) < _MOST_TERMS else {}
        others = [term for start in starts for term in self._kin.get(start, ()) if term not in words]
        kin = {term: _KIN_SHARE * self._rarity(having) for term in others if (having := self._having(term, own))}
        return [*_heaviest(known), *_heaviest(kin)][:_MOST_TERMS]

    def _having(self, term: str, own: Collection[int]) -> int:
        """Return how many texts have a term, without those in `own`."""
        return sum(number not in own for number, _ in self._postings.get(term, ()))

    def _rarity(self, having: int) -> float:
        """Return the weight of a term by the number of texts that have it: the fewer, the higher."""
        # Rounded, since the last bit of a logarithm differs between machines.
        return round(math.log1p((len(self._lengths) - having + 0.5) / (having + 0.5)), 6)

    def _amounts(self, term: str, long: int, own: Collection[int]) -> list[float]:
        """Return the frequency of a term in each text, scaled down for a long text."""
        amounts = [0.0] * len(self._lengths)
        for number, times in self._postings[term]:
            if number not in own:
                amounts[number] = times * min(1, long / self._lengths[number])
        return amounts


def ordered(scores: Sequence[float], sizes: Sequence[int] | None = None) -> list[int]:
    """Return the numbers of the texts in the order in which to select them, by scores and sizes.

    Raises:
        InvalidValue: the sizes are not one for each score.
    """
    worth = scores
    if sizes is not None:
        if len(sizes) != len(scores):
            raise InvalidValue("sizes", len(sizes), f"one for each of the {len(scores):,} texts")
        long = _LONG * _usual(sizes)
        worth = [score if size <= long else score * long / size for score, size in zip(scores, sizes, strict=True)]
    # Sorting leaves equals in their order, also in reverse: the newest first.
    return sorted(range(len(worth) - 1, -1, -1), key=worth.__getitem__, reverse=True)


def _has_kin(term: str) -> bool:
    """Return whether a term can have related ones: numbers and paths have none."""
    return len(term) >= _KIN_LETTERS and term.isalpha()


def _heaviest(weights: dict[str, float]) -> list[tuple[str, float]]:
    """Return the terms by weight, in their own order among equals."""
    return sorted(weights.items(), key=lambda item: -item[1])


def _usual(sizes: Sequence[int]) -> int:
    """Return the median, at least 1."""
    return max(1, sorted(sizes)[len(sizes) // 2]) if sizes else 1


def spread(amounts: Sequence[float]) -> list[float]:
    """Return the amounts, each with the shares that it receives from its neighbours."""
    received = list(accumulate(amounts, lambda carried, own: carried * _SPREAD + own))
    carried = 0.0
    for i in range(len(amounts) - 1, -1, -1):
        received[i] += carried
        carried = (carried + amounts[i]) * _SPREAD
    return received
