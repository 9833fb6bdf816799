"""The agents that the `flow` profile knows, by the class of priority of their steps."""

from __future__ import annotations

from brim.history.priority import DEFAULT

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
"""The tables of classes that the setting `history.agents` names."""
