"""The summary of a context that ends, by a model or a function of the caller; what comes back is checked."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from brim.history.compact import model_summary
from brim.history.compact.continuation import Continuation, context_texts
from brim.history.compact.lines import Said
from brim.history.compact.secrets import redact
from brim.history.compact.summary import summary_input
from brim.meter.base import BaseMeter
from brim.sessions.session import Session


def handover_summary(session: Session, messages: Sequence[Any], known: Continuation | None, limit: int) -> str:
    """Return what the caller's summariser makes of a context that ends; empty without one, or if it failed.

    Args:
        session: the session of the loop.
        messages: the messages of the context.
        known: the continuation that it began with.
        limit: the most tokens of the whole hand-over; a summary takes half of it.
    """
    if session.summariser is None or not messages:
        return ""
    ending = EndingContext(
        said=context_texts(messages, known),
        previous="" if known is None else known.text(session.meter, limit),
        limit=max(1, limit // 2),
        input_limit=session.budget,
        meter=session.meter,
    )
    return ending.summary(session.summariser)


@dataclass(frozen=True, kw_only=True, slots=True)
class EndingContext:
    """What a summariser reads when a context ends."""

    said: Sequence[Said]
    previous: str
    """The text that the context began with; empty if it was the first."""
    limit: int
    input_limit: int
    meter: BaseMeter

    @property
    def older(self) -> int:
        """Tokens of the texts that the summary stands for."""
        return sum(self.meter.load(one.text) for one in self.said) + self.meter.load(self.previous)

    def reading(self, limit: int) -> str:
        """Return the text for a summariser in at most `limit` tokens: the longest messages are cut first."""
        return summary_input(self.said, self.previous, limit, self.meter)

    def summary(self, summarise: Any) -> str:
        """Return the summary, or an empty text if it failed or cannot be used; what was extracted stands alone then."""
        try:
            if callable(getattr(summarise, "complete", None)):
                answer: Any = summarise.complete(model_summary.ask(self)).text
            else:
                answer = summarise(self.reading(self.input_limit), self.limit)
            return model_summary.checked(self, answer)
        except Exception as error:  # A model or the caller's own code; the loop goes on with what was extracted.
            message = "the summariser failed (%s: %s); the context is handed over without a summary"
            logging.getLogger("brim.sessions").warning(message, type(error).__name__, redact(str(error)))
            return ""
