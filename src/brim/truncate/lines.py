"""Keep whole lines from one side of a text.

Half a line is often worse than none: a cut path, number or record looks like a complete one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from brim.errors import DoesNotFit, check_choice
from brim.meter.base import Meter
from brim.truncate.base import BaseTruncator, Cut, shrink
from brim.truncate.ends import Head, Tail
from brim.truncate.marker import attached, filled, with_marker


@dataclass(frozen=True, kw_only=True, slots=True)
class Lines(BaseTruncator):
    """Truncate between lines; a single line that is too long is cut inside, as `Head` or `Tail` would."""

    marker: str | None = None
    """Stands on the side that was cut; `{dropped}` is the number of characters. By default that of `Head` or `Tail`."""
    side: Literal["head", "tail"] = "head"
    """Which lines are kept: the first or the last."""

    def __post_init__(self) -> None:
        check_choice("side", self.side, ("head", "tail"))

    def _shorten(self, text: str, limit: int, meter: Meter) -> Cut:
        inside = with_marker(Head if self.side == "head" else Tail, self.marker)
        cost = meter.count(filled(inside.marker, len(text)))

        def build(room: int) -> str:
            room = max(0, room - cost)
            if self.side == "head":
                kept = _first_lines(text, meter.head(text, room))
            else:
                kept = _last_lines(text, meter.tail(text, room))
            marker = filled(inside.marker, len(text) - len(kept))
            return attached(kept, marker, before=self.side == "tail") if kept.strip() else ""

        try:
            return shrink(text, limit, meter, build)
        except DoesNotFit:
            return inside.truncate(text, limit, meter)


def _first_lines(text: str, start: str) -> str:
    """Return the whole lines of `start`, a prefix of `text`, each with its line break."""
    following = text[len(start) : len(start) + 2]
    if following == "\r\n":
        return start + following
    if following.startswith("\n"):
        return start + "\n"
    return start[: start.rfind("\n") + 1]


def _last_lines(text: str, end: str) -> str:
    """Return the whole lines of `end`, a suffix of `text`."""
    if len(end) == len(text) or text[-len(end) - 1] == "\n":
        return end
    return end[end.find("\n") + 1 :] if "\n" in end else ""
