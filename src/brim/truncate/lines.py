"""Keep whole lines from one side of a text.

Half a line is often worse than none: a cut path, number or record reads like a true one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from brim.errors import DoesNotFit, InvalidValue
from brim.meter.base import Meter
from brim.truncate.base import Cut, shrink, whole
from brim.truncate.head import Head
from brim.truncate.tail import Tail


@dataclass(frozen=True, kw_only=True, slots=True)
class Lines:
    """Truncate between lines; a single line that is too long is cut inside, as `Head` or `Tail` would."""

    marker: str | None = None
    """Stands on the side that was cut. By default that of `Head` or of `Tail`."""
    side: Literal["head", "tail"] = "head"
    """Which lines are kept: the first or the last."""

    def __post_init__(self) -> None:
        if self.side not in ("head", "tail"):
            raise InvalidValue("side", self.side, "'head' or 'tail'")

    def truncate(self, text: str, limit: int, meter: Meter) -> Cut:
        """Return a version of `text` that counts at most `limit`.

        Raises:
            DoesNotFit: the marker and one character count more than `limit`.
        """
        uncut = whole(text, limit, meter)
        if uncut:
            return uncut
        inside = self._inside()
        cost = meter.count(inside.marker)

        def build(room: int) -> str:
            room = max(0, room - cost)
            if self.side == "tail":
                kept = _last_lines(text, meter.tail(text, room))
                return _own_line(inside.marker) + kept if kept.strip() else ""
            kept = _first_lines(text, meter.head(text, room))
            if inside.marker.startswith("\n"):
                kept = kept.removesuffix("\n")
            return kept + inside.marker if kept.strip() else ""

        try:
            return shrink(text, limit, meter, build)
        except DoesNotFit:
            return inside.truncate(text, limit, meter)

    def _inside(self) -> Head | Tail:
        """Return what cuts a line that is too long, with the marker of this truncator."""
        kind = Head if self.side == "head" else Tail
        return kind() if self.marker is None else kind(marker=self.marker)


def _own_line(marker: str) -> str:
    """Return `marker` so that a line can follow it."""
    return marker if marker.endswith("\n") or not marker else marker + "\n"


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
