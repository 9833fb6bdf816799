"""What a session counts as it goes: how often what happened, and where the lines stand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any


@dataclass(slots=True)
class Counts:
    """The numbers of a session that last."""

    prompts: int = 0
    messages: int = 0
    """Messages that were added, those included that are no longer in the prompt."""
    peak: int = 0
    """The most that any prompt used."""
    warnings: int = 0
    compactions: int = 0
    sub_ticks: int = 0
    overflows: int = 0
    above: bool = False
    """Whether the last prompt was at or above the warning line."""
    reported: int | None = None
    """Tokens of the last prompt as the provider counted them."""
    drift: int = 0
    """Tokens by which that was more than what was counted."""
    wait: int = 0
    """Units of the conversation below which compaction is not tried again, since it did not pay."""
    ceiling: int | None = None
    """What a provider said that it takes at the most, once it refused a prompt."""

    def crosses(self, units: int, line: int) -> bool:
        """Return whether the warning line is crossed from below, and take note of where the use is now."""
        crossed = units >= line and not self.above
        self.above = units >= line
        self.warnings += crossed
        return crossed

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Counts:
        """Return what `to_dict` wrote; what another version knows and this one does not is left out."""
        known = {slot.name for slot in fields(cls)}
        return cls(**{name: value for name, value in values.items() if name in known})
