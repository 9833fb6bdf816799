"""One request on its way to a model: what to send, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from brim.history.fitted import Fitted
from brim.receipts.receipt import Receipt
from brim.sessions.session import Session
from brim.wire.overflow import Overflow, is_overflow

T = TypeVar("T")


@dataclass(slots=True, kw_only=True, eq=False)
class FittedRequest:
    """A request that fits."""

    messages: list[Any]
    """What to send. A message that was not changed is the caller's own object."""
    places: list[int | None]
    """For each of them, which of the caller's messages it is; `None` for what brim has made: a message that was cut, a
    summary, a note."""
    changed: bool = False
    """Whether anything else is sent than what the caller gave."""
    session: Session | None = None
    """The conversation that it belongs to; `None` where nobody knows the window of the model."""
    fitted: Fitted | None = None
    retried: bool = False
    """Whether an earlier form of it was refused."""
    learn: Callable[[FittedRequest, Any], None] | None = field(default=None, repr=False)
    shrink: Callable[[FittedRequest, Overflow], FittedRequest | None] | None = field(default=None, repr=False)

    @property
    def receipt(self) -> Receipt | None:
        """The record of the fit; `None` where nobody knows the window of the model."""
        return None if self.fitted is None else self.fitted.receipt

    def written(self, given: Sequence[T], make: Callable[[Any], T]) -> list[T]:
        """Return what to send in the caller's own kind of messages.

        Args:
            given: the messages as the caller has them, one for each that the request was made of.
            make: makes one of what brim has made.
        """
        pairs = zip(self.messages, self.places, strict=True)
        return [make(raw) if place is None else given[place] for raw, place in pairs]

    def answered(self, usage: Any) -> None:
        """Take what the answer reports that the request took: an estimate is corrected by it, and the status shows it.

        Args:
            usage: the `usage` of an answer, or the whole answer; `None` where it reports none.

        Raises:
            InvalidValue: it is none that a provider reports.
        """
        if usage is not None and self.learn is not None:
            self.learn(self, usage)

    def refused(self, error: object) -> FittedRequest | None:
        """Return a smaller request after a refusal; nothing where it was refused for something else, or once before.

        Args:
            error: the exception of a client, or the body of the answer.

        Raises:
            DoesNotFit: what has to stay is bigger than what the model takes.
        """
        overflow = is_overflow(error)
        if overflow is None or self.retried or self.shrink is None:
            return None
        return self.shrink(self, overflow)
