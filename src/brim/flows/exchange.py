"""Ask a model with a prompt that fits: in one call, or in two where a long history is worth a call of its own.

Strategy A cuts what does not fit and calls once. Strategy B has the history summarised first if it would be cut, and
then asks with the summary in its place. Nothing is summarised that fits as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from brim.errors import ModelError, UnknownName
from brim.llm import LanguageModel, Reply
from brim.meter import meter_for
from brim.receipts.section import Section
from brim.sections.fit import fit
from brim.sections.fitting import Prompt

if TYPE_CHECKING:
    from brim.settings.resolved import Resolved

DIRECTIVE = (
    "Summarise this history for whoever takes the next step: what was tried, what came of it, what must not be tried"
    " again. Keep names, paths and numbers. At most {limit} tokens."
)
"""What the first of two calls is asked to do."""

_SHORTEST = 200
"""Tokens of a summary that is worth a call."""
_UNBOUND = 10**12
"""Units for a model of which nobody said what it holds: it gets the whole history, and may refuse."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelAnswer:
    """A prompt, and what a model answered to it."""

    prompt: Prompt
    reply: Reply
    calls: int
    """How often the model was asked: once, or twice where it summarised first."""
    summary: str | None = None
    """What stood in the prompt in place of the history."""
    reason: str = ""
    """Why there is no summary although one was to be made."""


def exchange(
    settings: Resolved,
    contents: Mapping[str, str | Sequence[str] | Section],
    model: LanguageModel,
    *,
    history: str = "history",
    **asked: Any,
) -> ModelAnswer:
    """Return what a model answers to the prompt that the settings make of contents.

    Args:
        settings: those that hold; `history.strategy` says what becomes of a history that is too long.
        contents: the sections by name.
        model: who is asked.
        history: the name of the section that strategy B summarises.
        asked: what `settings.fit` takes beside contents.

    Raises:
        DoesNotFit: what is required is bigger than the budget.
        ModelError: the model could not be asked; a summary that fails is done without.
        UnknownName: there is no section of the history's name, and strategy B asks for one.
    """
    system = asked.get("system")
    if settings.value("history.strategy") == "A":
        prompt = settings.fit(contents, **asked)
        return ModelAnswer(prompt=prompt, reply=model.complete(prompt.text, system), calls=1)
    if history not in contents:
        raise UnknownName("section", history, contents)
    trial = settings.fit(contents, **{**asked, "emit": None})
    part = trial.receipt.part(history)
    summary, reason, calls = None, "", 0
    if part.state not in ("whole", "empty", "disabled"):
        try:
            calls += 1
            summary = _summarised(settings, contents[history], part.granted, model)
        except ModelError as error:
            reason = f"the history was cut, since its summary failed: {error}"
    if summary is not None:
        contents = {**contents, history: _in_place(contents[history], summary)}
    prompt = settings.fit(contents, **asked)
    return ModelAnswer(
        prompt=prompt, reply=model.complete(prompt.text, system), calls=calls + 1, summary=summary, reason=reason
    )


def _summarised(settings: Resolved, content: str | Sequence[str] | Section, room: int, model: LanguageModel) -> str:
    """Return a model's summary of a history, which it is shown as much of as its window holds."""
    given = content if isinstance(content, Section) else Section("history", content)
    window, limit = settings.window(), max(room, _SHORTEST)
    shown = [
        Section("directive", DIRECTIVE.format(limit=limit), required=True),
        replace(given, name="history", priority="medium", required=False, ceiling=None, keep="newest", most=None),
    ]
    budget = _UNBOUND if window is None else max(window.budget - limit, 0)
    asked = fit(shown, budget, meter=meter_for(None, settings.value("model")))
    return model.complete(asked.text).text


def _in_place(content: str | Sequence[str] | Section, summary: str) -> str | Section:
    return replace(content, content=summary, most=None) if isinstance(content, Section) else summary
