"""Corrects the count of the next prompt by the size that the provider reported for the last one.

The next prompt mostly repeats the last one, so the meter's error matters only for the new part. If the provider counted
slightly more, the excess is taken for structure, such as tools, ids and metadata, all of which a cut may keep. A larger
excess is attributed to the texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from brim.meter import BaseMeter

_EIGHTH = 8
"""An eighth of the new part is added, since it may be text of another kind. Structure is at most an eighth."""
_SHORTER = 50
"""For a shorter prompt, a fiftieth is added: the reported tokens may be unevenly distributed."""
PLAUSIBLE = 3
"""The largest plausible factor between the provider's count and brim's count of the same prompt."""
TOKENS = ("tokens", "units")
"""Units that are comparable with a provider's tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedSize:
    """The size of one prompt, as counted by brim and as reported by the provider."""

    counted: int
    reported: int
    scale: BaseMeter
    """The meter that counted it."""

    @classmethod
    def of(cls, measured: Sequence[int], scale: BaseMeter) -> ReportedSize | None:
        """Return the size in these numbers: counted and reported; `None` if they cannot be of the same prompt."""
        if not measured or scale.unit not in TOKENS:
            return None
        counted, reported = measured
        possible = 0 < counted <= reported * PLAUSIBLE and reported <= counted * PLAUSIBLE
        return cls(counted=counted, reported=reported, scale=scale) if possible else None

    @property
    def agrees(self) -> bool:
        """Whether no correction is needed: the meter counts exactly, and the report is not above its count.

        A lower report omits something; for example, a proxy may omit cached tokens.
        """
        return self.scale.exact and self.reported <= self.counted

    def corrected(self, tokens: int) -> int:
        """Return the count of a prompt that shares most of its content with this one, as the provider would count."""
        excess, new = self.reported - self.counted, tokens - self.counted
        if self.agrees:
            return tokens
        if new >= 0:
            return tokens + excess + new // _EIGHTH
        return tokens + excess if self._is_structure else min(self._share(tokens), self.reported)

    def budget(self, tokens: int) -> int:
        """Return the largest count whose corrected value is at most `tokens`."""
        excess, new = self.reported - self.counted, tokens - self.reported
        if self.agrees:
            return tokens
        if new >= 0:
            return self.counted + new * _EIGHTH // (_EIGHTH + 1)
        if self._is_structure:
            return tokens - excess
        return tokens * self.counted * _SHORTER // (self.reported * _SHORTER + self.counted)

    def reason(self, tokens: int) -> str:
        """Return in words why the budget is not `tokens`; empty if it is."""
        if (budget := self.budget(tokens)) == tokens:
            return ""
        spare = f", and adds 1/{_EIGHTH} to the count of new text" if tokens > self.reported else ""
        return (
            f"a budget of {tokens:,} is {budget:,} by brim's count: of the last prompt,"
            f" the provider counted {self.reported:,} {self.scale.unit}, brim {self.counted:,}{spare}"
        )

    @property
    def _is_structure(self) -> bool:
        """Whether structure explains the difference."""
        return 0 <= self.reported - self.counted <= self.counted // _EIGHTH

    def _share(self, tokens: int) -> int:
        """Return an upper bound for the size of a shorter prompt, by its share of this one."""
        return -(-tokens * (self.reported * _SHORTER + self.counted) // (self.counted * _SHORTER))


def corrected(tokens: int, reported: ReportedSize | None) -> int:
    """Return a count of the meter as the provider would count it."""
    return tokens if reported is None else reported.corrected(tokens)
