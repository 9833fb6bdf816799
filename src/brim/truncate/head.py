"""Keep the start of a text and drop the rest.

What comes first is usually what matters most in a document: a title, a summary, the newest of a ranked list.
"""

from __future__ import annotations

from dataclasses import dataclass

from brim.meter.base import Meter
from brim.truncate.base import Cut, shrink, whole


@dataclass(frozen=True, kw_only=True, slots=True)
class Head:
    """Truncate at the end, leaving a marker there."""

    marker: str = "\n[... truncated ...]"
    """Stands after what was kept."""

    def truncate(self, text: str, limit: int, meter: Meter) -> Cut:
        """Return a version of `text` that counts at most `limit`.

        Raises:
            DoesNotFit: the marker and one character count more than `limit`.
        """
        cost = meter.count(self.marker)

        def build(room: int) -> str:
            kept = meter.head(text, max(0, room - cost))
            return kept + self.marker if kept else ""

        return whole(text, limit, meter) or shrink(text, limit, meter, build)
