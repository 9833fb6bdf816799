"""What a provider reported for the newest prompt of a conversation, by which the count of the next one is corrected.

Most of the next prompt was in the last one, whose size is known. So only what is new is as uncertain as the meter.
"""

from __future__ import annotations

from dataclasses import dataclass

from brim.meter import BaseMeter
from brim.sessions.request import RequestInput

_SHORTER = 50
"""The part of a shorter prompt, one in so many, that is added: the reported tokens may be unevenly distributed."""
_NEW = 8
"""The part of what is new, one in so many, that is added: it may be of another kind."""
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

    @property
    def plausible(self) -> bool:
        """Whether both numbers can mean the same prompt."""
        return 0 < self.counted <= self.reported * _PLAUSIBLE and self.reported <= self.counted * _PLAUSIBLE

    def correction(self, tokens: int) -> int:
        """Return the tokens to add to the count of a prompt that has most of its content in common with this one."""
        if tokens >= self.counted:
            return self.reported - self.counted + (tokens - self.counted) // _NEW
        share = -(-tokens * (self.reported * _SHORTER + self.counted) // (self.counted * _SHORTER))
        return min(share, self.reported) - tokens

    def budget(self, tokens: int) -> int:
        """Return how many counted tokens a prompt may take, so that its corrected count is at most `tokens`."""
        if tokens >= self.reported:
            return self.counted + (tokens - self.reported) * _NEW // (_NEW + 1)
        return tokens * self.counted * _SHORTER // (self.reported * _SHORTER + self.counted)
