"""The prompts of the three agents: what goes into each section of their tables."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from brim.sessions.memory import DIRECTIVE, EpisodicMemory

ARCHITECT = "You are the Architect. You pick the next rule and plan how it is fixed. " + "Weigh risk and order. " * 380
WORKER = "You are the Worker. You fix one rule on one host. " + "Change as little as the rule demands. " * 205
REFLECTOR = "You are the Reflector. You say why an attempt failed. " + "Name the cause and not the symptom. " * 205
ONCE = "Call apply_fix once and return."


@dataclass
class Run:
    """What is known of the run so far."""

    failing: list[str]
    fixed: list[str] = field(default_factory=list)
    escalated: list[str] = field(default_factory=list)
    advice: dict[str, Counter[str]] = field(default_factory=dict)

    def learn(self, kind: str, text: str) -> None:
        """Count how often advice was given, and note it as the newest."""
        known = self.advice.setdefault(kind, Counter())
        known[text] = known.pop(text, 0) + 1

    def learned(self, kind: str) -> list[str]:
        """Return the advice of a kind, the most frequent first; what is strategic, the newest last."""
        known = self.advice.get(kind, Counter())
        return list(known) if kind == "strategic" else [text for text, _ in known.most_common()]


def architect(run: Run) -> dict[str, str | list[str]]:
    """Return the sections from which the next rule is chosen."""
    return {
        "counts": f"fixed {len(run.fixed)}, escalated {len(run.escalated)}, failing {len(run.failing)}",
        "failing": run.failing[:10],
        "banned": run.learned("banned"),
        "lessons": run.learned("strategic")[::-1],
        "remediated": run.fixed,
        "escalated": run.escalated,
        "remaining": run.failing[10:],
    }


def worker(run: Run, rule: str, plan: str, memory: EpisodicMemory) -> dict[str, str | list[str]]:
    """Return the sections of one attempt."""
    return {
        "rule": rule,
        "directive": ONCE,
        "plan": plan,
        "lessons": [str(attempt) for attempt in memory.attempts],
        "banned": run.learned("banned"),
        "preferred": run.learned("preferred"),
        "strategic": run.learned("strategic"),
    }


def reflector(
    rule: str, approach: str, result: str, memory: EpisodicMemory, told: list[str]
) -> dict[str, str | list[str]]:
    """Return the sections from which a lesson is distilled."""
    return {
        "rule": rule,
        "attempt": f"{approach}\n\n{result}",
        "lessons": [str(attempt) for attempt in memory.attempts],
        "directive": f"Answer in three lines.\nCAUSE: <what failed>\nBANNED: <what not to try again>\n{DIRECTIVE}",
        "history": told,
    }
