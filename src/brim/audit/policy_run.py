"""One conversation under one policy: each request is fitted in order, and compared with the recorded one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from brim.audit.conversation import NOTE, RecordedConversation
from brim.audit.policy import Policy
from brim.errors import DoesNotFit
from brim.history.history import History

_UNBOUND = 10**12
"""A budget larger than any request."""


@dataclass(frozen=True, slots=True)
class ReplayedPrompt:
    """The prompt that a policy makes of one request."""

    units: int
    """Tokens of the model."""
    shared: int
    """Tokens at its start that it shares with the previous prompt."""
    changed: bool = False
    lost: dict[str, int] = field(default_factory=dict)
    """Tokens that are not sent, by role."""
    dropped: int = 0
    """Messages that are not sent."""
    cut: int = 0
    """Messages that are sent in a shorter form."""


class PolicyRun:
    """One conversation under one policy."""

    def __init__(self, policy: Policy, recorded: RecordedConversation, last: PolicyRun | None) -> None:
        self.policy = policy
        self.lost = 0
        """Tokens that were not sent in the whole conversation."""
        self._own: History | None = None
        """A history of its own, if it holds a cut."""
        if policy.stable:
            self._own = History(meter=recorded.facts.scale, format=recorded.format, stable=True)
        self._last: Sequence[Any] = ()
        self._cut = False
        if last is not None:  # The past of the conversation was changed: it goes on from its last prompt.
            self.lost, self._last, self._cut = last.lost, last._last, True

    def fit(self, recorded: RecordedConversation) -> ReplayedPrompt | None:
        """Return the prompt of the last request, or `None` if the messages that must stay do not fit."""
        source = recorded.history.turns.source
        if self._own is not None:
            self._own.extend(source[len(self._own.turns.source) :])
        last, cut = self._last, self._cut
        try:
            messages, units = self._fitted(recorded)
        except DoesNotFit:
            self._last, self._cut = (), True
            return None
        changed = len(messages) != recorded.length or messages != source
        self._last, self._cut = messages, changed
        if not changed and not cut:
            return ReplayedPrompt(recorded.units, recorded.shared)
        shared = _shared(recorded, last, messages) if recorded.continued else 0
        if not changed:
            return ReplayedPrompt(recorded.units, shared)
        prompt = _compared(recorded, messages, units, shared)
        self.lost += sum(prompt.lost.values())
        return prompt

    def _fitted(self, recorded: RecordedConversation) -> tuple[list[Any], int]:
        """Return the messages that fit, and their tokens."""
        policy, (tools, system, fields) = self.policy, recorded.attached
        limits = (policy.budget, recorded.facts.room(recorded.answer, policy), _UNBOUND)
        budget = min(each for each in limits if each is not None)
        history = self._own if self._own is not None else recorded.history
        fitted = history.fit(budget, tools=tools, system=system, fields=fields, **policy.options)
        return fitted.messages, fitted.used


def _shared(recorded: RecordedConversation, last: Sequence[Any], messages: Sequence[Any]) -> int:
    """Return the tokens at the start of a prompt that it shares with the previous one."""
    if not last:
        return 0
    units = recorded.start
    for before, now in zip(last, messages, strict=False):
        if before is not now and before != now:
            break
        units += recorded.size(now).units
    return units


def _compared(recorded: RecordedConversation, messages: Sequence[Any], units: int, shared: int) -> ReplayedPrompt:
    """Return a changed prompt with the losses against the recorded request."""
    lost = {role: whole for role, (_, whole) in recorded.roles.items()}
    missing, cut = sum(count for count, _ in recorded.roles.values()), 0
    for raw in messages:
        size, role, note = recorded.size(raw)
        if role == NOTE:
            continue
        cut += id(raw) not in recorded.sizes and not note
        lost[role] = lost.get(role, 0) - size + note
        missing -= 1
    lost = {role: left for role, left in lost.items() if left}
    return ReplayedPrompt(units, shared, True, lost, max(0, missing), cut)
