"""What a truncator is, and the one loop that makes a cut fit together with its marker."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from brim.errors import DoesNotFit
from brim.meter.base import Meter


@dataclass(frozen=True, kw_only=True, slots=True)
class Cut:
    """One text after truncation."""

    text: str
    before: int
    """Units of the whole text."""
    after: int
    """Units of what is left, its marker included."""


@runtime_checkable
class Truncator(Protocol):
    """Shortens a text to a limit. Anything with this method can be given as a section's `keep`."""

    def truncate(self, text: str, limit: int, meter: Meter) -> Cut:
        """Return a version of `text` that counts at most `limit`; a text that fits comes back as it is.

        Raises:
            DoesNotFit: not even the marker and a piece of the text count at most `limit`.
        """


def whole(text: str, limit: int, meter: Meter) -> Cut | None:
    """Return `text` uncut if it counts at most `limit`."""
    size = meter.count(text)
    return Cut(text=text, before=size, after=size) if size <= limit else None


def shrink(text: str, limit: int, meter: Meter, build: Callable[[int], str]) -> Cut:
    """Return the result of `build(room)` for the largest room found whose result counts at most `limit`.

    `build` is told how many units of the text it may keep and returns the kept text with its marker, or an
    empty text when nothing can be kept. A join can cost more than its two sides, so each result is counted
    as a whole, and the room shrinks by what it was over.

    Raises:
        DoesNotFit: no room is left before the result fits.
    """
    before = meter.count(text)
    room, smallest = limit, before
    while room > 0:
        result = build(room)
        if not result:
            break
        after = meter.count(result)
        if after <= limit:
            return Cut(text=result, before=before, after=after)
        smallest = min(smallest, after)
        room -= after - limit
    unit = getattr(meter, "unit", "units")
    raise DoesNotFit(
        f"a text of {before:,} {unit} cannot be cut to {limit:,}: the marker and one piece need more",
        needed=max(smallest, limit + 1),
        available=limit,
    )
