"""Memory for prompts: lessons of attempts, advice, and an agent's own page.

An `EpisodicMemory` has one lesson per attempt, a `SemanticMemory` banned, preferred and strategic advice, and a
`WorkingMemory` the page that an agent writes for itself. Each makes a `Section` with a limit on its size.
"""

from __future__ import annotations

from brim.sessions.memory.advice import Advice, SemanticMemory
from brim.sessions.memory.lessons import DIRECTIVE, Attempt, EpisodicMemory, Lesson, distilled
from brim.sessions.memory.working_memory import BudgetOverride, WorkingMemory

__all__ = [
    "DIRECTIVE",
    "Advice",
    "Attempt",
    "BudgetOverride",
    "EpisodicMemory",
    "Lesson",
    "SemanticMemory",
    "WorkingMemory",
    "distilled",
]
