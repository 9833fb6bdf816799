"""What lasts from one fit to the next, so that a prompt begins with the bytes of the last one.

Over the high line the history is cut to the low line in one go, and the cut is held: the following prompts only grow.
What stands before the gap stays where it is, so that the provider still finds it in its cache when the gap widens.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from brim.errors import InvalidType, InvalidValue

_STEPS = range(5, 100, 5)
"""Low lines that are weighed, in percent of the room."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CachePrices:
    """What a unit of input costs, as a factor on its plain price."""

    read: float = 0.1
    """Found in the cache."""
    write: float = 1.25
    """New, and put into the cache."""

    def __post_init__(self) -> None:
        for name in ("read", "write"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 100:
                raise InvalidValue(f"prices: {name}", value, "a factor from 0 to 100")


@dataclass(frozen=True, kw_only=True, slots=True)
class HeldCut:
    """The cut that is held."""

    anchor: int = 0
    """Turns before the gap."""
    resume: int = 0
    """The first turn after the gap; 0 as long as nothing was cut."""
    at: int = 0
    """The position of that turn's first message."""
    lead: int = 0
    """Turns before the first that is left out."""
    note: str = ""
    seen: int = 0
    """Messages that were there when the prefix last moved."""
    length: int = 0
    """Messages that were there at the last fit."""
    until: int = 0
    """Messages of those that will be sent again as they were, calls without an answer left out."""
    check: str = ""
    """The fingerprint of those messages, to see that it is the same history; empty as long as the turns is known."""
    turns: Any = field(default=None, repr=False, compare=False)
    """The turns that the cut was made in, within one `History`."""
    moves: int = 0
    """How often positions had changed in it."""
    aside: Mapping[str, int] = field(default_factory=dict)
    """Units that stood before the messages: tools, a system prompt apart."""
    units: int = 0
    """Units of the last prompt's messages."""
    edits: Mapping[int, Any] = field(default_factory=dict, repr=False)
    """Messages that were sent in a shorter form, by position."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Stable:
    """How a prompt keeps its prefix: the lines, and the cut that is held.

    Without lines the low one is chosen: the cheapest for each unit of context that the model gets to see.
    """

    high: float = 1.0
    """The share of the budget over which the history is cut."""
    low: float | None = None
    """The share of the room, beside what always stays, that a cut leaves; `None` weighs the prices."""
    anchor: float = 0.75
    """The share of what a cut leaves that is taken from the start of the history, which the cache still holds."""
    fill: float = 0.74
    """The share of the budget that prompts should use on the average, where the low line is chosen."""
    prices: CachePrices = CachePrices()
    held: HeldCut | None = None

    def __post_init__(self) -> None:
        for name in ("high", "low", "anchor", "fill"):
            value = getattr(self, name)
            if value is None and name == "low":
                continue
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise InvalidType(f"stable: {name}", value, "a share from 0 to 1")
            if not 0 <= value <= 1:
                raise InvalidValue(f"stable: {name}", value, "a share from 0 to 1")
        if self.low is not None and self.low > self.high:
            raise InvalidValue("stable: low", self.low, f"at most the high line, {self.high}")

    def sealed(self) -> Stable:
        """Return it as a value of its own, which knows its history by a fingerprint."""
        if self.held is None or self.held.turns is None:
            return self
        check = self.held.turns.fingerprint(self.held.length)
        return replace(self, held=replace(self.held, check=check, turns=None))

    @property
    def check(self) -> str:
        """The fingerprint of the history whose cut is held."""
        return self.held.check if self.held is not None else ""

    def low_line(self, room: int, head: int) -> float:
        """Return the share of the room that a cut leaves, given the units that always stand before it."""
        if self.low is not None:
            return self.low
        stays = head / room if room > 0 else 0.0
        full = [step for step in _STEPS if stays + (1 + step / 100) / 2 >= self.fill * (1 + stays)]
        return min(full or _STEPS[-1:], key=lambda step: self._price(step / 100, stays)) / 100

    def _price(self, low: float, head: float) -> float:
        """Return what each unit of context costs from one cut to the next, beside reading it from the cache.

        In a cycle the room fills from the low line: that much is written, what was after the gap is written again,
        and on the way the model sees the mean of both lines each time.
        """
        read, write = self.prices.read, self.prices.write
        again = (write - read) * low * (1 - self.anchor) / (1 - low)
        return (write + max(0.0, again)) / (head + (1 + low) / 2)
