"""What a caller asks of the fit of a history, checked before anything is done."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any, TypedDict

from brim.amounts import units
from brim.errors import InvalidType, InvalidValue, check_choice
from brim.history.stable import Stable

ORDERS = ("newest_first", "oldest_first")
"""Which turns of one class of priority are served first."""
SELECTIONS = ("recency", "priority", "relevance")
"""Ways to choose among turns; two of them are joined by a plus sign."""

_UNBOUND = re.compile(r"claude-(?:[a-z]+-)?[1-4]\b|claude-[a-z]+-5(?:-0)?(?![-.]?[1-9])|claude-[1-4]")
"""Models known to take thinking back after any edit; those that bind it came later."""

Pin = Callable[[Any], bool] | Collection[int] | None
Summarise = Callable[[str, int], str]
"""Told a text and a limit in units, returns a shorter text."""


class Asked(TypedDict, total=False):
    """What may be asked of one fit, each by name; `Options` says what it means."""

    select: str
    within: str
    recent: int | None
    older: int | None
    query: str | None
    pin_first_user: bool
    pin: Pin
    note: bool
    summarise: Summarise | None
    classify: Callable[[Any], Any] | None
    embed: Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Options:
    """What a caller asks of one fit."""

    select: str = "recency"
    """Which turns stay: the newest (`recency`), those of the highest class (`priority`), those nearest to the query
    (`relevance`), or two of these joined by a plus sign."""
    within: str = "newest_first"
    """Which turns of one class of priority are served first: `newest_first` or `oldest_first`."""
    recent: int | None = None
    """The most units of the newest turn."""
    older: int | None = None
    """The most units of each older turn."""
    query: str | None = None
    """What relevance is measured by; without it, what the user said last."""
    pin_first_user: bool = False
    """Whether the first message of the user may not even be cut."""
    pin: Pin = None
    """Messages whose turns always stay whole: a test of the caller's, or their indexes."""
    note: bool = True
    """Whether the prompt says that turns were left out."""
    summarise: Summarise | None = None
    """What makes a summary of the turns that are left out; it may take a tenth of the budget."""
    classify: Callable[[Any], Any] | None = None
    """A message's class of priority; without it, that of the table for its name and its text."""
    embed: Any = None
    """What turns texts into vectors, where relevance is to be measured by meaning too."""

    ways: tuple[str, ...] = field(init=False, repr=False)
    """The ways to select, the first that matters first."""

    def __post_init__(self) -> None:
        if not isinstance(self.select, str):
            raise InvalidType("select", self.select, "a name such as 'recency', or two joined by a plus sign")
        object.__setattr__(self, "ways", tuple(way.strip() for way in self.select.split("+")))
        for name in self.ways:
            check_choice("select", name, SELECTIONS)
        if len(set(self.ways)) < len(self.ways):
            raise InvalidValue("select", self.select, "different ways, joined by a plus sign")
        check_choice("within", self.within, ORDERS)
        for name in ("recent", "older"):
            value = getattr(self, name)
            if value is not None:
                units(name, value)
        if self.query is not None and not isinstance(self.query, str):
            raise InvalidType("query", self.query, "a text")
        for name in ("pin_first_user", "note"):
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
            raise InvalidType("pin", self.pin, "a function from a message to a bool, or the indexes of messages")
        for index in self.pin:
            units("pin: an index", index)


def options_of(asked: Asked) -> Options:
    """Return the options that were asked for.

    Raises:
        InvalidValue: a name or a value that cannot be.
    """
    for name in asked:
        check_choice("an argument", name, tuple(Asked.__annotations__))
    return Options(**asked)


def check_stable(options: Options) -> None:
    """Pass if a cut can be held with these options: a selection or a cap that changes would move the prefix.

    Raises:
        InvalidValue: it cannot.
    """
    if options.ways != ("recency",):
        raise InvalidValue("select", options.select, "'recency' in stable mode, which keeps the prefix")
    for name in ("recent", "older"):
        if getattr(options, name) is not None:
            raise InvalidValue(name, getattr(options, name), "left out in stable mode, which keeps the prefix")


def binds(model: str | None) -> bool:
    """Return whether a model may refuse thinking once something before it has changed; unknown ones may."""
    return model is None or _UNBOUND.search(model) is None


def stable_of(value: object) -> Stable | None:
    """Return the stable mode that was asked for.

    Raises:
        InvalidType: it is none.
    """
    if value is None or value is False:
        return None
    if value is True:
        return Stable()
    if isinstance(value, Stable):
        return value
    raise InvalidType("stable", value, "True, or the `stable` of the last fit")
