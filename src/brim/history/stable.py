"""Stable mode: the state between fits by which a prompt begins with the bytes of the last one.

Over the high line the history is cut to the low line at once, and the cut is kept: the following prompts only grow.
The next cut shortens only newer messages if that leaves enough tokens, so that the start is still in the provider's
cache.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from brim.errors import InvalidType, InvalidValue
from brim.history.prompt import SentMessages
from brim.history.rendering import Form


@dataclass(frozen=True, kw_only=True, slots=True)
class HeldCut:
    """What the last fit sent of a history, so that the next one can send the same and newer messages."""

    kept: tuple[tuple[int, int], ...]
    """The ranges of messages that were sent, by position."""
    edits: Mapping[int, Form] = field(repr=False)
    """Messages that were sent in a shorter form, by position."""
    unanswered: tuple[int, ...]
    """Those that were shortened only because a call had no result yet."""
    note: str
    seen: int
    """The length of the history at the cut."""
    length: int
    """The length of the history at the last fit."""
    check: str
    """The fingerprint of all these messages."""
    bound: int
    """Messages at the start that the cut depends on."""
    start: str
    """The fingerprint of those messages, to recognise the history."""
    budget: int
    """The budget of the cut."""
    meter: str
    """The meter that counted the edits."""
    extra: Mapping[str, int]
    """Tokens of the tools and of a separate system prompt, which came before the messages."""
    settled: int
    """Messages at the start that the last cut left as they were; the next one will leave about as many, or more."""

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> HeldCut | None:
        """Return the cut from JSON values, by field; `None` if an older version wrote it."""
        if set(values) != set(cls.__slots__):
            return None
        edits = {int(at): Form(raw, units) for at, (raw, units) in values["edits"].items()}
        kept = tuple((start, stop) for start, stop in values["kept"])
        return cls(**{**values, "kept": kept, "unanswered": tuple(values["unanswered"]), "edits": edits})


@dataclass(frozen=True, kw_only=True, slots=True)
class Stable:
    """When the history is cut to keep the start of the prompt unchanged, and the cut that is kept."""

    high: float = 1.0
    """The share of the budget over which the history is cut."""
    low: float = 0.8
    """The share of the budget to which a cut shortens, more if what always stays takes most of it."""
    held: HeldCut | None = None
    budget: int | None = None
    """The budget by the provider's count, if that is not the meter's; a kept cut is made anew when it has grown."""

    def __post_init__(self) -> None:
        for name in ("high", "low"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise InvalidType(f"stable: {name}", value, "a share from 0 to 1")
            if not 0 <= value <= 1:
                raise InvalidValue(f"stable: {name}", value, "a share from 0 to 1")


class LastFit(NamedTuple):
    """What one fit passes to the next: the kept cut, and the prompt to compare the next one with."""

    stable: Stable | None = None
    before: Mapping[str, Any] | None = None
    """What came before its messages; `None` if only the cut is known, as in a reopened session."""
    sent: SentMessages = SentMessages([], [])
    """Its messages."""
    extra: Mapping[str, int] = {}
    """The tokens of what came before them, by name."""
    regret: Mapping[str, Any] | None = None
    """Repeated calls because of cuts, for the receipt; `None` if there are none."""
    correction: str = ""
    """Why the budget differs from that of the window; empty if it does not."""

    @property
    def held(self) -> HeldCut | None:
        """The kept cut; `None` if there is none."""
        return None if self.stable is None else self.stable.held

    def same_parts(self, before: Mapping[str, Any], extra: Mapping[str, int]) -> int:
        """Return the tokens of the parts before the messages that are those of the last prompt."""
        same = (name for name in extra if (self.before or {}).get(name) == before.get(name))
        return sum(extra[name] for name in same if self.extra.get(name) == extra[name])


def stable_mode(value: bool | Stable | None) -> Stable | None:
    """Return the stable mode for an argument.

    Raises:
        InvalidType: the argument is invalid.
    """
    if value is None or value is False:
        return None
    if value is True:
        return Stable()
    if isinstance(value, Stable):
        return value
    raise InvalidType("stable", value, "True, or the `stable` of the last fit")
