"""One answer of a model to a fitted prompt: in one call, or in two if a long history is summarised first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from brim.errors import ModelError, UnknownName
from brim.llm import LanguageModel, Reply
from brim.receipts.section import Section
from brim.sections.fit import fit
from brim.sections.section_fit import Prompt
from brim.settings.builder import Builder, Contents
from brim.settings.kinds import MOST

DIRECTIVE = (
    "Summarise this history for whoever takes the next step: what was tried, what came of it, what must not be tried"
    " again. Keep names, paths and numbers. At most {limit} tokens."
)
"""The instruction of the call that summarises."""

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


def exchange(
    settings: Builder, contents: Contents, model: LanguageModel, history: str, options: Mapping[str, Any]
) -> ModelAnswer:
    """Return the answer of a model to the prompt of the settings; see `Resolved.exchange`."""
    summary, reason, calls = None, "", 1
    if settings.value("history.strategy") == "B":
        if history not in contents:
            raise UnknownName("section", history, contents)
        part = settings.fit(contents, **{**options, "emit": None}).receipt.part(history)
        if part.state not in ("whole", "empty", "disabled"):
            calls += 1
            try:
                summary = _summary(settings, contents[history], part.granted, model)
                contents = {**contents, history: _replaced(contents[history], summary)}
            except ModelError as error:
                reason = f"the history was truncated, since its summary failed: {error}"
    prompt = settings.fit(contents, **options)
    reply = model.complete(prompt.text, options.get("system"))
    return ModelAnswer(prompt=prompt, reply=reply, calls=calls, summary=summary, reason=reason)


def _summary(settings: Builder, content: str | Sequence[str] | Section, granted: int, model: LanguageModel) -> str:
    """Return a model's summary of as much of a history as its window holds."""
    section = content if isinstance(content, Section) else Section("history", content)
    window, limit = settings.window(), max(granted, _SHORTEST)
    sections = [
        Section("directive", DIRECTIVE.format(limit=limit), required=True),
        replace(section, name="history", priority="medium", required=False, ceiling=None, keep="newest", most=None),
    ]
    # A model of unknown window gets the whole history, and may refuse it.
    budget = MOST if window is None else max(window.budget - limit, 0)
    return model.complete(fit(sections, budget, meter=settings.token_meter()).text).text


def _replaced(content: str | Sequence[str] | Section, summary: str) -> str | Section:
    return replace(content, content=summary, most=None) if isinstance(content, Section) else summary
