"""Memory for prompts: lessons from attempts, and a page that an agent writes.

An `EpisodicMemory` has one lesson per attempt, and a `WorkingMemory` is the page that an agent writes for itself. Each
provides a `Section` of limited size.
"""

from __future__ import annotations

from brim.sessions.memory.lessons import DIRECTIVE, Attempt, EpisodicMemory, Lesson, distilled
from brim.sessions.memory.working_memory import BudgetOverride, WorkingMemory

__all__ = ["DIRECTIVE", "Attempt", "BudgetOverride", "EpisodicMemory", "Lesson", "WorkingMemory", "distilled"]
