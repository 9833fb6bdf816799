"""Summaries for a session: plan, summarise, apply; a summary that saves nothing changes nothing."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Literal

from brim.errors import BrimError, InvalidType, NoProgress
from brim.history.compact.plan import Compacted, CompactionPlan, apply
from brim.llm import LanguageModel
from brim.redaction import redact

NOTICE = "This thread is getting long, I'm compacting my context to stay sharp"
"""The notice for the user, once for each compaction."""

EXTRACT: Literal["extract"] = "extract"
Summariser = Callable[[str, int], str] | LanguageModel | Literal["extract"]
"""Writes summaries: a function from a text and a limit to a shorter text, a model, or `extract`."""


def checked(summarise: object) -> Any:
    """Return the summariser if it is valid.

    Raises:
        InvalidType: it is neither a function nor a model.
    """
    if summarise in (None, EXTRACT) or callable(summarise) or callable(getattr(summarise, "complete", None)):
        return summarise
    raise InvalidType("summarise", summarise, "a function (text, limit) that returns a string, a model, or 'extract'")


def shrunk(made: CompactionPlan, summarise: Any) -> Compacted:
    """Return the history with a summary, which quotes the conversation if there is no summariser or it fails.

    Raises:
        NoProgress: not even that summary is smaller than what it replaces.
    """
    if summarise not in (None, EXTRACT):
        try:
            return apply(made, _summary(made, summarise))
        except (NoProgress, BrimError) as error:
            _log(error)
        except Exception as error:  # The caller's own code; the session continues without it.
            _log(error)
    return apply(made, made.summary())


def _log(error: Exception) -> None:
    message = "the summariser failed (%s: %s); an extractive summary is used instead"
    logging.getLogger("brim.sessions").warning(message, type(error).__name__, redact(str(error)))


def _summary(made: CompactionPlan, summarise: Any) -> str:
    """Return the summary of the caller's summariser."""
    if callable(getattr(summarise, "complete", None)):
        from brim.history.compact import model_summary as distil

        return distil.take(made, summarise.complete(distil.ask(made)).text)
    text: str = summarise(made.text, made.limit)
    return text
