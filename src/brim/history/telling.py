"""How much a text tells for its length: what somebody says once, in few and rare words, is often meant to last."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

_SHORT, _POWER = 4, 1.5
"""A text has the rank of its rare words by its tokens plus 4 to the power of 1.5: without the power, long texts come
first, and with 2, texts of two words."""


def telling(texts: Sequence[tuple[str, Collection[str]]]) -> list[float]:
    """Return the rank of each text, given with its words: more for rare words, and less for a long text."""
    common = Counter(word for _, words in texts for word in words)
    return [
        sum(4 + (len(texts) // common[word]).bit_length() for word in words) / (len(text) / 4 + _SHORT) ** _POWER
        for text, words in texts
    ]
