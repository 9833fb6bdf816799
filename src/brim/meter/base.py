"""What a meter is, and the searches that every meter shares.

A subclass says how one text is measured; the base remembers each answer, and finds prefixes and suffixes
within a limit. Counts of byte-pair vocabularies are neither additive nor monotone, so every cut is counted
again before it is returned: never over the limit is a fact, not a hope.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from brim.errors import InvalidType, InvalidValue
from brim.meter.chat import count_of, request_counts
from brim.meter.grapheme import boundary_after, boundary_before
from brim.meter.memo import Memo

_WINDOW = 6
"""Characters per unit of the limit that a search looks at first: English has about four a token."""


@runtime_checkable
class Meter(Protocol):
    """Measures text in one unit. Anything with these members can be given to brim as a meter."""

    @property
    def name(self) -> str:
        """What measures: a vocabulary, a unit, or an estimate that says so."""

    @property
    def exact(self) -> bool:
        """Whether a count is the true number, not an estimate."""

    def count(self, text: str) -> int:
        """Return how many units `text` takes."""

    def head(self, text: str, limit: int) -> str:
        """Return a long prefix of `text` that counts at most `limit`."""

    def tail(self, text: str, limit: int) -> str:
        """Return a long suffix of `text` that counts at most `limit`."""


class BaseMeter(ABC):
    """A meter with the searches built in: a subclass says how one text is measured."""

    unit: str = "tokens"
    """What a count is a number of."""
    model: str | None = None
    """The model that it is the meter of, whose framing, tools and images it counts; of many a meter is none's."""
    loads_are_counts: bool = True
    """Whether `load` is no more than another name for `count`."""

    def __init_subclass__(cls) -> None:
        cls.loads_are_counts = cls.load is BaseMeter.load

    def __init__(self, name: str) -> None:
        self._name = name
        self.memo: Memo[int] = Memo()

    @property
    def name(self) -> str:
        """What measures: a vocabulary, a unit, or an estimate that says so."""
        return self._name

    @property
    def exact(self) -> bool:
        """Whether a count is the true number, not an estimate."""
        return False

    @abstractmethod
    def measure(self, text: str) -> int:
        """Return how many units `text` takes; called once for each text."""

    def count(self, text: str) -> int:
        """Return how many units `text` takes.

        Raises:
            InvalidType: `text` is not a string.
        """
        known = self.memo.get(text) if isinstance(text, str) else _refuse(text)
        if known is None:
            known = self.measure(text)
            self.memo.put(text, known)
        return known

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Return the count of each text, in order."""
        return [self.count(text) for text in texts]

    def count_joined(
        self,
        pieces: Sequence[str],
        enough: int | None = None,  # noqa: ARG002 - for meters that count piece by piece
        known: Mapping[str, int] | None = None,  # noqa: ARG002
    ) -> int:
        """Return the count of the pieces as one text, which need not be the sum of their counts.

        Once it is known to be above `enough`, any number above it may be returned. `known` holds counts of pieces.
        """
        return self.count("".join(pieces))

    def count_messages(
        self,
        messages: Sequence[Any],
        tools: Sequence[Mapping[str, Any]] | None = None,
        *,
        format: str | None = None,
    ) -> int:
        """Return the units of a request: its messages with their framing, the tools that it offers, the reply's start.

        A meter that was asked for by a model's name counts by that model's rules for framing, tools and images.

        Raises:
            InvalidValue: a message or a tool that cannot be; the error names its index and what is wrong with it.
        """
        return request_counts(count_of(self), messages, tools, unit=self.unit, model=self.model, format=format)

    def upper(self, text: str) -> int:
        """Return a count that the true one does not exceed; for an exact meter, the count itself."""
        return self.count(text)

    def load(self, text: str) -> int:
        """Return what to plan for `text`: loads add up to no less than the count of the whole."""
        return self.count(text)

    def head(self, text: str, limit: int) -> str:
        """Return a long prefix of `text` that counts at most `limit` and splits no grapheme.

        Raises:
            InvalidValue: `limit` is not a whole number of at least zero.
        """
        limit = checked_limit(limit)
        width = _WINDOW * limit + 16
        while True:
            end = len(text) if width >= len(text) else boundary_before(text, width)
            if end < len(text) and end == 0:
                end = boundary_after(text, 1)
            cut = self._head_within(text[:end], limit)
            if end == len(text) or len(cut) < end:
                return cut
            width *= 2

    def tail(self, text: str, limit: int) -> str:
        """Return a long suffix of `text` that counts at most `limit` and splits no grapheme.

        Raises:
            InvalidValue: `limit` is not a whole number of at least zero.
        """
        limit = checked_limit(limit)
        width = _WINDOW * limit + 16
        while True:
            start = 0 if width >= len(text) else boundary_after(text, len(text) - width)
            if start > 0 and start == len(text):
                start = boundary_before(text, len(text) - 1)
            cut = self._tail_within(text[start:], limit)
            if start == 0 or len(cut) < len(text) - start:
                return cut
            width *= 2

    def _head_within(self, text: str, limit: int) -> str:
        """Return the longest prefix found of a short text, by narrowing on its length."""
        best, low, high = 0, 0, len(text) + 1
        guess = high - 1
        while low < high - 1:
            at = boundary_before(text, guess) if guess < len(text) else guess
            if at <= low:
                at = boundary_after(text, low + 1)
                if at >= high:
                    break
            size = self.measure(text[:at])
            if size <= limit:
                best = low = at
            else:
                high = at
            guess = _next_guess(low, high, at, size, limit)
        return text[:best]

    def _tail_within(self, text: str, limit: int) -> str:
        """Return the longest suffix found of a short text, by narrowing on its length."""
        length = len(text)
        best, low, high = 0, 0, length + 1
        guess = length
        while low < high - 1:
            at = length - boundary_after(text, length - guess) if guess < length else length
            if at <= low:
                at = length - boundary_before(text, length - low - 1)
                if at >= high:
                    break
            size = self.measure(text[length - at :])
            if size <= limit:
                best = low = at
            else:
                high = at
            guess = _next_guess(low, high, at, size, limit)
        return text[length - best :] if best else ""


def _next_guess(low: int, high: int, at: int, size: int, limit: int) -> int:
    """Return the next length to try: in proportion to the last count, kept an eighth inside the open interval.

    The eighth makes a text of uneven density end in few steps too.
    """
    scaled = at * (limit + 1) // size if size else high
    margin = (high - low) // 8
    return min(max(scaled, low + 1 + margin), high - 1 - margin)


def checked_limit(limit: int) -> int:
    """Return `limit` when it is a whole number of at least zero.

    Raises:
        InvalidValue: it is not.
    """
    if isinstance(limit, bool) or not isinstance(limit, int):
        raise InvalidType("limit", limit, "a whole number of at least 0")
    if limit < 0:
        raise InvalidValue("limit", limit, "a whole number of at least 0")
    return limit


def _refuse(text: object) -> int | None:
    raise InvalidType("text", text, "a str")
