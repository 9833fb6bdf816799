"""The stages of a step, the model that the tier of a stage chooses, and its call within a time limit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from threading import Thread
from typing import Any

from brim.errors import ModelError, check_choice
from brim.llm import LLM, LanguageModel, Reply
from brim.settings.resolved import Resolved

TIERS = ("cheap", "medium", "expensive")
"""The tiers of models."""


STAGES: dict[str, str | None] = {
    "Prep": "cheap",
    "Work": "expensive",
    "Verify": "medium",
    "Route": "expensive",
    "Commit": None,
}
"""The tier of the model of each stage; `None` for a stage that calls no model."""


def is_mechanical(stage: str) -> bool:
    """Return whether a step of a stage calls no model."""
    return stage.casefold() == "commit"


def model_of(
    stage: str, settings: Resolved, model: LanguageModel, models: Mapping[str, LanguageModel]
) -> LanguageModel:
    """Return the model of a step: that of its stage's tier if one is passed or configured, else the model of the run.

    A configured model is a name at the endpoint of the run's model, so that it needs to be an `LLM`.

    Raises:
        InvalidValue: a tier of `models` is unknown.
    """
    for name in models:
        check_choice("a tier of models", name, TIERS)
    tier = STAGES.get(stage.capitalize())
    if tier is None:
        return model
    if tier in models:
        return models[tier]
    name = settings.value(f"models.{tier}")
    return replace(model, model=name) if name is not None and isinstance(model, LLM) else model


def complete_within(model: LanguageModel, seconds: float, messages: list[Any], system: str | None = None) -> Reply:
    """Return the answer of a model, whose own time limit may be longer, or missing.

    Raises:
        ModelError: it does not answer in time; its thread goes on, and the answer is not used.
    """
    box: list[Reply | BaseException] = []

    def ask() -> None:
        try:
            box.append(model.complete(messages) if system is None else model.complete(messages, system))
        except BaseException as error:  # Raised again in the waiting thread.
            box.append(error)

    thread = Thread(target=ask, name="brim-model", daemon=True)
    thread.start()
    thread.join(seconds)
    if not box:
        raise ModelError(f"it took longer than {seconds:g} seconds")
    if isinstance(box[0], BaseException):
        raise box[0]
    return box[0]
