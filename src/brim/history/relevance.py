"""Relevance of the texts of a conversation to a query, offline.

The measure is BM25 on a text together with its neighbours, which count less with distance: an answer seldom repeats the
words of its question, but it stands next to it. Terms and lengths spread over the neighbours first, and only
then a term saturates, so that two words of the query near each other are worth more than one word twice. In a
conversation of several people, what was said by someone whom the query names is worth more.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import accumulate

from brim.history.term_index import TermIndex
from brim.meter.words import terms

_SPREAD = 0.6
"""The weight of a neighbour's words; of the next one the square, and so on."""
_REACH = 6
"""Neighbours on each side that a term reaches; beyond them its weight is below 0.03."""
_SPEAKER_NAMED = 1.3
"""The weight of a text whose speaker the query names."""
_LONGEST_NAME = 60
"""Characters at the start of a text in which its speaker is looked for."""
_SPEAKER = re.compile(r"([^\W\d_][^\s:]*(?: [^\s:]+){0,2}): ")
"""The one to three words before a colon with which a text starts."""


class Relevance(TermIndex):
    """An index of the texts of a conversation, in which a text near a match is relevant too."""

    def __init__(self) -> None:
        super().__init__()
        self._said_by: dict[str, list[int]] = {}
        """For each term of a speaker's name the numbers of the texts."""

    def add(self, text: str) -> None:
        """Index one more text, and the name of its speaker if it starts with one."""
        if speaker := _SPEAKER.match(text[:_LONGEST_NAME]):
            for term in set(terms(speaker[1])):
                self._said_by.setdefault(term, []).append(len(self))
        super().add(text)

    def scores(self, query: str, own: Collection[int] = ()) -> list[float]:
        """Return how relevant each text is, from 0 for one that does not match; `own` texts do not."""
        scores = super().scores(query, own)
        for number in {number for term in terms(query) for number in self._said_by.get(term, ())}:
            scores[number] *= _SPEAKER_NAMED
        return scores

    def _runs(self, having: Iterable[tuple[int, float]]) -> Iterator[tuple[int, Sequence[float]]]:
        for start, amounts in _stretches(having, len(self)):
            yield start, spread(amounts)

    def _around(self, clipped: Sequence[int], usual: int) -> Sequence[float]:
        beyond = [usual] * _REACH  # The first and the last have neighbours on one side only.
        return spread([*beyond, *clipped, *beyond])[_REACH:-_REACH]


def spread(amounts: Sequence[float]) -> list[float]:
    """Return the amounts with what each receives from its neighbours on both sides."""
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
