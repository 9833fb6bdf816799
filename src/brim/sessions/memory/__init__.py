"""Memory for prompts: lessons from attempts, advice, and a page that an agent writes.

An `EpisodicMemory` has one lesson per attempt, a `SemanticMemory` banned, preferred and strategic advice, and a
`WorkingMemory` the page that an agent writes for itself. Each provides a `Section` of limited size.
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
