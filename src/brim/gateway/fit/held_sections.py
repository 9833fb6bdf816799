"""The sections that the newest prompt of each conversation has, so that the next one begins with the same bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from brim.errors import DoesNotFit
from brim.gateway.fit.added_sections import AddedSections
from brim.history.stable import Stable
from brim.sessions.conversations.request import FittedRequest

_TRIES = 3
"""How often sections are chosen for less, if the messages do not fit beside them."""


class HeldChoice(NamedTuple):
    """The sections of the newest prompt of a conversation."""

    added: AddedSections | None
    size: int
    """Tokens of the request as it came."""
    used: int
    """Tokens of what was sent."""
    target: int
    """Tokens that it was cut to at the most."""


class HeldSections:
    """The sections of conversations that were cut, by name. Safe for threads."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: OrderedDict[str, HeldChoice] = OrderedDict()
        self._lock = threading.Lock()

    def fit(
        self,
        name: str,
        target: int,
        fits: int | None,
        size: int,
        *,
        stable: bool,
        choose: Callable[[int], AddedSections],
        recount: Callable[[AddedSections], AddedSections],
        fit: Callable[[AddedSections], FittedRequest],
    ) -> tuple[FittedRequest, AddedSections]:
        """Return a request of a conversation with the sections that share its budget, and these.

        Args:
            name: the name of the conversation.
            target: tokens that it may take.
            fits: tokens that it may take with the sections that its last prompt had; `None` chooses anew.
            size: tokens of the request as it came.
            stable: whether the next prompts are to begin with the same bytes.
            choose: returns the sections for a budget.
            recount: returns sections of an earlier request, counted for this one.
            fit: returns the request beside sections.

        Raises:
            DoesNotFit: what has to stay is too long.
        """
        held = self.get(name, size, target, fits) if stable and fits is not None else None
        chosen = None if held is None else recount(held)
        for _ in range(_TRIES):
            chosen = chosen or _chosen(choose, target, stable=stable)
            try:
                made = fit(chosen)
            except DoesNotFit as error:  # What was reported for the last prompt may leave less than was counted.
                chosen, target = None, target - max(1, error.needed - error.available)
                continue
            self.put(name, HeldChoice(chosen, size, made.used or 0, target))
            return made, chosen
        chosen = _chosen(choose, target, stable=stable)
        return fit(chosen), chosen

    def get(self, name: str, size: int, target: int, fits: int) -> AddedSections | None:
        """Return the sections of a conversation, if what is new fits beside what was sent; `None` if not."""
        with self._lock:
            last = self._held.get(name)
        if last is None or last.target != target or not last.size <= size <= last.size + fits - last.used:
            return None
        return last.added

    def put(self, name: str, choice: HeldChoice) -> None:
        """Hold the sections of a conversation; the longest unused are forgotten."""
        with self._lock:
            self._held[name] = choice
            self._held.move_to_end(name)
            while len(self._held) > self._most:
                self._held.popitem(last=False)

    def clear(self) -> None:
        """Forget all: the settings have changed."""
        with self._lock:
            self._held.clear()


def _chosen(choose: Callable[[int], AddedSections], target: int, *, stable: bool) -> AddedSections:
    """Return the sections for a budget: in stable mode for less of it, so that the next prompts only append.

    Raises:
        DoesNotFit: what has to stay is too long.
    """
    if stable:
        with suppress(DoesNotFit):
            return choose(int(target * Stable().low))
    return choose(target)
