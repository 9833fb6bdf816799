"""The runs that the table has a row for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from scripts.agents.programs import MODEL, PROGRAMS, Program
from scripts.agents.task import Task

Via = Literal["direct", "gateway", "wrap"]
_OLDER, _NEWER = "claude-sonnet-4-5-20250929", "claude-opus-4-8"
"""Claude Code sends reminders to the older model inside messages of the user, to the newer one as system messages."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Scenario:
    """A program, a model, a window and a task."""

    name: str
    program: Program
    window: int
    task: Task
    model: str = MODEL
    asked: int | None = None
    """Tokens for the answer, where the program lets them be set."""
    answer_counts: bool = False
    """Whether the upstream refuses a prompt that leaves too little room for the requested answer."""
    told: bool = True
    """Whether brim is told the window; otherwise it has to learn it from the first refusal."""
    meter: str | None = None
    """The meter that the gateway is told, as the guide of the program advises."""
    lowers: bool = False
    """Whether the gateway may ask for a shorter answer, as Claude Code itself does when it is refused."""
    wrapped: bool = False
    """Whether brim wraps the client instead of standing between."""
    cost: bool = False
    """Whether the prompts must cost no more than without brim."""

    @property
    def ways(self) -> tuple[Via, Via]:
        """The two runs that are compared."""
        return ("direct", "wrap" if self.wrapped else "gateway")


_SMALL, _LARGE, _LONGER, _TURNS = Task(), Task(chars=12_000), Task(steps=75, chars=12_000), Task(steps=20, chars=4_000)

SCENARIOS = (
    Scenario(name="claude 48k", program=PROGRAMS["claude"], window=48_000, task=_SMALL, model=_OLDER, asked=32_000),
    Scenario(
        name="claude 200k",
        program=PROGRAMS["claude"],
        window=200_000,
        task=_LARGE,
        model=_OLDER,
        asked=32_000,
        cost=True,
    ),
    Scenario(
        name="claude 200k, longer",
        program=PROGRAMS["claude"],
        window=200_000,
        task=_LONGER,
        model=_OLDER,
        asked=32_000,
        answer_counts=True,
    ),
    Scenario(
        name="claude 200k, longer, lowered",
        program=PROGRAMS["claude"],
        window=200_000,
        task=_LONGER,
        model=_OLDER,
        asked=32_000,
        answer_counts=True,
        lowers=True,
    ),
    Scenario(name="claude newer 48k", program=PROGRAMS["claude"], window=48_000, task=_SMALL, model=_NEWER),
    Scenario(
        name="claude newer 200k", program=PROGRAMS["claude"], window=200_000, task=_LARGE, model=_NEWER, cost=True
    ),
    Scenario(name="codex", program=PROGRAMS["codex"], window=40_000, task=_SMALL, model="gpt-5.1-codex"),
    Scenario(
        name="codex built-in", program=PROGRAMS["codex-builtin"], window=40_000, task=_SMALL, model="gpt-5.1-codex"
    ),
    Scenario(name="opencode", program=PROGRAMS["opencode"], window=40_000, task=_SMALL),
    Scenario(name="opencode learns", program=PROGRAMS["opencode"], window=40_000, task=_SMALL, told=False),
    Scenario(name="qwen-code", program=PROGRAMS["qwen"], window=48_000, task=_SMALL),
    Scenario(name="pi", program=PROGRAMS["pi"], window=40_000, task=_SMALL),
    Scenario(name="mini-swe-agent", program=PROGRAMS["mini"], window=40_000, task=_SMALL),
    Scenario(name="aider", program=PROGRAMS["aider"], window=16_000, task=_TURNS, meter="o200k_base"),
    Scenario(name="aider, no meter", program=PROGRAMS["aider"], window=16_000, task=_TURNS),
    Scenario(name="llm", program=PROGRAMS["llm"], window=16_000, task=_TURNS),
    Scenario(
        name="anthropic client",
        program=PROGRAMS["anthropic-client"],
        window=40_000,
        task=_SMALL,
        model=_OLDER,
        answer_counts=True,
        wrapped=True,
    ),
    Scenario(
        name="openai client, chat",
        program=PROGRAMS["openai-client"],
        window=40_000,
        task=_SMALL,
        answer_counts=True,
        wrapped=True,
    ),
    Scenario(
        name="openai client, responses", program=PROGRAMS["responses-client"], window=40_000, task=_SMALL, wrapped=True
    ),
)
