"""Budgets in the words of agents that manage their own context: `context_budget`, also below `agent`.

The words are another spelling of the settings and nothing more: each is read as the setting that it stands for, with
the line that it stands on. A file or a profile that uses them rests on the profile `ecology`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from brim.errors import shown
from brim.files.source import Keys, place
from brim.settings.kinds import Amount, Choice, Flag, Kind, Whole

if TYPE_CHECKING:
    from brim.settings.layer import Reader

NAME = "context_budget"
ABOVE = "agent"
"""The mapping that `context_budget` may stand in."""
PROFILE = "ecology"
"""What holds for all that is not said."""


@dataclass(frozen=True, slots=True)
class _Limit(Amount):
    """Tokens, or a share of what the answer leaves: more than nothing."""

    @property
    def expected(self) -> str:
        """What is taken."""
        return 'tokens above 0 (400) or a percentage above 0, up to 100 ("20%")'

    def takes(self, value: object) -> bool:
        """Return whether it is an amount above 0."""
        nothing = isinstance(value, str) and not value.strip(" %0.")
        return Amount.takes(self, value) and value != 0 and not nothing

    def schema(self) -> dict[str, Any]:
        """Return both ways to write it."""
        whole, share = Amount.schema(self)["anyOf"]
        return {"anyOf": [{**whole, "minimum": 1}, {**share, "not": {"pattern": r"^[\s0.%]*$"}}]}


@dataclass(frozen=True, slots=True)
class _Word:
    """One word, and the setting that it stands for."""

    key: str
    kind: Kind
    doc: str
    means: Mapping[str, str] = field(default_factory=dict)
    """What its names are called in the settings, where they are called otherwise."""


def _named(key: str, doc: str, **means: str) -> _Word:
    return _Word(key, Choice(tuple(means)), doc, means)


_WORDS = {
    "enabled": _Word("prompt.enabled", Flag(), "Whether prompts are fitted at all."),
    "total_tokens": _Word("prompt.total", Whole(least=1), "Tokens of the prompt and its answer."),
    "output_reserve": _Word("prompt.reserve", Whole(), "Tokens of the total that are kept free for the answer."),
    "show_budget_usage": _Word("prompt.show_budget", Flag(), "Whether the prompt tells its own budget and use."),
    "overflow_policy": _named(
        "prompt.overflow",
        "What happens to sections of medium and low priority that do not fit.",
        truncate_low_priority="truncate",
        drop_low_priority="drop",
        truncate="truncate",
        drop="drop",
    ),
}
_SECTION = {
    "max_tokens": _Word("ceiling", _Limit(), "It never gets more than this."),
    "priority": _named(
        "priority", "How essential it is.", required="required", high="high", medium="medium", low="low"
    ),
    "truncation_strategy": _named("keep", "Which side is cut.", end="head", start="newest", middle="ends"),
    "enabled": _Word("enabled", Flag(), "A section that is not enabled uses nothing."),
}
_SECTIONS = ("sections", "allocations")
"""Two names of the sections."""


def speaks(values: Mapping[str, Any]) -> bool:
    """Return whether a mapping uses these words."""
    return NAME in values or isinstance(values.get(ABOVE), Mapping)


def respelled(reader: Reader, name: str, value: Any, keys: Keys) -> Iterator[tuple[str, Any, Keys]]:
    """Yield the settings of a mapping in these words: the key, the value, and the way to it in the file.

    What is wrong with it the reader remembers.
    """
    values = reader.mapping(value, *keys)
    if name == ABOVE:
        for inner, below in values.items():
            if inner == NAME:
                yield from respelled(reader, NAME, below, (*keys, NAME))
            else:
                reader.unknown(inner, (NAME,), keys)
        return
    if all(spelling in values for spelling in _SECTIONS):
        told = f"{place((*keys, 'allocations'))} stands beside sections, which means the same: keep one"
        reader.refuse(told, *keys, "allocations")
    for word, inner in values.items():
        if word in _SECTIONS:
            yield from _sections(reader, inner, (*keys, word))
        else:
            yield from _one(reader, _WORDS, word, inner, keys)


def _sections(reader: Reader, value: Any, keys: Keys) -> Iterator[tuple[str, Any, Keys]]:
    for name, row in reader.mapping(value, *keys).items():
        if not name:
            reader.unknown(name, (), keys)
            continue
        for word, inner in reader.mapping(row, *keys, name).items():
            for key, own, at in _one(reader, _SECTION, word, inner, (*keys, name)):
                yield f"sections.{name}.{key}", own, at


def _one(
    reader: Reader, known: Mapping[str, _Word], name: str, value: Any, keys: Keys
) -> Iterator[tuple[str, Any, Keys]]:
    word, at = known.get(name), (*keys, name)
    if word is None:
        reader.unknown(name, (*known, *(_SECTIONS if known is _WORDS else ())), keys)
    elif not word.kind.takes(value):
        reader.refuse(f"{place(at)} must be {word.kind.expected}, not {shown(value)}", *at)
    else:
        yield word.key, word.means[value] if word.means else value, at


def schema() -> dict[str, Any]:
    """Return the JSON Schema of `context_budget`."""
    section = {"type": ["object", "null"], "properties": _properties(_SECTION), "additionalProperties": False}
    rows = {"type": ["object", "null"], "additionalProperties": section}
    return {
        "description": "Budgets in the words of agents that manage their own context.",
        "type": ["object", "null"],
        "properties": {**_properties(_WORDS), **dict.fromkeys(_SECTIONS, rows)},
        "not": {"required": list(_SECTIONS)},
        "additionalProperties": False,
    }


def _properties(words: Mapping[str, _Word]) -> dict[str, Any]:
    return {name: {"description": word.doc, **word.kind.schema()} for name, word in words.items()}
