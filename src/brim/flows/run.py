"""Runs a flow: each step gets a new pack, one call of the model, and one receipt.

The pack is the whole context of the call. If an answer is cut off at the model's limit, the step fails, because later
steps would build on half an answer.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from time import monotonic
from typing import Any, Literal

from brim.errors import DoesNotFit, InvalidValue, ModelError, SourceError, UnknownName, check_choice
from brim.files.text_digest import text_digest
from brim.flows.curator import Curator, complete_within
from brim.flows.pack import ENGINE, VERSION, Pack
from brim.flows.receipts import read_step_receipt, receipt_paths, remove_receipts, write_step_receipt
from brim.flows.step_record import StepRecord, texts
from brim.llm import LLM, LanguageModel, Reply, Usage, cost
from brim.redaction import redact
from brim.settings import load_config
from brim.settings.config import Config
from brim.settings.flow import FlowStep
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


@dataclass(frozen=True, kw_only=True, slots=True)
class StepOutcome:
    """The outcome of one step."""

    step_id: str
    agent: str
    status: Literal["ok", "failed"]
    reason: str = ""
    """Why it failed."""
    output: str = field(default="", repr=False)
    """The whole answer of the model."""
    receipt: dict[str, Any] = field(default_factory=dict, repr=False)
    path: str = ""
    """The file of the receipt; empty if none is written."""
    event: dict[str, Any] = field(default_factory=dict, repr=False)
    """The `prompt_assembled` event of its pack."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FlowOutcome:
    """The outcome of a flow."""

    flow: str
    steps: tuple[StepOutcome, ...]
    """The steps that ran; a failed one is the last."""
    planned: int
    """The number of steps of the flow."""

    @property
    def ok(self) -> bool:
        """Whether all steps succeeded."""
        return len(self.steps) == self.planned and all(step.status == "ok" for step in self.steps)

    @property
    def reason(self) -> str:
        """Why it ended early; empty if it did not."""
        return self.steps[-1].reason if self.steps else ""


def run_flow(
    config: Config,
    flow: str,
    model: LanguageModel,
    *,
    profile: str | None = None,
    run_base: str | os.PathLike[str] | None = None,
    root: str | os.PathLike[str] | None = None,
    curator: LanguageModel | None = None,
    models: Mapping[str, LanguageModel] | None = None,
    artifacts: Sequence[str] = (),
    clock: Callable[[], float] = monotonic,
    watch: Callable[[StepOutcome], None] | None = None,
    commit: Callable[[FlowStep, Sequence[StepRecord]], str] | None = None,
    resume: bool = False,
) -> FlowOutcome:
    """Run a flow and return its outcome; it ends at the first step that fails, for whatever reason.

    Args:
        config: the settings, with the flow.
        flow: its name.
        model: the model that runs the steps.
        profile: the profile.
        run_base: the directory of the receipts; without it, none are written.
        root: the directory of a codebase whose files may be included.
        curator: the model that may choose files and summarise.
        models: the models of steps by the tier of their stage: cheap, medium, expensive. For a missing tier, the
            setting `models.TIER` names the model, or `model` is used.
        artifacts: paths of files that earlier flows wrote, which every pack lists.
        clock: returns seconds.
        watch: called with each step after it has run.
        commit: does the work of steps in the stage `Commit` and returns their output; no model is called for them.
        resume: continue the last run in `run_base` after its last successful step. A step whose entry in the flow has
            changed runs again, and so do those after it. Without it, receipts of an earlier run are removed first.

    Raises:
        UnknownName: no flow or profile has that name.
        InvalidValue: the receipts of two steps would have the same file.
        SourceError: a receipt cannot be written.
    """
    artifacts = texts("artifacts", artifacts)
    curated = Curator(config, flow=flow, profile=profile, model=curator, root=root, run_base=run_base, clock=clock)
    steps = config.flow(flow).steps
    base = None if run_base is None else os.fspath(run_base)
    if resume and base is None:
        raise InvalidValue("run_base", base, "the directory of the run to resume")
    paths = {} if base is None else receipt_paths(base, flow, [(step.id, step.agent) for step in steps])
    done: list[StepOutcome] = []
    history: list[StepRecord] = []
    for step in steps:
        outcome = _resumed(step, paths[step.id]) if resume else None
        if outcome is None:
            if base is not None and (resume or not done):
                remove_receipts(paths[each.id] for each in steps[len(done) :])
            resume = False
            outcome = _run_step(
                step,
                flow,
                model=partial(_model_of, model=model, models=models or {}),
                settings=config.resolve(profile, flow, step.id),
                prepare=partial(curated.prepare, step, history, artifacts),
                commit=None if commit is None else partial(commit, step, tuple(history)),
                clock=clock,
            )
            outcome.receipt.update(planned=len(steps))
            if base is not None:
                outcome = replace(outcome, path=paths[step.id])
                outcome.receipt.update(step_digest=_digest(step))
                write_step_receipt(outcome.path, outcome.receipt)
        done.append(outcome)
        if watch is not None:
            watch(outcome)
        if outcome.status != "ok":
            break
        wrote = step.values.get("artifacts") or ()
        history.append(StepRecord(step_id=step.id, agent=step.agent, output=outcome.output, artifacts=wrote))
    return FlowOutcome(flow=flow, steps=tuple(done), planned=len(steps))


def flow_of(path: str, name: str | None = None) -> tuple[Config, str]:
    """Return the settings of a flow, and its name.

    Args:
        path: a flow's file, or a project's file or directory.
        name: the flow of the project; optional if it has only one.

    Raises:
        SourceError: the file cannot be read, is invalid, or defines another flow.
        UnknownName: the project has no flow of that name.
        InvalidValue: the project has several flows, and `name` is missing.
    """
    config = load_config(path)
    if config.entry is not None:
        if name not in (None, config.entry):
            raise SourceError(path, f"this file contains the flow {config.entry!r}, not {name!r}")
        return config, config.entry
    if name is not None:
        return config, config.flow(name).name
    if not config.flows:
        raise UnknownName("flow", path, [], "The project has no flows: add one under `flows`, or in flows/NAME.yaml.")
    if len(config.flows) > 1:
        raise InvalidValue("flow", path, f"used together with the name of one of its flows: {', '.join(config.flows)}")
    return config, config.flows[0]


def _digest(step: FlowStep) -> str:
    """Return a digest of a step's entry in its flow."""
    return text_digest(json.dumps(step.values, sort_keys=True, default=str), 8)


def _resumed(step: FlowStep, path: str) -> StepOutcome | None:
    """Return the outcome of a step that already ran before the run was resumed; `None` if it has to run."""
    if not os.path.exists(path):
        return None
    receipt = read_step_receipt(path)
    same = receipt.get("step_digest") == _digest(step)
    if not same or receipt.get("status") != "ok" or not isinstance(output := receipt.get("output"), str):
        return None
    return StepOutcome(step_id=step.id, agent=step.agent, status="ok", output=output, receipt=receipt, path=path)


def _run_step(
    step: FlowStep,
    flow: str,
    *,
    model: Callable[[str, Resolved], LanguageModel],
    settings: Resolved,
    prepare: Callable[[], Pack],
    commit: Callable[[], str] | None,
    clock: Callable[[], float],
) -> StepOutcome:
    """Run a step and return its outcome; the caller writes the receipt."""
    begun = clock()
    stage = step.values.get("stage") or ""
    receipt: dict[str, Any] = {"version": VERSION, "engine": ENGINE, "flow": flow, "profile": settings.profile}
    receipt |= {"step_id": step.id, "agent": step.agent, "stage": stage or None}
    event: dict[str, Any] = {}
    chosen, reply, status, problem = None, None, None, ""
    try:
        if _is_mechanical(stage):
            reply = Reply(text="" if commit is None else commit())
        else:
            chosen = model(stage, settings)
            pack = prepare()
            receipt |= pack.receipt
            event = pack.event(flow=flow)
            seconds = settings.value("timeout_seconds")
            reply = complete_within(chosen, seconds, [{"role": "user", "content": pack.text}])
            problem = _cut_off(reply)
    except DoesNotFit as error:
        problem = f"no pack: {error}"
    except ModelError as error:
        problem, status = str(error), error.status
    except Exception as error:  # The caller's model may raise anything; the step still has an outcome and a receipt.
        problem = f"{type(error).__name__}: {redact(str(error))}"
    reason = f"step {step.id} ({step.agent or 'agent'}): {problem}" if problem else ""
    name, usage = getattr(chosen, "model", None), Usage() if reply is None else reply.usage
    output = "" if reply is None else reply.text
    receipt |= {
        "status": "failed" if reason else "ok",
        "reason": reason,
        "http_status": status,
        "model": name,
        "stop": None if reply is None else reply.stop,
        "usage": {"input_tokens": usage.input, "output_tokens": usage.output},
        "cost_usd": cost(name, usage) if isinstance(name, str) else None,
        "seconds": round(clock() - begun, 3),
        "output": output,
    }
    return StepOutcome(
        step_id=step.id,
        agent=step.agent,
        status=receipt["status"],
        reason=reason,
        output=output,
        receipt=receipt,
        event=event,
    )


def _is_mechanical(stage: str) -> bool:
    """Return whether steps of a stage run without a model."""
    return stage.casefold() == "commit"


def _model_of(
    stage: str, settings: Resolved, model: LanguageModel, models: Mapping[str, LanguageModel]
) -> LanguageModel:
    """Return the model of a step: that of the tier of its stage, or else the model of the run.

    A tier in the settings names a model at the endpoint of the run's model, so that model must be an `LLM`.

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


def _cut_off(reply: Reply) -> str:
    if reply.complete:
        return ""
    size = f"{reply.usage.output:,} tokens" if reply.usage.output is not None else f"{len(reply.text):,} characters"
    return (
        f"the answer was cut off at the model's limit after {size}: split the step, or use a model with a higher"
        " output limit"
    )
