"""Compaction of a session: plan, have the summary made, put it in its place; without progress, nothing is changed."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from brim.errors import BrimError, InvalidType, NoProgress
from brim.history.compact import extract
from brim.history.compact.compacted import Compacted
from brim.history.compact.plan import CompactionPlan, apply, plan
from brim.llm import LanguageModel
from brim.sessions.settings import SessionSettings
from brim.sessions.view import View

NOTICE = "This thread is getting long, I'm compacting my context to stay sharp"
"""What the user is told, once for each compaction."""

Summariser = Callable[[str, int], str] | LanguageModel
"""Makes summaries: a function from a text and a limit to a shorter text, or a model that is asked for one."""


def checked(summarise: object) -> Any:
    """Return what makes summaries, if it can.

    Raises:
        InvalidType: it is neither a function nor a model.
    """
    if summarise is None or callable(summarise) or callable(getattr(summarise, "complete", None)):
        return summarise
    raise InvalidType("summarise", summarise, "a function from a text and a limit to a text, or a model")


def planned(view: View, settings: SessionSettings, room: int, last: Compacted | None) -> CompactionPlan | None:
    """Return what a summary should replace so that the conversation takes less room; nothing if it does not pay."""
    book = view.history.book
    if room < 1 or not len(book):
        return None
    return plan(
        book,
        meter=book.meter,
        room=room,
        keep_turns=settings.keep_turns,
        summary_share=settings.summary_share,
        previous=last,
    )


def shrunk(made: CompactionPlan, summarise: Any) -> Compacted:
    """Return the conversation with a summary; where the caller's summariser fails, the usual one takes its place.

    Raises:
        NoProgress: not even that one's summary is smaller than what it replaces.
    """
    if summarise is not None:
        try:
            return apply(made, _asked(made, summarise))
        except (NoProgress, BrimError) as error:
            _log(error)
        except Exception as error:  # A caller's own code, without which the session goes on.
            _log(error)
    return apply(made, extract.summary(made))


def _log(error: Exception) -> None:
    told = "the summariser failed (%s: %s); what it should have read is summarised by its own sentences instead"
    logging.getLogger("brim.sessions").warning(told, type(error).__name__, error)


def _asked(made: CompactionPlan, summarise: Any) -> str:
    """Return the summary that a function or a model makes."""
    if callable(getattr(summarise, "complete", None)):
        from brim.history.compact import distil

        answer: str = summarise.complete(distil.ask(made)).text
        return distil.take(made, answer)
    said: str = summarise(made.text, made.limit)
    return said
