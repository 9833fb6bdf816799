"""The run of a flow: for each step a new pack, one call of the model, one receipt.

The pack is the whole context of the call. An answer that the model's output limit cut off fails its step, since a step
that builds on half an answer would fail later.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from typing import Any, Literal

from brim.errors import DoesNotFit, InvalidType, InvalidValue, ModelError, SourceError, UnknownName
from brim.flows.curator import Curator
from brim.flows.pack import ENGINE, VERSION, Pack
from brim.flows.stages import model_of
from brim.flows.step_receipts import StepReceipts
from brim.flows.step_record import StepRecord
from brim.flows.timed_call import complete_within
from brim.llm import LanguageModel, Reply, Usage, cost
from brim.settings import load_config
from brim.settings.config import Config
from brim.settings.flow import FlowStep


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
) -> FlowOutcome:
    """Run a flow and return its outcome; it ends at the first step that fails.

    Args:
        config: the settings, with the flow.
        flow: its name.
        model: the model that runs the steps.
        profile: the profile.
        run_base: the directory of the receipts; without it, none are written.
        root: the directory of a codebase whose files may be included.
        curator: the model that may choose files and summarise.
        models: the models of steps by the tier of their stage: cheap, medium, expensive. Without one, the setting
            `models.TIER` names it, or `model` runs the step.
        artifacts: paths of files that earlier flows wrote, which every pack lists.
        clock: returns seconds.
        watch: called with each step when it has run.

    Raises:
        UnknownName: no flow or profile has that name.
        InvalidValue: the receipts of two steps would have the same file.
        SourceError: a receipt cannot be written.
    """
    _check_paths(artifacts)
    prepare = Curator(config, flow=flow, profile=profile, model=curator, root=root, clock=clock).prepare
    receipts = None if run_base is None else StepReceipts(os.fspath(run_base), flow)

    def chosen(step: FlowStep) -> tuple[LanguageModel, float]:
        settings = config.resolve(profile, flow, step.id)
        stage = step.values.get("stage") or ""
        return model_of(stage, settings, model, models or {}), settings.value("timeout_seconds")

    runner = _Runner(flow, chosen, partial(prepare, artifacts=artifacts), receipts, clock)
    steps = config.flow(flow).steps
    if receipts is not None:
        receipts.expect((step.id, step.agent) for step in steps)
    done: list[StepOutcome] = []
    history: list[StepRecord] = []
    for step in steps:
        outcome = runner.outcome(step, history)
        done.append(outcome)
        if watch is not None:
            watch(outcome)
        if outcome.status != "ok":
            break
        artifacts = step.values.get("artifacts") or ()
        history.append(StepRecord(step_id=step.id, agent=step.agent, output=outcome.output, artifacts=artifacts))
    return FlowOutcome(flow=flow, steps=tuple(done), planned=len(steps))


def _check_paths(artifacts: Sequence[str]) -> None:
    if isinstance(artifacts, str) or not all(isinstance(path, str) for path in artifacts):
        raise InvalidType("artifacts", artifacts, "a list of paths")


def flow_of(path: str, name: str | None = None, *, flags: Mapping[str, Any] | None = None) -> tuple[Config, str]:
    """Return the settings of a flow, and its name.

    Args:
        path: a flow's file, or a project's file or directory.
        name: the flow of the project; optional if it has only one.
        flags: settings by key that override all others.

    Raises:
        SourceError: the file cannot be read, is invalid, or defines another flow.
        UnknownName: the project has no flow of that name.
        InvalidValue: the project has several flows and none is named.
    """
    config = load_config(path, flags=flags)
    if config.entry is not None:
        if name not in (None, config.entry):
            raise SourceError(path, f"the flow in it is {config.entry!r}, not {name!r}")
        return config, config.entry
    if name is not None:
        return config, config.flow(name).name
    if not config.flows:
        raise UnknownName("flow", path, [], "The project has none: put one under flows, or into flows/NAME.yaml.")
    if len(config.flows) > 1:
        raise InvalidValue("flow", path, f"one of {', '.join(config.flows)}: name it")
    return config, config.flows[0]


@dataclass(slots=True)
class _Runner:
    """Runs the steps of a flow."""

    flow: str
    chosen: Callable[[FlowStep], tuple[LanguageModel, float]]
    """Returns the model of a step, and the seconds that it may take."""
    prepare: Callable[[Any, Any], Pack]
    receipts: StepReceipts | None
    clock: Callable[[], float]

    def outcome(self, step: FlowStep, history: list[StepRecord]) -> StepOutcome:
        """Run one step, write its receipt, and return its outcome."""
        begun = self.clock()
        values: dict[str, Any] = {"version": VERSION, "engine": ENGINE, "flow": self.flow}
        values |= {"step_id": step.id, "agent": step.agent}
        event: dict[str, Any] = {}
        reply, status, problem = None, None, ""
        model, seconds = self.chosen(step)
        try:
            pack = self.prepare(step, history)
            values |= pack.receipt
            event = pack.event(flow=self.flow)
            reply = complete_within(model, seconds, [{"role": "user", "content": pack.text}])
            problem = _cut_off(reply)
        except DoesNotFit as error:
            problem = f"no pack: {error}"
        except ModelError as error:
            problem, status = str(error), error.status
        reason = f"step {step.id} ({step.agent or 'agent'}): {problem}" if problem else ""
        values |= _answer(model, reply, reason, status, self.clock() - begun)
        path = self.receipts.write(values) if self.receipts is not None else ""
        return StepOutcome(
            step_id=step.id,
            agent=step.agent,
            status=values["status"],
            reason=reason,
            output=values["output"],
            receipt=values,
            path=path,
            event=event,
        )


def _answer(
    model: LanguageModel, reply: Reply | None, reason: str, status: int | None, seconds: float
) -> dict[str, Any]:
    """Return the fields of a receipt about the answer of the model."""
    usage = Usage() if reply is None else reply.usage
    name = getattr(model, "model", None)
    return {
        "status": "failed" if reason else "ok",
        "reason": reason,
        "http_status": status,
        "model": name,
        "stop": None if reply is None else reply.stop,
        "usage": {"input_tokens": usage.input, "output_tokens": usage.output},
        "cost_usd": cost(name, usage) if isinstance(name, str) else None,
        "seconds": round(seconds, 3),
        "output": "" if reply is None else reply.text,
    }


def _cut_off(reply: Reply) -> str:
    if reply.complete:
        return ""
    size = f"{reply.usage.output:,} tokens" if reply.usage.output is not None else f"{len(reply.text):,} characters"
    return (
        f"the answer was cut off at the model's limit after {size}: split the step, or use a model that answers at"
        " greater length"
    )
