"""The vocabulary of `context_budget`, in which agents that manage their own context write their budgets.

Each word is another name of a setting, and is read as that setting with its own line. A file or a profile that uses
the vocabulary inherits from the profile `ecology`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from brim.sessions.memory.working_memory import POLICIES, STRATEGIES
from brim.settings.kinds import FLAG, Kind, amount, choice, whole

NAME = "context_budget"
ABOVE = "agent"
"""A mapping that may contain `context_budget`."""
PROFILE = "ecology"
"""The profile that the vocabulary inherits from."""


@dataclass(frozen=True, slots=True)
class Word:
    """One word, and its setting."""

    key: str
    kind: Kind
    doc: str
    means: Mapping[str, str] = field(default_factory=dict)
    """The setting's value for each of its names, if they differ."""


def _named(key: str, doc: str, **means: str) -> Word:
    return Word(key, choice(tuple(means)), doc, means)


WORDS = {
    "enabled": Word("prompt.enabled", FLAG, "Whether prompts are fitted at all."),
    "total_tokens": Word("prompt.total", whole(1), "Tokens of the prompt and its answer."),
    "output_reserve": Word("prompt.reserve", whole(), "Tokens of the total that are reserved for the answer."),
    "show_budget_usage": Word("prompt.show_budget", FLAG, "Whether the prompt states its own budget and use."),
    "overflow_policy": _named(
        "prompt.overflow",
        "What happens to sections of medium and low priority that do not fit.",
        **POLICIES,
    ),
}
SECTION_WORDS = {
    "max_tokens": Word("ceiling", amount(least=1), "The most that it gets."),
    "priority": _named(
        "priority", "How essential it is.", required="required", high="high", medium="medium", low="low"
    ),
    "truncation_strategy": _named("keep", "Which side is cut.", **STRATEGIES),
    "enabled": Word("enabled", FLAG, "A section that is not enabled is left out."),
}
SECTIONS = ("sections", "allocations")
"""Two names of the mapping of sections."""


def speaks(values: Mapping[str, Any]) -> bool:
    """Return whether a mapping uses this vocabulary."""
    return NAME in values or isinstance(values.get(ABOVE), Mapping)


def schema() -> dict[str, Any]:
    """Return the JSON Schema of `context_budget`."""
    section = {"type": ["object", "null"], "properties": _properties(SECTION_WORDS), "additionalProperties": False}
    rows = {"type": ["object", "null"], "additionalProperties": section}
    return {
        "description": "Budgets in the words of agents that manage their own context.",
        "type": ["object", "null"],
        "properties": {**_properties(WORDS), **dict.fromkeys(SECTIONS, rows)},
        "not": {"required": list(SECTIONS)},
        "additionalProperties": False,
    }


def _properties(words: Mapping[str, Word]) -> dict[str, Any]:
    return {name: {"description": word.doc, **word.kind.schema} for name, word in words.items()}
