"""Keep the end of a text and drop what comes before.

What was said last is usually what the next step builds on: the newest output of a command, the latest lines of
a history.
"""

from __future__ import annotations

from dataclasses import dataclass

from brim.meter.base import Meter
from brim.truncate.base import Cut, shrink, whole


@dataclass(frozen=True, kw_only=True, slots=True)
class Tail:
    """Truncate at the start, leaving a marker there."""

    marker: str = "[... truncated ...]\n"
    """Stands before what was kept."""

    def truncate(self, text: str, limit: int, meter: Meter) -> Cut:
        """Return a version of `text` that counts at most `limit`.

        Raises:
            DoesNotFit: the marker and one character count more than `limit`.
        """
        cost = meter.count(self.marker)

        def build(room: int) -> str:
            kept = meter.tail(text, max(0, room - cost))
            return self.marker + kept if kept else ""

        return whole(text, limit, meter) or shrink(text, limit, meter, build)
