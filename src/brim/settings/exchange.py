"""One answer of a model to a fitted prompt: in one call, or in two if a long history is summarised first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from brim.llm import LanguageModel, Reply
from brim.meter import BaseMeter
from brim.meter.window import Window
from brim.receipts.section import Section
from brim.sections.fit import fit
from brim.sections.prompt_fit import Prompt
from brim.settings.values import MOST

DIRECTIVE = (
    "Summarise this history for whoever takes the next step: what was tried, what came of it, what must not be tried"
    " again. Keep names, paths and numbers. At most {limit} tokens."
)
"""The instruction of the call that summarises."""

HISTORIES = ("history", "lessons")
"""The sections that strategy B summarises: the first of them that a prompt has."""

_SHORTEST = 200
"""Tokens of a summary that is worth a call."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelAnswer:
    """A prompt, and the answer of a model to it."""

    prompt: Prompt
    reply: Reply
    calls: int
    """The number of calls: one, or two if the history was summarised."""
    summary: str | None = None
    """The text that replaced the history in the prompt."""
    reason: str = ""
    """Why there is no summary although one was needed."""


def left_out(section: Section) -> Sequence[str]:
    """Return the entries of a section that its `most` leaves out."""
    left = len(section.content) - len(section.chosen)
    return section.content[:left] if section.keeps_end else section.content[-left:]


def summary_of(section: Section, granted: int, model: LanguageModel, window: Window | None, meter: BaseMeter) -> str:
    """Return a model's summary of as much of a history as its window holds."""
    limit = max(granted, _SHORTEST)
    sections = [
        Section("directive", DIRECTIVE.format(limit=limit), required=True),
        replace(section, name="history", priority="medium", required=False, ceiling=None, keep="newest", most=None),
    ]
    # A model of unknown window gets the whole history, and may refuse it.
    budget = MOST if window is None else max(window.budget - limit, 0)
    return model.complete(fit(sections, budget, meter=meter).text).text
