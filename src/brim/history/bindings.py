"""Which models refuse thinking after an edit, and which ask for the thinking before their last call."""

from __future__ import annotations

import re

_UNBOUND = re.compile(r"claude-(?:[a-z]+-)?[1-4]\b|claude-[a-z]+-5(?:-0)?(?![-.]?[1-9])|claude-[1-4]")
"""Models known to accept thinking after any edit; later ones refuse it."""


def binds(model: str | None) -> bool:
    """Return whether a model may refuse thinking after an edit; an unknown model may."""
    return model is None or _UNBOUND.search(model) is None


def asks_for_thinking(model: str | None) -> bool:
    """Return whether a model may refuse a last call without the thinking before it.

    Those that bind thinking decide by themselves whether to think, and do not ask for it; an unknown model may ask.
    """
    return model is None or "claude" not in model.casefold() or not binds(model)
