"""What was wrong with a message of the caller, and what was done about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Repair:
    """A problem of a message, and how it was repaired."""

    index: int
    """The index of the caller's message."""
    action: str
    """`dropped`, `changed` or `moved`."""
    reason: str
    units: int
    """Tokens that were dropped."""
    raw: Any
    """The caller's own object."""
