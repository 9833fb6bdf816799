"""Estimates for models whose tokenizer is not public.

An estimate is the count of a public vocabulary plus a weight per character, by the class of the character: vocabularies
differ most in spaces, capitals, accents and other scripts. The bound is the same sum with higher weights, plus a few
tokens for a whole text or request, since short texts vary more than long ones. Both sums are linear, so that the counts
of parts add up, and use whole thousandths, so that every machine computes the same number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from brim.meter.base import BaseMeter
from brim.meter.engines import classes
from brim.meter.vocabularies import vocabulary


class Weights(NamedTuple):
    """The estimate of a family of models, in thousandths of a token."""

    vocabulary: str
    """The vocabulary that is weighted."""
    best: tuple[int, ...]
    """The weights of a token, of a character of each class and of a double space; only the first if the others are
    zero."""
    upper: tuple[int, ...]
    """The same for the bound."""


OTHER = "other"
"""Unknown models."""

SLACK = 8
"""Tokens that a bound adds once to a text or request. Of 2,142 texts of 120 to 1,200 characters, 47 exceed Claude's
bounds without it, 2 with 8 and none with 16."""

FAMILIES = {
    "claude-4.5": Weights(
        "cl100k_base",
        best=(1168, -26, -141, 648, 198, -90, 171, 709, -120, -180, -520, 300, -150, -315, 50, 1456, 505),
        upper=(1297, -29, -157, 719, 220, -100, 190, 787, -85, -150, -279, 1300, -78, -350, 56, 1616, 561),
    ),
    "claude-5": Weights(
        "cl100k_base",
        best=(1290, 90, -366, 480, 832, -90, 115, 1620, -140, -200, -650, 300, -270, -380, -18, 1300, 769),
        upper=(1432, 100, -406, 533, 923, -100, 128, 1800, -100, -170, -300, 1138, -200, -350, -20, 1500, 854),
    ),
    "gemini": Weights(
        "o200k_base",
        best=(1154, 17, -275, 121, 99, 300, 36, -99, 0, 50, -70, 100, -290, -315, -85, -180, 714),
        upper=(1281, 19, -305, 134, 110, 333, 40, -110, 38, 143, 287, 600, -200, -350, -94, -200, 793),
    ),
    OTHER: Weights(
        "o200k_base",
        best=(1000,),
        upper=(1120, 198, -322, 1097, 1420, 439, 166, 3000, 637, 1580, 2323, 2216, 940, 1060, 2200, 2900, 685),
    ),
}
"""The families: Claude up to 4.6, and from 4.7 on; Gemini; any other model.

The bound has about the smallest weights that cover 317 recorded runs of agents, each as one request, and 888 texts of
3,000 characters: documentation in 13 languages, translated phrases in 100, code, JSON, logs, listings, tables, base64.
The reference counts are those of ctok 1.3.0 for Claude, gemma4 for Gemini, and for unknown models the largest count of
18 vocabularies (Claude's for English and code, SmolLM2's for Russian, Chinese, Japanese and Korean). The estimate is
the bound minus a tenth, and lower for other scripts, where the bound must cover rare words. Of the 1,205 texts and
runs, 7 exceed each of Claude's bounds, by at most 16 percent, none exceeds Gemini's, and 16 exceed that of unknown
models, by at most 5: mathematical signs, rows of one character, and phrases in Punjabi, Malay, Indonesian, Kannada,
Telugu, Greek and Armenian. docs/design/counting.md has other texts. For Claude all this relies on ctok, a
reconstruction; the provider's own counts were not available."""


class Estimate(BaseMeter):
    """A meter for a family of models without a public tokenizer; `proxy` counts by the vocabulary."""

    slack = SLACK

    def __init__(self, family: str, proxy: BaseMeter | None = None) -> None:
        self._weights = FAMILIES[family]
        self._proxy = proxy or vocabulary(self._weights.vocabulary)
        weighed = " x weights by character class" if len(self._weights.best) > 1 else ""
        super().__init__(f"{family} (estimate: {self._proxy.name}{weighed})")

    def measure(self, text: str) -> int:
        """Return the best estimate: at least one token for a non-empty text."""
        return max(1, (self._weighed(text, self._weights.best) + 500) // 1000) if text else 0

    def upper_load(self, text: str) -> int:
        """Return the upper bound without the slack; `FAMILIES` says which texts exceed it."""
        return max(self.load(text), -(-self._weighed(text, self._weights.upper) // 1000)) if text else 0

    def load(self, text: str) -> int:
        """Return the estimate rounded up, so that many short texts do not count as zero."""
        return max(1, -(-self._weighed(text, self._weights.best) // 1000)) if text else self.count(text)

    def _weighed(self, text: str, weights: Sequence[int]) -> int:
        """Return the weighted sum of the proxy's tokens and the characters, in thousandths."""
        total = weights[0] * self._proxy.count(text)
        if len(weights) > 1:
            total += sum(weight * count for weight, count in zip(weights[1:], classes(text), strict=True))
        return total
