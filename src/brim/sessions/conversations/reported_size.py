"""What a provider reported for the newest prompt of a conversation, by which the count of the next one is corrected.

Most of the next prompt was in the last one, whose size is known. So only what is new is as uncertain as the meter. A
little that the provider counts more than the meter is structure, such as tools, ids and metadata: a cut may leave all
of it. A larger difference is one of the texts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from brim.meter import BaseMeter
from brim.sessions.learning.request_input import RequestInput

_SHORTER = 50
"""The part of a shorter prompt, one in so many, that is added: the reported tokens may be unevenly distributed."""
_NEW = 8
"""The part of what is new, one in so many, that is added: it may be of another kind."""
_STRUCTURE = 8
"""The part of a prompt, one in so many, that tools, ids and metadata take at most."""
_PLAUSIBLE = 3
"""A report that differs by a larger factor counts something else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedSize:
    """The size of one prompt: as we counted it, and as the provider reported it."""

    counted: int
    reported: int
    sent: RequestInput
    """The prompt, to be counted again by another meter."""
    scale: BaseMeter
    """The meter that counted it."""
    cleared: int = 0
    """Tokens that the provider cleared of it before it counted; it will clear them of the next one too."""

    @property
    def plausible(self) -> bool:
        """Whether both numbers can mean the same prompt."""
        reported = self.reported + self.cleared
        return 0 < self.counted <= reported * _PLAUSIBLE and reported <= self.counted * _PLAUSIBLE

    @property
    def _agrees(self) -> bool:
        """Whether no correction is needed: the meter has the model's own vocabulary, and the report is not above it.

        A report below such a count leaves something out, as a proxy may with what was cached.
        """
        return self.scale.exact and self.reported <= self.counted and not self.cleared

    def recounted(self, count: Callable[[RequestInput], int], scale: BaseMeter) -> ReportedSize:
        """Return this size with its prompt counted by another meter."""
        return replace(self, counted=count(self.sent), scale=scale)

    def correction(self, tokens: int) -> int:
        """Return the tokens to add to the count of a prompt that has most of its content in common with this one."""
        excess, new = self.reported - self.counted, tokens - self.counted
        if self._agrees:
            return 0
        if new >= 0:
            return excess + new // _NEW
        return excess if self._is_structure else min(self._share(tokens), self.reported) - tokens

    def budget(self, tokens: int) -> int:
        """Return how many counted tokens a prompt may take, so that its corrected count is at most `tokens`."""
        excess, new = self.reported - self.counted, tokens - self.reported
        if self._agrees:
            return tokens
        if new >= 0:
            return self.counted + new * _NEW // (_NEW + 1)
        if self._is_structure:
            return tokens - excess
        return tokens * self.counted * _SHORTER // (self.reported * _SHORTER + self.counted)

    @property
    def _is_structure(self) -> bool:
        """Whether the difference can be one of structure."""
        return 0 <= self.reported - self.counted <= self.counted // _STRUCTURE

    def _share(self, tokens: int) -> int:
        """Return a bound for the size of a shorter prompt, by its share of this one."""
        return -(-tokens * (self.reported * _SHORTER + self.counted) // (self.counted * _SHORTER))
