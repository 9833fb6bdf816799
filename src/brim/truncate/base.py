"""The truncator protocol, the loop that shortens a text until it fits with its marker, and the markers.

A user's marker may contain any braces, so its fields are replaced as plain text.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
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
    """Tokens of the whole text."""
    after: int
    """Tokens of the result, its marker included."""


@runtime_checkable
class Truncator(Protocol):
    """Shortens a text to a limit. Any object with this method can be a section's `keep`."""

    def truncate(self, text: str, limit: int, meter: Meter) -> Cut:
        """Return a version of `text` of at most `limit` tokens; a text that fits is returned unchanged.

        Raises:
            DoesNotFit: not even the marker and a piece of the text count at most `limit`.
        """


class BaseTruncator(ABC):
    """Base class that returns a text that fits unchanged; subclasses define how to shorten other texts."""

    __slots__ = ()

    def truncate(self, text: str, limit: int, meter: Meter) -> Cut:
        """Return a version of `text` of at most `limit` tokens; a text that fits is returned unchanged.

        Raises:
            DoesNotFit: the smallest result of this truncator counts more than `limit`.
        """
        size = meter.count(text)
        return Cut(text=text, before=size, after=size) if size <= limit else self._shorten(text, limit, meter)

    @abstractmethod
    def _shorten(self, text: str, limit: int, meter: Meter) -> Cut:
        """Return a version of a text that counts more than `limit`."""


def shrink(
    text: str, limit: int, meter: Meter, build: Callable[[int], str], count: Callable[[str], int] | None = None
) -> Cut:
    """Return `build(room)` for the largest room found that gives a result of at most `limit` tokens.

    `build` takes the number of tokens that it may use and returns a shorter text with its markers and notes. It returns
    an empty text or raises `DoesNotFit` if it can keep nothing. Joined texts can count more than their parts, so each
    result is counted as a whole, and the room shrinks by the excess.

    Args:
        text: the whole text.
        limit: the most that the result may count.
        meter: counts `text`, and the results unless there is a `count`.
        build: makes a shorter text.
        count: counts a result instead of the meter, for example `meter.load`.

    Raises:
        DoesNotFit: nothing can be kept in any room.
    """
    count = count or meter.count
    before = meter.count(text)
    room, smallest = limit, before
    while room > 0 and (result := build(room)):
        after = count(result)
        if after <= limit:
            return Cut(text=result, before=before, after=after)
        smallest = min(smallest, after)
        room -= after - limit
    raise refusal(text, smallest, limit, meter)


def refusal(text: str, smallest: int, limit: int, meter: Meter) -> DoesNotFit:
    """Return the error for a text whose smallest useful form, of `smallest` tokens, is over the limit."""
    needed, unit = max(smallest, limit + 1), getattr(meter, "unit", "units")
    return DoesNotFit(
        f"a text of {meter.count(text):,} {unit} cannot be cut to {limit:,}: one piece of it and the marker take more",
        needed=needed,
        available=limit,
    )


_COUNTED = re.compile(r" ?\[\{dropped[^][]*omitted\]")
"""The brackets of a marker with the number of dropped parts."""


def mark(number: int, noun: str) -> str:
    """Return the mark for an omission."""
    return f"[{number:,} {noun if number == 1 else noun + 's'} omitted]"


def filled(marker: str, dropped: int) -> str:
    """Return `marker` with `{dropped}` and `{dropped:,}` replaced by the number, and a singular noun for 1.

    If nothing was dropped, the brackets with the number are removed.
    """
    if not dropped:
        marker = _COUNTED.sub("", marker)
    text = marker.replace("{dropped:,}", f"{dropped:,}").replace("{dropped}", str(dropped))
    if dropped != 1:
        return text
    return text.replace("entries omitted]", "entry omitted]").replace("s omitted]", " omitted]")


def one_line(marker: str) -> str:
    """Return `marker` without line breaks, to be used as a separate line."""
    return " ".join(marker.split())
