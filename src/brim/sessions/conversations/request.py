"""A fitted request: what to send, what it takes, and what its answer teaches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

from brim.history.result import Fitted
from brim.receipts.receipt import Receipt
from brim.sessions.conversations.plan import RequestPlan
from brim.sessions.conversations.request_session import RequestSession
from brim.sessions.learning.request_input import RequestInput
from brim.sessions.learning.windows import Room
from brim.sessions.session import Session
from brim.wire.overflow import Overflow, is_overflow

T = TypeVar("T")


class RequestSource(Protocol):
    """What made a request, and learns from its answer."""

    def report(self, request: FittedRequest, tokens: int) -> None:
        """Correct the next count by the tokens that the provider reported for a request."""

    def answered(self, request: FittedRequest, usage: Any) -> None:
        """Learn from the reported usage of an answer."""

    def smaller(self, request: FittedRequest, overflow: Overflow) -> FittedRequest | None:
        """Learn from a refusal, and return a smaller request; `None` if there are no messages to shorten."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FittedRequest:
    """A request that fits."""

    messages: list[Any]
    """What to send. An unchanged message is the caller's own object, or a copy if the caller may change it later."""
    places: Sequence[int | None]
    """For each message, its index among the caller's messages; `None` for one that brim made: shortened, a summary, or
    a note.
    """
    input: RequestInput = field(repr=False)
    plan: RequestPlan = field(repr=False)
    source: RequestSource = field(repr=False)
    changed: bool = False
    """Whether `messages` differs from the caller's messages."""
    before: int | None = None
    """Tokens of the request before it was cut; `None` if the window of the model is unknown."""
    room: Room | None = None
    """How many tokens it may take; `None` if the window of the model is unknown."""
    correction: int = 0
    """Tokens added to the meter's count of this request, based on the provider's last report."""
    start: int = 0
    """Tokens by which its system messages are longer than those of the session."""
    exact: bool = True
    """Whether the tokens are an exact count."""
    conversation: str = ""
    """The name of its conversation; empty if it has none."""
    cut: int = 0
    """The number of its new cut in the conversation, from 1; 0 if it is whole or keeps the last cut."""
    regret: tuple[int, int] = (0, 0)
    """The number of new calls that repeat earlier ones because a cut had removed the results, and their tokens."""
    session: Session | RequestSession | None = None
    """The session of the conversation, if it has one; without a name, it shows only what this request contained."""
    fitted: Fitted | None = field(default=None, repr=False)

    def is_of(self, other: FittedRequest | None) -> bool:
        """Return whether both are of the same fit, perhaps with other figures."""
        return other is not None and self.messages is other.messages

    @property
    def summary_of(self) -> str:
        """The agent that requests a summary of its conversation with this request; empty for other requests."""
        return self.plan.summary_of

    @property
    def retried(self) -> bool:
        """Whether an earlier form of the request was refused."""
        return self.plan.retried

    @property
    def answer(self) -> int | None:
        """The answer limit to send instead of the caller's; `None` leaves it unchanged."""
        asked, room, used = self.input.answer, self.room, self.used
        if asked is None or room is None or not room.lowers or room.answer is None or used is None:
            return None
        left = room.window - used
        return left if 0 < left < asked else None

    @property
    def receipt(self) -> Receipt | None:
        """The record of the fit, by brim's count without the correction; `None` if the window is unknown."""
        if self.fitted is None or not self.start:
            return None if self.fitted is None else self.fitted.receipt
        told, more = self.fitted.receipt, self.start
        return replace(
            told, budget=told.budget + more, used=told.used + more, upper=told.upper + more, joins=told.joins + more
        )

    @property
    def used(self) -> int | None:
        """Tokens of what is sent, corrected by reported usage; `None` if it was not counted."""
        if self.fitted is None:
            return self.before
        return self.fitted.used + self.start + self.correction

    def written(self, given: Sequence[T], make: Callable[[Any], T]) -> list[T]:
        """Return what to send, in the caller's own message type.

        Args:
            given: the caller's messages, one for each message of the request.
            make: converts a message that brim made to the caller's type.
        """
        pairs = zip(self.messages, self.places, strict=True)
        return [make(raw) if place is None else given[place] for raw, place in pairs]

    def answered(self, usage: Any) -> None:
        """Learn from the reported usage of the answer: it corrects an estimate, and the status shows it.

        Args:
            usage: the `usage` of an answer, or the whole answer; `None` if there is none.

        Raises:
            InvalidValue: it is not a usage as providers report it.
        """
        if usage is not None:
            self.source.answered(self, usage)

    def refused(self, error: object) -> FittedRequest | None:
        """Return a smaller request after an overflow error; `None` after another error or a second refusal.

        Args:
            error: the exception of a client, or the body of the answer.

        Raises:
            DoesNotFit: what has to stay is larger than the window of the model.
        """
        overflow = is_overflow(error)
        return None if overflow is None or self.retried else self.source.smaller(self, overflow)

    def believed(self, overflow: Overflow) -> Overflow:
        """Return a refusal of this request without implausible numbers."""
        return self.plan.believed(self.input, self.used or 0, overflow)

    def ceiling(self, overflow: Overflow) -> int | None:
        """Return the maximum tokens of the second attempt after a refusal; `None` if a lower answer limit suffices."""
        overflow = self.believed(overflow)
        if self.plan.lowers_answer(overflow):
            return None
        refused = overflow.sent if self.conversation and overflow.sent else self.used or 0
        return max(1, int(refused * overflow.retry_share))
