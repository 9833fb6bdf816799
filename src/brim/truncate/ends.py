"""Keep the start of a text, its end, or both, and drop the rest.

Documents begin with what matters most, histories end with it. Tool output shows what ran at the top and what went wrong
at the bottom, so its middle matters least. A cut path, number or record looks like a complete one, so `Lines` keeps
whole lines.
"""

from __future__ import annotations

from dataclasses import dataclass

from brim.errors import DoesNotFit, InvalidValue
from brim.meter.base import Meter
from brim.meter.grapheme import boundary_after
from brim.truncate.base import BaseTruncator, Cut, filled, shrink


@dataclass(frozen=True, kw_only=True, slots=True)
class Ends(BaseTruncator):
    """Truncate in the middle, leaving a marker that says how much was removed."""

    marker: str = "\n[{dropped:,} characters omitted]\n"
    """Replaces the removed text; `{dropped}` is the number of characters."""
    head_share: float = 0.5
    """Fraction of the kept text that comes from the start."""

    def __post_init__(self) -> None:
        if not 0 <= self.head_share <= 1:
            raise InvalidValue("head_share", self.head_share, "a fraction from 0 to 1")

    def _shorten(self, text: str, limit: int, meter: Meter) -> Cut:
        cost = meter.count(filled(self.marker, len(text)))
        return shrink(text, limit, meter, lambda room: self._around(text, max(0, room - cost), meter))

    def _around(self, text: str, room: int, meter: Meter) -> str:
        """Return both ends, of about `room` tokens in total, and the marker between them; empty if both ends are."""
        head = meter.head(text, int(room * self.head_share)) if self.head_share else ""
        rest = text[len(head) :]
        tail = meter.tail(rest, max(0, room - meter.count(head))) if self.head_share < 1 else ""
        if len(tail) == len(rest):
            # The parts fit although the whole does not: drop a character, or the marker would be wrong.
            tail = rest[boundary_after(rest, 1) :]
        return head + filled(self.marker, len(rest) - len(tail)) + tail if head or tail else ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Head(Ends):
    """Truncate at the end, leaving a marker there."""

    marker: str = "\n[remainder omitted]"
    """Follows the kept text; `{dropped}` is the number of characters."""
    head_share: float = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Tail(Ends):
    """Truncate at the start, leaving a marker there."""

    marker: str = "[beginning omitted]\n"
    """Precedes the kept text; `{dropped}` is the number of characters."""
    head_share: float = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Lines(Head):
    """Truncate between lines, leaving a marker at the end; a first line that is too long is cut as `Head` would."""

    def _shorten(self, text: str, limit: int, meter: Meter) -> Cut:
        cost = meter.count(filled(self.marker, len(text)))

        def build(room: int) -> str:
            kept = _whole_lines(text, meter.head(text, max(0, room - cost)))
            marker = filled(self.marker, len(text) - len(kept))
            if not kept.strip():
                return ""
            return (kept.removesuffix("\n") if marker.startswith("\n") else kept) + marker

        try:
            return shrink(text, limit, meter, build)
        except DoesNotFit:
            return Head._shorten(self, text, limit, meter)


def _whole_lines(text: str, start: str) -> str:
    """Return the whole lines of `start`, a prefix of `text`, each with its line break."""
    following = text[len(start) : len(start) + 2]
    if following == "\r\n":
        return start + following
    if following.startswith("\n"):
        return start + "\n"
    return start[: start.rfind("\n") + 1]
