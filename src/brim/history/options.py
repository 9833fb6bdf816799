"""The options of one fit of a history, checked before anything is done."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypedDict, get_args

from brim.amounts import units
from brim.errors import InvalidType, InvalidValue, check_choice, nearest
from brim.receipts.section import Summarise
from brim.relevance.meaning import Embed

Way = Literal["recency", "priority", "relevance"]
"""A way to choose among turns."""
Select = Literal[
    "recency",
    "priority",
    "relevance",
    "recency+relevance",
    "recency+priority",
    "priority+recency",
    "priority+relevance",
    "relevance+recency",
    "relevance+priority",
]
"""One way to choose among turns, or two, the first one first."""
Within = Literal["newest_first", "oldest_first"]
"""Which turns of one class of priority are selected first."""
Pin = Callable[[Any], bool] | Collection[int | str] | None
"""Messages whose turns stay whole: a function from a message to a bool, or their indexes and texts that they have."""


class TurnOptions(TypedDict, total=False):
    """The options as keyword arguments; `fit_messages` describes each."""

    select: Select
    within: Within
    recent: int | None
    older: int | None
    query: str | None
    pin_first_user: bool
    pin: Pin
    excerpts: bool
    note: bool
    summarise: Summarise | None
    classify: Callable[[Any], Any] | None
    embed: Embed | bool | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Options:
    """The options of one fit, checked."""

    select: Select = "recency"
    within: Within = "newest_first"
    recent: int | None = None
    older: int | None = None
    query: str | None = None
    pin_first_user: bool = False
    pin: Pin = None
    excerpts: bool = True
    note: bool = True
    summarise: Summarise | None = None
    classify: Callable[[Any], Any] | None = None
    embed: Embed | bool | None = None

    ways: tuple[str, ...] = field(init=False, repr=False)
    """The ways to select, the first one first."""

    @classmethod
    def of(cls, function: str, given: TurnOptions) -> Options:
        """Return the options passed to a function, checked.

        Raises:
            InvalidValue: one is invalid.
            TypeError: there is no such option.
        """
        known = [*TurnOptions.__annotations__]
        for name in given:
            if name not in known:
                likely = nearest(name, [*known, "messages", "budget", "model", "meter", "tools", "system"], most=1)
                hint = f"; did you mean {likely[0]!r}?" if likely else ""
                raise TypeError(f"{function}() got an unexpected keyword argument {name!r}{hint}")
        return cls(**given)

    def __post_init__(self) -> None:
        if not isinstance(self.select, str):
            raise InvalidType("select", self.select, "a name such as 'recency', or two joined by a plus sign")
        object.__setattr__(self, "ways", tuple(way.strip() for way in self.select.split("+")))
        for way in self.ways:
            check_choice("select", way, get_args(Way))
        if "+".join(self.ways) not in get_args(Select):
            raise InvalidValue("select", self.select, "one way, or two different ones joined by a plus sign")
        check_choice("within", self.within, get_args(Within))
        if self.within != "newest_first" and self.ways[0] == "priority" and len(self.ways) > 1:
            wanted = f"'newest_first' with a selection that orders a class by {self.ways[1]}"
            raise InvalidValue("within", self.within, wanted)
        for name in ("recent", "older"):
            value = getattr(self, name)
            if value is not None:
                units(name, value)
        if self.query is not None and not isinstance(self.query, str):
            raise InvalidType("query", self.query, "a string")
        for name in ("pin_first_user", "excerpts", "note"):
            if not isinstance(getattr(self, name), bool):
                raise InvalidType(name, getattr(self, name), "True or False")
        self._check_functions()

    def _check_functions(self) -> None:
        for name in ("summarise", "classify"):
            value = getattr(self, name)
            if value is not None and not callable(value):
                raise InvalidType(name, value, "a function")
        if not (self.embed is None or self.embed is True or callable(self.embed)):
            raise InvalidType("embed", self.embed, "a function from texts to vectors, or True")
        if callable(self.pin) or self.pin is None:
            return
        if isinstance(self.pin, str) or not isinstance(self.pin, Collection):
            raise InvalidType("pin", self.pin, "a function from a message to a bool, or indexes and texts of messages")
        for each in self.pin:
            if not isinstance(each, str):
                units("pin: an index", each)
            elif not each:
                raise InvalidValue("pin: a text", each, "not empty")

    @property
    def without_texts(self) -> Options:
        """The same options without pinned texts."""
        pin = self.pin
        return (
            self if callable(pin) or pin is None else replace(self, pin=[at for at in pin if not isinstance(at, str)])
        )


def check_stable(options: Options) -> None:
    """Check that stable mode allows these options; another selection or a cap would change the prefix each time.

    Raises:
        InvalidValue: an option is not allowed in stable mode.
    """
    if options.ways != ("recency",):
        raise InvalidValue("select", options.select, "'recency' in stable mode, which keeps the prefix")
    for name in ("recent", "older"):
        if getattr(options, name) is not None:
            raise InvalidValue(name, getattr(options, name), "omitted in stable mode, which keeps the prefix")
