"""The class of a step, by its agent, its id and its output.

The class of a listed agent applies to all its steps. For other agents the words of the step's id decide, then those of
its output: whole words, since "latest_notes" is not a test. Words in paths and file names do not count in an output.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from brim.errors import InvalidType, InvalidValue, check_choice

_OPENING = 2_000
"""Characters at the start of an output whose words count."""

_WORD = re.compile(r"[^\W\d_]+|\d+")
_PROSE = re.compile(r"(?<![\w./\\~-])[^\W\d_]{1,40}(?![\w/\\]|[.-]\w)")
"""A word outside paths, file names and identifiers."""
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


class StepClass(IntEnum):
    """How important a step is: higher classes are kept longer."""

    LOW = 0
    MEDIUM = 1
    HIGH = 2
    CRITICAL = 3


NAMES = tuple(kind.name for kind in sorted(StepClass, reverse=True))
"""The classes by name, the most valuable first."""

Listed = Mapping[str, Sequence[str]]
"""Names or words by class."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentClasses:
    """A table of classes. `dataclasses.replace` changes a whole column, `amended` single entries."""

    agents: Listed
    """The names of agents by class. Case and the separators of words make no difference."""
    steps: Listed
    """Words in the id of a step by class; the highest class that matches counts."""
    outputs: Listed
    """Words at the start of an output by class."""
    otherwise: StepClass = StepClass.MEDIUM
    """The class of a step without a match."""
    _agents: Mapping[str, StepClass] = field(init=False, repr=False, compare=False)
    _steps: Mapping[str, StepClass] = field(init=False, repr=False, compare=False)
    _outputs: Mapping[str, StepClass] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for column in ("agents", "steps", "outputs"):
            listed = getattr(self, column)
            object.__setattr__(self, f"_{column}", _by_name(column, listed))
            object.__setattr__(self, column, {name: tuple(listed[name]) for name in listed})
        if not isinstance(self.otherwise, StepClass):
            raise InvalidType("otherwise", self.otherwise, "a StepClass")

    def of(self, agent: str | None, step: str | None = None, output: str | None = None) -> StepClass:
        """Return the class of a step; unknown arguments are `None`.

        Raises:
            InvalidType: an argument is not a text.
        """
        for place, value in (("agent", agent), ("step", step), ("output", output)):
            if value is not None and not isinstance(value, str):
                raise InvalidType(place, value, "a string or None")
        known = self._agents.get(_key(agent or ""))
        if known is None:
            known = _highest(self._steps, words(step or ""))
        if known is None:
            prose = (match[0].casefold() for match in _PROSE.finditer((output or "")[:_OPENING]))
            known = _highest(self._outputs, prose)
        return self.otherwise if known is None else known

    def amended(
        self, *, agents: Listed | None = None, steps: Listed | None = None, outputs: Listed | None = None
    ) -> AgentClasses:
        """Return a table in which these names and words have these classes instead of any earlier one.

        Raises:
            InvalidValue: a class is unknown, or a name has two.
        """
        columns = {
            column: _merged(column, getattr(self, column), changes or {})
            for column, changes in (("agents", agents), ("steps", steps), ("outputs", outputs))
        }
        return AgentClasses(**columns, otherwise=self.otherwise)


def distribution(classes: Iterable[StepClass]) -> dict[str, int]:
    """Return how many steps each class has, by its name, the most valuable first."""
    counts = dict.fromkeys(NAMES, 0)
    for kind in classes:
        counts[StepClass(kind).name] += 1
    return counts


def words(text: str) -> Iterator[str]:
    """Yield the words of a name, in lower case.

    Names are split at other characters than letters and digits, between letters and digits, before a capital after a
    small letter, and before the last of several capitals: `ADRAuthor2` has the words adr, author and 2.
    """
    for match in _WORD.finditer(text):
        for part in _HUMP.split(match[0]):
            yield part.casefold()


def _highest(known: Mapping[str, StepClass], found: Iterable[str]) -> StepClass | None:
    return max((known[word] for word in found if word in known), default=None)


def _by_name(column: str, listed: Any) -> dict[str, StepClass]:
    """Return the class of each name, by its key."""
    if not isinstance(listed, Mapping):
        raise InvalidType(column, listed, "names by class, such as {'HIGH': ['my-agent']}")
    found: dict[str, StepClass] = {}
    for kind, names in listed.items():
        place = f"{column}.{kind}"
        check_choice(f"{column}: a key", kind, NAMES)
        if isinstance(names, str) or not isinstance(names, Iterable):
            raise InvalidType(place, names, "a list of strings")
        for name in names:
            if not isinstance(name, str):
                raise InvalidType(place, name, "a string")
            key = _key(name)
            if not key or (column != "agents" and "-" in key):
                raise InvalidValue(place, name, "a name with a letter" if column == "agents" else "a single word")
            if found.get(key, StepClass[kind]) is not StepClass[kind]:
                raise InvalidValue(place, name, f"in one class only; it is {found[key].name} already")
            found[key] = StepClass[kind]
    return found


def _merged(column: str, old: Listed, changes: Listed) -> dict[str, tuple[str, ...]]:
    """Return a column with changes; a changed name is in its new class only."""
    moved = _by_name(column, changes)
    kept = {kind: [name for name in names if _key(name) not in moved] for kind, names in old.items()}
    return {kind: (*kept.get(kind, ()), *changes.get(kind, ())) for kind in {**kept, **changes}}


def _key(name: str) -> str:
    """Return the key of a name: its words, joined by dashes."""
    return "-".join(words(name))


DEFAULT = AgentClasses(
    agents={},
    steps={
        "CRITICAL": ("critic", "critics", "decider", "deciders"),
        "HIGH": ("author", "authors", "implement", "implementer", "implementers", "implementation"),
    },
    outputs={
        "HIGH": ("decision", "decisions", "critique", "critiques"),
        "LOW": ("summary", "summaries", "history", "histories"),
    },
)
"""The table without listed agents: the words of a step's id and output decide."""
