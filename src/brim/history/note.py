"""The line that tells an agent what of its history is missing, and the same for a receipt.

Both are read by programs, so their form is fixed to the last character.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from brim.amounts import units
from brim.errors import InvalidValue, check_choice
from brim.history.priority import NAMES
from brim.wire.message import Message, Piece

MARK = "[CONTEXT_TRUNCATED]"
"""How the line begins."""

Distribution = Mapping[str, int]


def note(  # noqa: PLR0917 - in the order in which they stand in the line
    included: int,
    total: int,
    used: int,
    budget: int,
    unit: str,
    distribution: Distribution | None = None,
) -> str:
    """Return the line for a prompt, which belongs there only if a step was omitted.

    `distribution` is how many of the included steps each class has, where selection went by class.

    Raises:
        InvalidValue: a number is below 0, more steps are included than there are, or a class is not known.
    """
    _check(included, total, used, budget, distribution)
    line = (
        f"{MARK} Included {included} of {total} history steps "
        f"({total - included} omitted, budget: {used:,}/{budget:,} {unit})"
    )
    if distribution is None:
        return line
    shares = ", ".join(f"{name}={distribution.get(name, 0)}" for name in NAMES)
    return f"{line} [Priority: {shares}]"


def is_note(message: Message) -> bool:
    """Return whether a message is nothing but the line of an earlier fit."""
    return len(message.pieces) == 1 and message.pieces[0].text.startswith(MARK)


def note_in(message: Message, count: Callable[[Piece], int]) -> int:
    """Return the units of the line that an earlier fit put at the end of a message, or zero."""
    last = message.pieces[-1] if message.pieces else None
    return count(last) if last is not None and last.kind == "text" and last.text.startswith(MARK) else 0


def truncation(
    included: int,
    total: int,
    used: int,
    budget: int,
    distribution: Distribution | None = None,
    *,
    cut: bool = False,
) -> dict[str, Any]:
    """Return the `context_truncation` of a receipt; `cut` says whether a step that is included lost some of its text.

    Raises:
        InvalidValue: as for `note`.
    """
    _check(included, total, used, budget, distribution)
    told: dict[str, Any] = {
        "steps_included": included,
        "steps_total": total,
        "chars_used": used,
        "budget_chars": budget,
        "truncated": cut or included < total,
        "priority_aware": distribution is not None,
    }
    if distribution is not None:
        told["priority_distribution"] = {name: distribution.get(name, 0) for name in NAMES}
    return told


def _check(included: int, total: int, used: int, budget: int, distribution: Distribution | None) -> None:
    for place, value in (("included", included), ("total", total), ("used", used), ("budget", budget)):
        units(place, value)
    if included > total:
        raise InvalidValue("included", included, f"at most the {total:,} steps that there are")
    for name, steps in (distribution or {}).items():
        check_choice("distribution: a key", name, NAMES)
        units(f"distribution.{name}", steps)
