"""Shorten JSON so that it stays JSON.

A reader of a cut document wants its structure: what reports a failure, every key, the first items of each array, both
ends of each long text.
"""

from __future__ import annotations

from dataclasses import dataclass

from brim.meter.base import Meter
from brim.truncate import truncator
from brim.truncate.base import BaseTruncator, Cut
from brim.truncate.json_parts import JsonParts, json_parts
from brim.truncate.parts import TextParts
from brim.truncate.picker import finest, pick, room_of


@dataclass(frozen=True, kw_only=True, slots=True)
class Json(BaseTruncator):
    """Divides a document, or lines of JSON, into members; failures come first, then the outermost and the first.

    If no valid JSON fits, or the text is not JSON, it is cut as a log, and the result is not JSON.
    """

    marker: str | None = None
    """Stands where text was omitted that is no JSON; JSON itself has the usual marks, as fields and items."""

    def _shorten(self, text: str, limit: int, meter: Meter) -> Cut:
        return json_cut(text, limit, meter) or truncator("log", self.marker).truncate(text, limit, meter)


def json_cut(text: str, limit: int, meter: Meter) -> Cut | None:
    """Return a document, or lines of JSON, with fewer members; `None` if the text is neither, or nothing fits."""
    rooms = (None, room_of(text, limit, meter))
    return finest((_picked(json_parts(text, room), limit, meter) for room in rooms), limit)


def _picked(parts: JsonParts | TextParts | None, limit: int, meter: Meter) -> Cut | None:
    """Return the last failure, if that fits, and other members; `None` if there are no members."""
    if not isinstance(parts, JsonParts):
        return None
    order, fixed = ([at] for at in parts.ranked()), [parts.failures()[-1:], ()]
    return pick(parts, order, limit, meter, fixed=fixed, show=parts.document)
