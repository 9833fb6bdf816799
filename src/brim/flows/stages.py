"""The stages of a step, the model that the tier of a stage chooses, and its call within a time limit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from threading import Thread
from typing import Any

from brim.errors import ModelError, check_choice
from brim.llm import LLM, LanguageModel, Reply
from brim.settings.resolved import Resolved

TIERS = ("cheap", "medium", "expensive")
"""The tiers of models."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FlowStage:
    """What a step of a stage is for."""

    role: str
    scope: str
    """How much it has to see: `wide`, `deep`, `narrow` or `none`."""
    tier: str | None
    """One of `TIERS`; `None` for no model."""


STAGES = {
    "Prep": FlowStage(role="curator: gathers files, summarises the history", scope="wide", tier="cheap"),
    "Work": FlowStage(role="worker: writes code and tests", scope="deep", tier="expensive"),
    "Verify": FlowStage(role="forensic analyst: interprets a change", scope="narrow", tier="medium"),
    "Route": FlowStage(role="navigator: decides the path", scope="wide", tier="expensive"),
    "Commit": FlowStage(role="kernel: updates the ledger", scope="none", tier=None),
}
"""The stages by name."""


def is_mechanical(stage: str) -> bool:
    """Return whether a step of a stage calls no model."""
    return _stage(stage) is STAGES["Commit"]


def _stage(name: str) -> FlowStage | None:
    return next((each for known, each in STAGES.items() if known.casefold() == name.casefold()), None)


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
    known = _stage(stage)
    if known is None or known.tier is None:
        return model
    if known.tier in models:
        return models[known.tier]
    name = settings.value(f"models.{known.tier}")
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
