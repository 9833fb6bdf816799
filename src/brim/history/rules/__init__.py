"""What providers ask of a history, one rule per file.

Each rule says of a message which earlier one it may not be parted from, so where no cut is allowed; what already
breaks the rule, it names.
"""

from __future__ import annotations

from typing import Protocol

from brim.history.rules.alternation import Alternation
from brim.history.rules.batches import Batches
from brim.history.rules.pairs import Pairs
from brim.wire import Wire
from brim.wire.message import Message

__all__ = ["Alternation", "Batches", "Pairs", "SeamRule", "rules_of"]


class SeamRule(Protocol):
    """One thing that a provider asks of a history."""

    def bond(self, message: Message, at: int) -> int | None:
        """Return the position of the earliest message that this one may not be parted from.

        `None` says that a cut before it is allowed. Messages come in order, each once.
        """


def rules_of(wire: Wire, pairs: Pairs) -> list[SeamRule]:
    """Return the rules of a wire shape."""
    rules: list[SeamRule] = [pairs]
    if wire.batches:
        rules.append(Batches())
    if wire.pairs:
        rules.append(Alternation())
    return rules
