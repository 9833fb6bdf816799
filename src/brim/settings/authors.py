"""Alternative names of settings, as used by the authors of the shipped profiles, and the agents of the profile `flow`.

Each word is another name for a setting, with a kind and meaning of its own. The reader, `config set` and
the reference page all use this table; no code depends on who wrote a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from brim.history.priority import DEFAULT
from brim.sessions.memory.working_memory import POLICIES, STRATEGIES
from brim.settings.values import FLAG, Kind, amount, choice, number, whole


@dataclass(frozen=True, slots=True)
class Word:
    """Another name of a setting."""

    place: str
    """Its path in a file, joined by dots; a star stands for the name of a section."""
    key: str
    """The setting that it stands for."""
    kind: Kind
    doc: str
    means: Mapping[str, str] = field(default_factory=dict)
    """The value of the setting for each value of the word, where they differ."""
    top = False

    @property
    def expected(self) -> str:
        """What is accepted, as a phrase that follows "must be"."""
        return self.kind.expected

    def takes(self, value: object) -> bool:
        """Return whether a value is accepted."""
        return self.kind.takes(value)

    def read(self, value: Any) -> Any:
        """Return the value of the setting for a value of the word."""
        return f"{value}%" if self.kind is _PERCENT else self.means.get(value, value)


_PERCENT = number(100)
"""A share as a percentage."""


def _named(place: str, key: str, doc: str, means: Mapping[str, str]) -> Word:
    return Word(place, key, choice(tuple(means)), doc, means)


WORDS = (
    Word("context_budget.enabled", "prompt.enabled", FLAG, "Whether prompts are fitted."),
    Word("context_budget.total_tokens", "prompt.total", whole(1), "Tokens for the prompt and its answer."),
    Word("context_budget.output_reserve", "prompt.reserve", whole(), "Tokens of the total reserved for the answer."),
    Word(
        "context_budget.show_budget_usage", "prompt.show_budget", FLAG, "Whether the prompt states its budget and use."
    ),
    _named(
        "context_budget.overflow_policy",
        "prompt.overflow",
        "What happens to sections of medium and low priority that do not fit.",
        POLICIES,
    ),
    Word("context_budget.sections.*.max_tokens", "sections.*.ceiling", amount(least=1), "The most tokens for it."),
    _named(
        "context_budget.sections.*.priority",
        "sections.*.priority",
        "How important it is.",
        {name: name for name in ("required", "high", "medium", "low")},
    ),
    _named("context_budget.sections.*.truncation_strategy", "sections.*.keep", "Which end is cut.", STRATEGIES),
    Word("context_budget.sections.*.enabled", "sections.*.enabled", FLAG, "Whether it is in the prompt."),
    Word("context.max_utilization_pct", "window.cap", _PERCENT, "The largest share of the window to use, in percent."),
    Word("context.warning_pct", "window.warn", _PERCENT, "The share of the window at which to warn, in percent."),
    Word("context.model_context_tokens", "window.size", whole(1), "The model's context window in tokens."),
    Word(
        "context.max_context_pct",
        "loop.tick_cap",
        _PERCENT,
        "The share of the window for a tick of a loop, in percent.",
    ),
    Word(
        "loop.max_context_pct", "loop.tick_cap", _PERCENT, "The share of the window for a tick of a loop, in percent."
    ),
    Word("curator_enabled", "curator.enabled", FLAG, "Short for curator.enabled."),
)
"""All words; to add one, add a row."""

SAME = {
    "budget_overrides": "budgets",
    "defaults": "budgets",
    "context_budget.allocations": "context_budget.sections",
    "agent.context_budget": "context_budget",
}
"""Alternative names of groups."""

EXTENDS = {"context_budget": "ecology", "agent": "ecology"}
"""The profile that a file or profile extends implicitly if it uses a group of words."""


def extending(values: Mapping[str, Any]) -> str | None:
    """Return the group of words that makes a mapping extend a profile, or `None`; an `agent` may also be a name."""
    return next((group for group in EXTENDS if isinstance(values.get(group, ""), Mapping | None)), None)


# fmt: off
_AGENTS = {
    "CRITICAL": (
        "merge-decider", "deploy-decider", "requirements-critic", "design-critic", "test-critic", "code-critic",
        "ux-critic", "code-implementer", "test-author", "self-reviewer",
    ),
    "HIGH": (
        "requirements-author", "bdd-author", "adr-author", "interface-designer", "observability-designer",
        "design-optioneer", "work-planner", "test-strategist", "receipt-checker", "contract-enforcer",
        "security-scanner", "coverage-enforcer", "gate-fixer", "smoke-verifier", "deploy-monitor",
    ),
    "MEDIUM": (
        "clarifier", "risk-analyst", "policy-analyst", "impact-analyzer", "context-loader", "fixer", "mutator",
    ),
    "LOW": (
        "signal-normalizer", "problem-framer", "scope-assessor", "gh-reporter", "doc-writer", "flow-historian",
        "artifact-auditor", "regression-analyst", "learning-synthesizer", "feedback-applier", "swarm-ops",
        "ux-implementer", "repo-operator",
    ),
}
# fmt: on

CLASSES = {"none": DEFAULT, "flow": DEFAULT.amended(agents=_AGENTS)}
"""The classes of steps by agent, for each value of `history.agents`."""
