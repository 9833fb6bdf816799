"""The note that tells an agent what is missing of its history, and the same for a receipt.

Programs read both, so their form is fixed to the last character.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from brim.amounts import units
from brim.errors import InvalidValue, check_choice
from brim.history.priority import NAMES
from brim.wire.message import Message, Piece

MARK = "[CONTEXT_TRUNCATED]"
"""How a note begins."""

Distribution = Mapping[str, int]


def note(  # noqa: PLR0917 - in the order in which they stand in the note
    included: int,
    total: int,
    used: int,
    budget: int,
    unit: str,
    distribution: Distribution | None = None,
) -> str:
    """Return the note for a prompt in which a step was omitted.

    `distribution` is how many of the included steps each class has, if steps were selected by class.

    Raises:
        InvalidValue: a number is below 0, more steps are included than there are, or a class is unknown.
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
    """Return whether a message is only the note of an earlier fit."""
    return len(message.pieces) == 1 and message.pieces[0].text.startswith(MARK)


def note_in(message: Message, count: Callable[[Piece], int]) -> int:
    """Return the tokens of the note that an earlier fit put at the end of a message, or zero."""
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
    """Return the `context_truncation` of a receipt; `cut` says whether an included step was shortened.

    Raises:
        InvalidValue: as for `note`.
    """
    _check(included, total, used, budget, distribution)
    values: dict[str, Any] = {
        "steps_included": included,
        "steps_total": total,
        "chars_used": used,
        "budget_chars": budget,
        "truncated": cut or included < total,
        "priority_aware": distribution is not None,
    }
    if distribution is not None:
        values["priority_distribution"] = {name: distribution.get(name, 0) for name in NAMES}
    return values


def _check(included: int, total: int, used: int, budget: int, distribution: Distribution | None) -> None:
    for place, value in (("included", included), ("total", total), ("used", used), ("budget", budget)):
        units(place, value)
    if included > total:
        raise InvalidValue("included", included, f"at most the {total:,} steps that there are")
    for name, steps in (distribution or {}).items():
        check_choice("distribution: a key", name, NAMES)
        units(f"distribution.{name}", steps)
