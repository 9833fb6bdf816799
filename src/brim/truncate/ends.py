"""Keep the start and the end of a text and drop the middle.

Tool output tends to say what ran at the top and what went wrong at the bottom, so the middle is the cheapest
part to lose.
"""

from __future__ import annotations

from dataclasses import dataclass

from brim.errors import InvalidValue
from brim.meter.base import Meter
from brim.meter.grapheme import boundary_after
from brim.truncate.base import Cut, shrink, whole
from brim.truncate.marker import filled


@dataclass(frozen=True, kw_only=True, slots=True)
class Ends:
    """Truncate around the middle, leaving a marker that says how much went."""

    marker: str = "\n[... {dropped:,} characters removed ...]\n"
    """Stands between what was kept; `{dropped}` is the number of characters removed."""
    head_share: float = 0.5
    """Fraction of the kept text that comes from the start."""

    def __post_init__(self) -> None:
        if not 0 <= self.head_share <= 1:
            raise InvalidValue("head_share", self.head_share, "a fraction from 0 to 1")

    def truncate(self, text: str, limit: int, meter: Meter) -> Cut:
        """Return a version of `text` that counts at most `limit`.

        Raises:
            DoesNotFit: the marker and one character count more than `limit`.
        """
        cost = meter.count(filled(self.marker, len(text)))

        def build(room: int) -> str:
            return self._around(text, max(0, room - cost), meter)

        return whole(text, limit, meter) or shrink(text, limit, meter, build)

    def _around(self, text: str, room: int, meter: Meter) -> str:
        """Return the two ends that count about `room`, the marker between them, or nothing when both are empty."""
        head = meter.head(text, int(room * self.head_share))
        rest = text[len(head) :]
        tail = meter.tail(rest, room - meter.count(head)) if self.head_share < 1 else ""
        if len(tail) == len(rest):
            # The parts fit where the whole did not: something has to go, or the marker would tell a lie.
            tail = rest[boundary_after(rest, 1) :]
        if not head and not tail:
            return ""
        return head + filled(self.marker, len(text) - len(head) - len(tail)) + tail
