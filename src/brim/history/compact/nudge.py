"""What a loop says in the user's place between two steps: no person said it, so nothing hands it over."""

from __future__ import annotations

import re

GO_ON = "Go on."
_NUDGE = re.compile(r"Go on\.|Iteration [\d,]{1,12} of at most [\d,]{1,12}: go on towards the goal\.")


def next_iteration(number: int, most: int) -> str:
    """Return what is said when an iteration begins."""
    return f"Iteration {number:,} of at most {most:,}: go on towards the goal."


def is_nudge(text: str) -> bool:
    """Return whether a text is one of these, to the last character."""
    return _NUDGE.fullmatch(text.strip()) is not None
