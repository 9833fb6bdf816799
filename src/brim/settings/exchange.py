"""One answer of a model to a fitted prompt: in one call, or in two if a long history is summarised first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from brim.errors import ModelError, UnknownName
from brim.llm import LanguageModel, Reply
from brim.receipts.section import Section
from brim.sections.fit import fit
from brim.sections.prompt_fit import Prompt
from brim.settings.builder import Builder, Contents
from brim.settings.kinds import MOST

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


def exchange(
    settings: Builder, contents: Contents, model: LanguageModel, history: str | None, options: Mapping[str, Any]
) -> ModelAnswer:
    """Return the answer of a model to the prompt of the settings; see `Resolved.exchange`."""
    summary, reason, calls = None, "", 1
    if settings.value("history.strategy") == "B":
        name = history or next((each for each in HISTORIES if each in contents), HISTORIES[0])
        if name not in contents:
            raise UnknownName("section", name, contents)
        section = settings.sections({name: contents[name]})[0]
        chosen = section.chosen
        part = settings.fit(contents, **{**options, "emit": None}).receipt.part(name)
        cut = part.state not in ("whole", "empty", "disabled")
        if cut or len(chosen) < len(section.content):
            calls += 1
            # What is shown whole is not summarised too.
            newest = () if cut or isinstance(chosen, str) else chosen
            older = section.content if not newest else _without(section, newest)
            try:
                summary = _summary(settings, replace(section, content=older), part.granted if cut else 0, model)
                shown = [summary, *newest] if newest else summary
                contents = {**contents, name: replace(section, content=shown, most=None)}
            except ModelError as error:
                reason = f"the history was truncated, since its summary failed: {error}"
    prompt = settings.fit(contents, **options)
    reply = model.complete(prompt.text, options.get("system"))
    return ModelAnswer(prompt=prompt, reply=reply, calls=calls, summary=summary, reason=reason)


def _without(section: Section, newest: Sequence[str]) -> Sequence[str]:
    """Return the entries of a section that `most` leaves out."""
    left = len(section.content) - len(newest)
    return section.content[:left] if section.keeps_end else section.content[-left:]


def _summary(settings: Builder, section: Section, granted: int, model: LanguageModel) -> str:
    """Return a model's summary of as much of a history as its window holds."""
    window, limit = settings.window(), max(granted, _SHORTEST)
    sections = [
        Section("directive", DIRECTIVE.format(limit=limit), required=True),
        replace(section, name="history", priority="medium", required=False, ceiling=None, keep="newest", most=None),
    ]
    # A model of unknown window gets the whole history, and may refuse it.
    budget = MOST if window is None else max(window.budget - limit, 0)
    return model.complete(fit(sections, budget, meter=settings.token_meter()).text).text
