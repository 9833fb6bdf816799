"""One conversation under one policy: each request fitted in order, and what that keeps, drops and shares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from brim.audit.policy import Policy
from brim.audit.recorded import NOTE, Recorded
from brim.errors import DoesNotFit
from brim.history.fitted import Fitted
from brim.history.history import History
from brim.meter import meter

_UNBOUND = 10**12
"""Units that no request has."""


@dataclass(frozen=True, slots=True)
class ReplayedPrompt:
    """What is sent of one request."""

    units: int
    """In the model's tokens."""
    shared: int
    """Of these, those at the start that the prompt before had as well."""
    changed: bool
    lost: dict[str, int]
    """Units that are not sent, by who said them."""
    dropped: int
    """Messages that are not sent."""
    cut: int
    """Messages that are sent in a shorter form."""


class Lane:
    """One conversation under one policy."""

    def __init__(self, policy: Policy, recorded: Recorded) -> None:
        self.policy = policy
        own = policy.stable or policy.meter is not None
        scale = recorded.facts.scale if policy.meter is None else meter(policy.meter)
        self._history = History(meter=scale, format=recorded.format, stable=policy.stable) if own else recorded.history
        self._own = own
        self._last: Sequence[Any] = ()
        self._cut = False

    def resume(self, last: Lane) -> None:
        """Go on from the last prompt of a conversation that was changed."""
        self._last, self._cut = last._last, True

    def fit(self, recorded: Recorded, added: Sequence[Any], answer: int, aside: bool) -> ReplayedPrompt | None:
        """Return what is sent of the last request; nothing where what has to stay does not fit.

        Args:
            recorded: the conversation.
            added: its messages that are new.
            answer: the tokens that the answer may take.
            aside: whether the tools and the system prompt are those of the request before.
        """
        if self._own:
            self._history.extend(added)
        try:
            fitted, units = self._fitted(recorded, answer)
        except DoesNotFit:
            self._last, self._cut = (), True
            return None
        messages = fitted.messages
        changed = len(messages) != recorded.length or messages != list(recorded.source())
        last, cut = self._last, self._cut
        self._last, self._cut = messages, changed
        if not changed and not cut:
            return ReplayedPrompt(recorded.units, recorded.shared, False, {}, 0, 0)
        shared = _shared(recorded, last, messages) if aside else 0
        if not changed:
            return ReplayedPrompt(recorded.units, shared, False, {}, 0, 0)
        return _compared(recorded, messages, units, shared)

    def _fitted(self, recorded: Recorded, answer: int) -> tuple[Fitted, int]:
        """Return the fit, and its tokens: where the budget is in other units, both it and the window hold.

        Raises:
            DoesNotFit: what has to stay does not fit.
        """
        policy, (tools, system) = self.policy, recorded.aside
        room = recorded.facts.room(answer, policy)
        if policy.meter is None:
            budget = min(each for each in (policy.budget, room, _UNBOUND) if each is not None)
            fitted = self._history.fit(budget, tools=tools, system=system, **policy.asked)
            return fitted, fitted.used
        budget = policy.budget if policy.budget is not None else _UNBOUND
        while True:
            fitted = self._history.fit(budget, tools=tools, system=system, **policy.asked)
            units = sum(recorded.extra.values()) + sum(recorded.weigh(raw).units for raw in fitted.messages)
            if room is None or units <= room:
                return fitted, units
            budget = max(0, min(budget - 1, fitted.used * room // units))


def _shared(recorded: Recorded, last: Sequence[Any], messages: Sequence[Any]) -> int:
    """Return the units at the start of a prompt that the one before had as well."""
    if not last:
        return 0
    units = sum(recorded.extra.values()) - recorded.extra["reply"]
    for before, now in zip(last, messages, strict=False):
        if before is not now and before != now:
            break
        units += recorded.weigh(now).units
    return units


def _compared(recorded: Recorded, messages: Sequence[Any], units: int, shared: int) -> ReplayedPrompt:
    """Return what a prompt has less than the request that it is made of."""
    lost = {role: whole for role, (_, whole) in recorded.roles.items()}
    missing, cut, known = sum(count for count, _ in recorded.roles.values()), 0, recorded.weights
    for raw in messages:
        weight = known.get(id(raw))
        if weight is None:
            weight = recorded.weigh(raw)
            if weight.role == NOTE:
                continue
            cut += not weight.noted
        size, role, noted = weight
        lost[role] = lost.get(role, 0) - size + noted
        missing -= 1
    lost = {role: left for role, left in lost.items() if left}
    return ReplayedPrompt(units, shared, True, lost, max(0, missing), cut)
