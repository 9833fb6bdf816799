"""The note that tells an agent how much of its history is missing, and the same numbers for a receipt.

Programs parse both, so their form is fixed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from brim.history.envelopes import has_person
from brim.history.priority import NAMES
from brim.wire.message import Message, Piece

NOTE_MARK = "[CONTEXT_TRUNCATED]"
"""How a note begins."""
_FORM = re.compile(
    re.escape(NOTE_MARK)
    + r" Included [0-9]{1,9} of [0-9]{1,9} history steps \([0-9]{1,9} omitted(?:, [0-9]{1,9} shortened)?,"
    r" budget: [0-9,]{1,15}/[0-9,]{1,15} [^\n()]{1,40}\)(?: \[Priority: (?:[A-Z]{1,9}=[0-9]{1,9}(?:, )?){1,9}\])?"
)

Distribution = Mapping[str, int]


def note(  # noqa: PLR0917 - in the order in which they stand in the note
    included: int,
    total: int,
    used: int,
    budget: int,
    unit: str,
    distribution: Distribution | None = None,
    *,
    shortened: int = 0,
) -> str:
    """Return the note for a prompt without some steps.

    `distribution` is the number of included steps by class, if steps were selected by class; `shortened` is the number
    of included steps that are not whole, if the note is to say that.
    """
    less = f", {shortened} shortened" if shortened else ""
    line = (
        f"{NOTE_MARK} Included {included} of {total} history steps "
        f"({total - included} omitted{less}, budget: {used:,}/{budget:,} {unit})"
    )
    if distribution is None:
        return line
    shares = ", ".join(f"{name}={distribution.get(name, 0)}" for name in NAMES)
    return f"{line} [Priority: {shares}]"


def is_note(message: Message) -> bool:
    """Return whether a message is only the note of an earlier fit."""
    pieces = message.pieces  # Most messages begin differently, which is quick to see.
    return len(pieces) == 1 and pieces[0].text.startswith(NOTE_MARK) and _note_of(message) is not None


def is_spoken(message: Message) -> bool:
    """Return whether a user message has words of a person: not only results, a note or a program's reminder."""
    texts = [piece.text for piece in message.pieces if piece.kind == "text" and not is_written(piece.text)]
    if not texts and not message.results:
        return not is_note(message)
    return any(map(has_person, texts))


def note_in(message: Message, count: Callable[[Piece], int]) -> int:
    """Return the tokens of an earlier fit's note at the end of a message, or 0."""
    last = _note_of(message)
    return 0 if last is None else count(last)


def _note_of(message: Message) -> Piece | None:
    """Return the last piece of a user message if it is a note."""
    last = message.last if message.role == "user" else None
    return last if last is not None and last.kind == "text" and is_written(last.text) else None


def is_written(text: str) -> bool:
    """Return whether a text is a note as `note` writes it; any other text may be a person's."""
    return text.startswith(NOTE_MARK) and _FORM.fullmatch(text) is not None


def truncation(
    included: int,
    total: int,
    used: int,
    budget: int,
    distribution: Distribution | None = None,
    *,
    cut: bool = False,
    unit: str = "chars",
) -> dict[str, Any]:
    """Return the `context_truncation` of a receipt.

    `cut` says whether an included step was shortened; `unit` is `chars` or `tokens`.
    """
    values: dict[str, Any] = {
        "steps_included": included,
        "steps_total": total,
        f"{unit}_used": used,
        f"budget_{unit}": budget,
        "truncated": cut or included < total,
        "priority_aware": distribution is not None,
    }
    if distribution is not None:
        values["priority_distribution"] = {name: distribution.get(name, 0) for name in NAMES}
    return values
