"""A fitted request, and its plan: how it is counted and how many tokens it may take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from brim.files.json_strings import map_strings
from brim.history.result import Fitted
from brim.meter import BaseMeter
from brim.receipts.receipt import Receipt
from brim.sessions.conversations.request_session import RequestSession
from brim.sessions.learning.reported_size import PLAUSIBLE, TOKENS
from brim.sessions.learning.request_input import RequestInput
from brim.sessions.learning.scope import LearningScope
from brim.sessions.learning.windows import Room, WindowLimits
from brim.sessions.session import Session
from brim.wire.base import jsonable
from brim.wire.overflow import Overflow, is_overflow

T = TypeVar("T")


@dataclass(slots=True, kw_only=True, eq=False)
class FittedRequest:
    """A request that fits."""

    messages: list[Any]
    """What to send. An unchanged message is the caller's own object, or a copy if the caller may change it later."""
    places: Sequence[int | None]
    """For each message, its index among the caller's messages; `None` for one that brim made: shortened, a summary, or
    a note.
    """
    input: RequestInput = field(repr=False)
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
    summary_of: str = ""
    """The agent that requests a summary of its conversation with this request; empty for other requests."""
    regret: tuple[int, int] = (0, 0)
    """The number of new calls that repeat earlier ones because a cut had removed the results, and their tokens."""
    session: Session | RequestSession | None = None
    """The session of the conversation, if it has one; without a name, it shows only what this request contained."""
    fitted: Fitted | None = field(default=None, repr=False)
    answer: int | None = None
    """The answer limit to send instead of the caller's; `None` leaves it unchanged."""
    retried: bool = False
    """Whether an earlier form of the request was refused."""
    report: Callable[[FittedRequest, int], None] | None = field(default=None, repr=False)
    """Records the tokens that the provider reported for it, to correct the next count."""
    learn: Callable[[FittedRequest, Any], None] | None = field(default=None, repr=False)
    shrink: Callable[[FittedRequest, Overflow], FittedRequest | None] | None = field(default=None, repr=False)

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
        if usage is not None and self.learn is not None:
            self.learn(self, usage)

    def refused(self, error: object) -> FittedRequest | None:
        """Return a smaller request after an overflow error; `None` after another error or a second refusal.

        Args:
            error: the exception of a client, or the body of the answer.

        Raises:
            DoesNotFit: what has to stay is larger than the window of the model.
        """
        overflow = is_overflow(error)
        if overflow is None or self.retried or self.shrink is None:
            return None
        return self.shrink(self, overflow)


@dataclass(kw_only=True, slots=True, eq=False)
class RequestPlan:
    """How a request is counted, and how many tokens it may take."""

    scale: BaseMeter
    chosen: Any
    """The meter, or its name, to use instead of the model's own."""
    limits: WindowLimits
    room: Room | None
    """`None` if the window of the model is unknown."""
    scope: LearningScope
    """The scope of what brim learns from the request."""

    def lowered(self, request: FittedRequest) -> int | None:
        """Return the lowered answer limit; `None` if it need not be lowered."""
        asked, room, used = request.input.answer, request.room, request.used
        if asked is None or room is None or not room.lowers or room.answer is None or used is None:
            return None
        left = room.window - used
        return left if 0 < left < asked else None

    def ceiling(self, request: FittedRequest, overflow: Overflow) -> int | None:
        """Return the maximum tokens of the second attempt after a refusal; `None` if a lower answer limit suffices."""
        overflow = self.believed(request, overflow)
        if overflow.reply and not overflow.accepted and self.limits.lowers(overflow.reply, overflow.limit or 0):
            return None
        refused = overflow.sent if request.report is not None and overflow.sent else request.used or 0
        return max(1, int(refused * overflow.retry_share))

    def believed(self, request: FittedRequest, overflow: Overflow) -> Overflow:
        """Return a refusal without numbers that cannot belong to the refused prompt.

        A server may quote text of the client, and a number may count something else, such as bytes or the answer.
        """
        used, sent = request.used or 0, request.input
        if any(map(str.isdigit, overflow.reason)) and _wrote(sent, overflow.reason):
            return overflow.without_numbers()
        told = overflow.beside(sent.answer, used)
        if told.accepted or told.limit is None or not used or self.scale.unit not in TOKENS:
            return told
        if told.sent is None:
            possible = told.limit < used * PLAUSIBLE + (sent.answer or 0)
        else:
            possible = told.sent <= used * PLAUSIBLE and used <= told.sent * PLAUSIBLE
            possible = possible and told.limit <= told.sent + (told.reply or 0)
        return told if possible else told.without_numbers()


def _wrote(sent: RequestInput, phrase: str) -> bool:
    """Return whether a phrase occurs anywhere in a client's request."""
    texts: list[str] = []

    def look(text: str) -> str:
        texts.append(text)
        return text

    map_strings([sent.model, *map(jsonable, (sent.messages, sent.tools, sent.system, sent.fields))], look, keys=True)
    return any(phrase in text for text in texts)
