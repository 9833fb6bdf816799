"""Keep the first whole lines of a text.

Half a line is often worse than none: a cut path, number or record looks like a complete one.
"""

from __future__ import annotations

from dataclasses import dataclass

from brim.errors import DoesNotFit
from brim.meter.base import Meter
from brim.truncate.base import Cut, shrink
from brim.truncate.ends import Head
from brim.truncate.marker import filled


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
