"""Cut one text, by the names that a section uses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from brim.errors import InvalidType
from brim.meter import Meter, meter_for
from brim.meter.base import checked_limit
from brim.truncate import truncator
from brim.truncate.base import Cut


def cut(
    text: str,
    limit: int,
    meter: Meter | str | Callable[[str], int] | None = None,
    *,
    model: str | None = None,
    keep: Any = "head",
    marker: str | None = None,
) -> Cut:
    """Return a version of `text` that counts at most `limit`, its marker included; a text that fits is untouched.

    Raises:
        DoesNotFit: not even the marker and a piece of the text count at most `limit`.
        InvalidValue: an argument that cannot be.
    """
    if not isinstance(text, str):
        raise InvalidType("text", text, "a text")
    return truncator(keep, marker).truncate(text, checked_limit(limit), meter_for(meter, model))
