"""Stable mode: what is kept from one fit to the next, so that a prompt begins with the bytes of the last one.

Over the high line the history is cut to the low line in one go, and the cut is held: the following prompts only grow.
At the next cut only what has come since is shortened, as long as that leaves enough room, so that the provider still
finds in its cache what stands before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from brim.errors import InvalidType, InvalidValue
from brim.history.forms import Form


@dataclass(frozen=True, kw_only=True, slots=True)
class HeldCut:
    """What the last fit sent of a history, so that the next one can send the same and what has come since."""

    kept: tuple[tuple[int, int], ...]
    """The ranges of messages that were sent, by position."""
    edits: Mapping[int, Form] = field(repr=False)
    """Messages that were sent in a shorter form, by position."""
    unanswered: tuple[int, ...]
    """Those of them that were shortened only because a call had no result yet."""
    note: str
    seen: int
    """Messages that there were when the cut was made."""
    length: int
    """Messages that there were at the last fit."""
    check: str
    """The fingerprint of these messages."""
    bound: int
    """Messages at the start that the cut depends on."""
    start: str
    """The fingerprint of those, to recognise the history."""
    budget: int
    """The budget that it was cut for."""
    meter: str
    """The meter that counted the edits."""
    extra: Mapping[str, int]
    """Tokens of the tools and of a separate system prompt, which stood before the messages."""

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> HeldCut | None:
        """Return the cut of JSON values, by field; `None` if an older version wrote it, whose cuts are not read."""
        if set(values) != set(cls.__slots__):
            return None
        edits = {int(at): Form(raw, units) for at, (raw, units) in values["edits"].items()}
        kept = tuple((start, stop) for start, stop in values["kept"])
        return cls(**{**values, "kept": kept, "unanswered": tuple(values["unanswered"]), "edits": edits})


@dataclass(frozen=True, kw_only=True, slots=True)
class Stable:
    """How a prompt keeps its prefix: the lines, and the cut that is held."""

    high: float = 1.0
    """The share of the budget over which the history is cut."""
    low: float = 0.8
    """The share of the budget that a cut leaves, more if what always stays takes most of that."""
    held: HeldCut | None = None

    def __post_init__(self) -> None:
        for name in ("high", "low"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise InvalidType(f"stable: {name}", value, "a share from 0 to 1")
            if not 0 <= value <= 1:
                raise InvalidValue(f"stable: {name}", value, "a share from 0 to 1")


class LastFit(NamedTuple):
    """What one fit leaves to the next: the cut that is held, and the prompt that the next one is compared with."""

    stable: Stable | None = None
    before: Mapping[str, Any] | None = None
    """What stood before its messages; `None` if only the cut is known, as after a session was opened."""
    messages: tuple[Any, ...] = ()
    anew: str = ""
    """Why the cut that was held is not held any more; empty if it is."""
    regret: Mapping[str, Any] | None = None
    """What the cuts have cost, for the receipt; `None` if nothing."""

    @property
    def held(self) -> HeldCut | None:
        """The cut that is held; `None` if there is none."""
        return None if self.stable is None else self.stable.held


def stable_mode(value: bool | Stable | None) -> Stable | None:
    """Return the stable mode that an argument asks for.

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
