"""The counters of a session."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any


@dataclass(slots=True)
class Counts:
    """The counters of a session, which are part of its log."""

    prompts: int = 0
    messages: int = 0
    """Messages that were added, including those no longer in the prompt."""
    peak: int = 0
    """The most tokens of any prompt."""
    warnings: int = 0
    compactions: int = 0
    sub_ticks: int = 0
    overflows: int = 0
    above: bool = False
    """Whether the last prompt was at or above the warning line."""
    reported: int | None = None
    """Tokens of the last prompt as the provider counted them."""
    drift: int = 0
    """Tokens by which that exceeds our count."""
    wait: int = 0
    """Tokens of the history below which compaction is not tried again, since it saved nothing."""
    cut: int = 0
    """Messages that there were when the history was last cut; 1 for a cut that is not held."""
    saved: int = 0
    """Tokens by which the cut that is held makes the prompt shorter than the history."""
    ceiling: int | None = None
    """The most tokens of a prompt after a provider refused one."""

    def crosses(self, units: int, line: int) -> bool:
        """Return whether the warning line is crossed from below, and note where the use is now."""
        crossed = units >= line and not self.above
        self.above = units >= line
        self.warnings += crossed
        return crossed

    def to_dict(self) -> dict[str, Any]:
        """Return the counters as JSON values, without those that are as in the beginning."""
        return {name: value for name in _NAMES if (value := getattr(self, name))}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Counts:
        """Return what `to_dict` wrote; fields of another version are ignored."""
        return cls(**{name: value for name, value in values.items() if name in _NAMES})


_NAMES = tuple(slot.name for slot in fields(Counts))
