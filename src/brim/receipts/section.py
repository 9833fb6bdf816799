"""A named part of a prompt, with its priority and its limits."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from enum import IntEnum
from fractions import Fraction
from math import isfinite
from pathlib import PurePath
from typing import Any, Literal, Protocol, get_args

from brim.amounts import Amount, check_bounds, units
from brim.errors import InvalidType, InvalidValue, check_choice

_HEAVIEST = 1_000_000
_LABEL = re.compile(r"([-*•+]|\[)(?=[ \w])|\d{1,9}([.):])|(\w{1,40}) #?\d{1,9}[.):]")

OverflowAction = Literal["truncate", "drop", "summarise"]
OVERFLOWS: tuple[str, ...] = get_args(OverflowAction)
KeepName = Literal[
    "head", "tail", "ends", "lines", "newest", "best", "shape", "json", "markdown", "code", "log", "diff"
]
KEEPS: tuple[str, ...] = get_args(KeepName)
PriorityName = Literal["required", "high", "medium", "low"]
Summarise = Callable[[str, int], str]
"""Takes a text and a limit in tokens, and returns a shorter text."""


class Shortens(Protocol):
    """An object that shortens a text to a limit, as `brim.Truncator` describes it."""

    def truncate(self, text: str, limit: int, meter: Any) -> Any:
        """Return a version of `text` of at most `limit` tokens."""


class Priority(IntEnum):
    """How essential a section is: lower is kept longer. Any other whole number is a priority too."""

    REQUIRED = 0
    HIGH = 1
    MEDIUM = 2
    LOW = 3


_RANKS = {name.lower(): int(priority) for name, priority in Priority.__members__.items()}
_PRIORITIES = ", ".join(_RANKS) + " or a whole number"
_KINDS: tuple[tuple[str, Any, str], ...] = (
    ("required", bool, "true or false"),
    ("stable", bool, "true or false"),
    ("enabled", bool, "true or false"),
    ("marker", (str, type(None)), "a string"),
    ("joiner", str, "a string"),
    ("priority", (str, int), _PRIORITIES),
    ("weight", (int, float, Fraction), "a number above 0"),
)
_LABELS: tuple[tuple[str, Any, str], ...] = (
    ("scores", (int, float), "a finite number"),
    ("ids", (str, int), "a text or a whole number"),
)
"""The fields of a section, and of its entries, with their types."""


class _Derived:
    """Slots for values that are computed only once: the text of a section, and the order of its entries."""

    __slots__ = ("_order", "_text")
    _text: str
    _order: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Section(_Derived):
    """A named part of a prompt."""

    name: str
    content: str | Sequence[str]
    """A text, or entries (lessons, memories, steps) that are kept or dropped whole; an entry that needs more than half
    of the section's tokens is shortened if it does not fit.
    """
    priority: PriorityName | int = "medium"
    """`required`, `high`, `medium`, `low`, or a whole number: the lower, the more essential."""
    required: bool = False
    """Whether it must be present. It is never cut, unless it has a floor: then it may be cut down to the floor."""
    floor: Amount = 0
    """Minimum useful size: tokens, or a share of the budget ("20%"). If less is left, the section is dropped."""
    ceiling: Amount | None = None
    """Maximum size: tokens, or a share of the budget."""
    keep: KeepName | Shortens = "head"
    """What to keep when it is cut: a name, or an object with a `truncate` method."""
    overflow: OverflowAction = "truncate"
    """What to do if it exceeds its grant: `truncate`, `summarise`, or `drop`, which cuts it to its ceiling but not
    further."""
    forms: Sequence[str] = ()
    """Shorter forms of the content. The largest that fits is used before anything is cut."""
    weight: float = 1
    """Its weight when sections of the same priority share the budget (`fill="fair"`)."""
    stable: bool = False
    """Whether its text should stay the same in all prompts: it is used whole or in a form, never cut."""
    enabled: bool = True
    """A section that is not enabled uses nothing."""
    marker: str | None = None
    """The text in place of what was removed; `None` is the marker of `keep`."""
    joiner: str = "\n"
    """The text between entries."""
    most: int | None = None
    """Use at most this many entries, from the end that `keep` keeps; the entries of a text are its lines. The choice is
    made before anything is counted. Unused entries of a list are not reported as a loss; unused lines of a text are.
    """
    scores: Sequence[float] | None = None
    """The score of each entry: with `best`, the entries with the highest scores are kept, in their original order."""
    ids: Sequence[str | int] | None = None
    """The id of each entry, for the receipt."""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise InvalidType("section name", self.name, "a non-empty string")
        where = f"section {self.name!r}: "
        if not isinstance(self.content, str):
            self._set("content", _texts(f"{where}content", self.content, "a string or a list of strings"))
        if self.forms or type(self.forms) is not tuple:
            self._set("forms", _texts(f"{where}forms", self.forms, "a list of strings"))
        for name, kinds, expected in _KINDS:
            value = getattr(self, name)
            if not isinstance(value, kinds) or (isinstance(value, bool) and kinds is not bool):
                raise InvalidType(f"{where}{name}", value, expected)
        if isinstance(self.priority, str) and self.priority.lower() not in _RANKS:
            raise InvalidValue(f"{where}priority", self.priority, _PRIORITIES)
        check_choice(f"{where}overflow", self.overflow, OVERFLOWS)
        if not hasattr(self.keep, "truncate"):
            check_choice(f"{where}keep", self.keep, KEEPS)
        if self.most is not None:
            units(f"{where}most", self.most)
        if self.floor or self.ceiling is not None or type(self.floor) is not int:
            check_bounds(where, self.floor, self.ceiling)
        if not 0 < self.weight <= _HEAVIEST:
            raise InvalidValue(f"{where}weight", self.weight, f"a number above 0, up to {_HEAVIEST:,}")
        self._check_labels(where)
        if self.priority == "required" or self.priority is Priority.REQUIRED:
            self._set("required", True)

    def _check_labels(self, where: str) -> None:
        """Check that there is one score and one id for each entry."""
        for name, kinds, expected in _LABELS:
            values = getattr(self, name)
            if values is None:
                continue
            if isinstance(values, str | bytes) or not isinstance(values, Sequence):
                raise InvalidType(f"{where}{name}", values, "a list, one for each entry")
            if isinstance(self.content, str):
                raise InvalidValue(f"{where}{name}", values, "omitted if the content is a single text")
            if len(values) != len(self.content):
                needed = f"{len(self.content):,}, one for each entry"
                raise InvalidValue(f"{where}the number of {name}", len(values), needed)
            for i, value in enumerate(values):
                if isinstance(value, bool) or not isinstance(value, kinds) or not _is_finite(value):
                    raise InvalidType(f"{where}{name}[{i}]", value, expected)
            self._set(name, tuple(values))
        if self.ids is not None and len(set(self.ids)) < len(self.ids):
            twice = next(each for i, each in enumerate(self.ids) if each in self.ids[:i])
            raise InvalidValue(f"{where}ids", twice, "different from the ids of the other entries")

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    @property
    def rank(self) -> int:
        """The priority as a number: lower is more essential."""
        return _RANKS[self.priority.lower()] if isinstance(self.priority, str) else int(self.priority)

    @property
    def keeps_end(self) -> bool:
        """Whether a cut keeps its end rather than its start."""
        return self.keep in ("tail", "newest")

    @property
    def entry_order(self) -> Sequence[int]:
        """The indexes of its entries, the first to keep first."""
        if self.keeps_end:
            return range(len(self.content) - 1, -1, -1)
        if self.scores is None:
            return range(len(self.content))
        try:
            return self._order
        except AttributeError:
            order = tuple(sorted(range(len(self.scores)), key=[-score for score in self.scores].__getitem__))
            self._set("_order", order)
            return order

    @property
    def chosen_indexes(self) -> Sequence[int]:
        """The indexes of the entries that `most` allows, ascending."""
        order = self.entry_order
        return range(len(order)) if self.most is None or len(order) <= self.most else sorted(order[: self.most])

    @property
    def chosen(self) -> str | Sequence[str]:
        """The content, or the part of it that `most` allows."""
        if self.most is None:
            return self.content
        if not isinstance(self.content, str):
            return [self.content[index] for index in self.chosen_indexes]
        entries = text_entries(self.content)
        if len(entries) <= self.most:
            return self.content
        chosen = entries[len(entries) - self.most :] if self.keeps_end else entries[: self.most]
        return "\n".join(chosen).rstrip("\n")

    @property
    def text(self) -> str:
        """The chosen content as one text; always the same object, so that Python caches its hash."""
        try:
            return self._text
        except AttributeError:
            chosen = self.chosen
            text = chosen if isinstance(chosen, str) else self.joiner.join(chosen)
            self._set("_text", text)
            return text


def _is_finite(value: object) -> bool:
    return not isinstance(value, float) or isfinite(value)


def _texts(place: str, value: object, expected: str) -> tuple[str, ...]:
    """Return texts as a tuple, so that later changes to the caller's list have no effect; generators work too."""
    if not isinstance(value, Iterable) or isinstance(value, str | bytes | bytearray | Mapping | Set):
        raise InvalidType(place, value, expected + _hint(value))
    texts = tuple(value)
    for i, item in enumerate(texts):
        if not isinstance(item, str):
            raise InvalidType(f"{place}[{i}]", item, "a string" + _hint(item))
    return texts


def _hint(value: object) -> str:
    """Return a hint in brackets on how to convert a value to a text, or an empty string."""
    if isinstance(value, bytes | bytearray):
        return " (decode it)"
    if isinstance(value, PurePath):
        return " (read_text reads a file)"
    if isinstance(value, Mapping | list | tuple):
        return " (json.dumps writes one)"
    return " (sort a set first: it has no order)" if isinstance(value, Set) else ""


def text_entries(text: str) -> list[str]:
    """Return the entries of a text, each of one or more lines; joined by line breaks, they give the text again.

    A list of lessons or memories is often passed as one text. If its first line begins with a label ("Attempt 3:",
    "- ", "2. ", "[09:30] "), an entry begins at each line with a label of the same kind. Otherwise each line is an
    entry. A blank line belongs to the entry before it.
    """
    entries: list[list[str]] = []
    kind: str | None = None
    for line in text.split("\n"):
        label = _LABEL.match(line)
        found = "" if label is None else next(group for group in label.groups() if group)
        if kind is None and line.strip():
            kind = found
        if not entries or (line.strip() and (not kind or found == kind)):
            entries.append([line])
        else:
            entries[-1].append(line)
    return ["\n".join(lines) for lines in entries]
