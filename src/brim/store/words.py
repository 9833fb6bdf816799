"""The words by which texts can be found, and excerpts that show them.

All stores index the terms of `brim.meter.words`, so a query finds the same texts in each of them, in any script;
`ranked` orders the results.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from heapq import nsmallest
from itertools import islice
from math import log

from brim.meter.words import terms

_INDEXED = 1_000_000
"""Characters of a text, from its start, that are indexed and searched for an excerpt."""
_QUERY_WORDS = 64
"""Words of a query that are used, from its start."""
_REPEATED, _LENGTH = 1.2, 0.75
"""The usual parameters of BM25: for repeated words, and for the length of a text."""
RANKED = 100
"""The minimum number of texts that a search reads and ranks."""
_EXCERPT = 200
"""Characters of an excerpt."""

_BLANK = re.compile(r"[\s\0]+")
_HALF = re.compile("[\ud800-\udfff]")


def text_words(text: str) -> list[str]:
    """Return the words of a text in order, with repetitions."""
    return terms(text[:_INDEXED])


def query_words(query: str) -> list[str]:
    """Return the distinct words of a query in order."""
    return list(islice(dict.fromkeys(terms(query)), _QUERY_WORDS))


def rarest(having: Mapping[str, Sequence[int]], total: int, most: int) -> tuple[list[int], dict[str, float]]:
    """Return which texts to rank, and how rare each word is.

    Args:
        having: the places of the texts with each word.
        total: the number of texts.
        most: the largest number of texts to return: those with the rarest words, and the newest among equals.
    """
    rarity = {word: log(1 + (total - len(places) + 0.5) / (len(places) + 0.5)) for word, places in having.items()}
    scores: dict[int, float] = {}
    for word, places in having.items():
        for place in places:
            scores[place] = scores.get(place, 0.0) + rarity[word]
    return sorted(nsmallest(most, scores, key=lambda place: (-scores[place], -place))), rarity


def ranked(texts: Sequence[str], rarity: Mapping[str, float]) -> list[float]:
    """Return the BM25 rank of each text; `rarity` is the weight of each word."""
    words = [text_words(text) for text in texts]
    usual = sum(map(len, words)) / max(1, len(words))
    found = []
    for each in words:
        counts, long = Counter(each), _REPEATED * (1 - _LENGTH + _LENGTH * len(each) / max(1.0, usual))
        rank = sum(rare * counts[word] * (1 + _REPEATED) / (counts[word] + long) for word, rare in rarity.items())
        found.append(rank)
    return found


def excerpt(text: str, wanted: Sequence[str]) -> str:
    """Return the excerpt of a text with the most wanted words, on one line."""
    words, shown = frozenset(wanted), text[:_INDEXED]
    starts = range(0, max(1, len(shown)), _EXCERPT // 2)
    return _line(text, max(starts, key=lambda start: len(words.intersection(terms(shown[start : start + _EXCERPT])))))


def _line(text: str, start: int) -> str:
    """Return the text around a place on one line, with an ellipsis where it is cut."""
    if start > 0:
        start = max(0, start - _EXCERPT // 5)
        blank = _BLANK.search(text, start, start + _EXCERPT // 5)
        start = blank.end() if start > 0 and blank else start
    end = start + _EXCERPT
    line = _HALF.sub("\ufffd", _BLANK.sub(" ", text[start:end])).strip()
    return ("…" if start > 0 else "") + line + ("…" if end < len(text) else "")
