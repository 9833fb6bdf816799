"""Run a flow end to end: for each step a fresh pack, one call of the model, one receipt.

The pack is the whole context of the call. Nothing limits an answer; one that the model's own limit cut off fails its
step, since whatever builds on half an answer fails later and elsewhere.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Any

from brim.errors import DoesNotFit, ModelError
from brim.flows.curator import Curator
from brim.flows.pack import ENGINE, VERSION, Pack
from brim.flows.receipts import Receipts
from brim.flows.step_record import StepRecord
from brim.llm import LanguageModel, Reply, Usage, cost

if TYPE_CHECKING:
    from brim.settings.config import Config
    from brim.settings.flow import FlowStep

OK = "ok"
FAILED = "failed"


@dataclass(frozen=True, kw_only=True, slots=True)
class Ran:
    """One step after it ran."""

    step_id: str
    agent: str
    status: str
    """`ok` or `failed`."""
    reason: str = ""
    """Why it failed."""
    output: str = field(default="", repr=False)
    """All that the model said."""
    receipt: dict[str, Any] = field(default_factory=dict, repr=False)
    path: str = ""
    """Where the receipt is; empty where none are written."""
    event: dict[str, Any] = field(default_factory=dict, repr=False)
    """The `prompt_assembled` event of its pack."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FlowOutcome:
    """A flow after it ran."""

    flow: str
    steps: tuple[Ran, ...]
    """The steps that ran, the failed one last."""
    planned: int
    """Steps that the flow has."""

    @property
    def ok(self) -> bool:
        """Whether all of its steps ran well."""
        return len(self.steps) == self.planned and all(step.status == OK for step in self.steps)

    @property
    def reason(self) -> str:
        """Why it ended early; empty where it did not."""
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
    clock: Callable[[], float] = monotonic,
    watch: Callable[[Ran], None] | None = None,
) -> FlowOutcome:
    """Return what came of a flow; it ends at the first step that fails.

    Args:
        config: the settings, with the flow.
        flow: its name.
        model: who does the steps.
        profile: the profile that holds.
        run_base: where receipts are written; without it, none are.
        root: the directory of a codebase whose files may be given.
        curator: who may choose files and summarise.
        clock: what tells seconds.
        watch: told each step as soon as it ran.

    Raises:
        UnknownName: no such flow or profile.
        InvalidValue: two steps would have one receipt.
        SourceError: a receipt that cannot be written.
    """
    prepare = Curator(config, flow=flow, profile=profile, model=curator, root=root, clock=clock).prepare
    receipts = None if run_base is None else Receipts(os.fspath(run_base), flow)
    running = _Running(flow, model, prepare, receipts, clock)
    steps = config.flow(flow).steps
    if receipts is not None:
        receipts.expect((step.id, step.agent) for step in steps)
    done = []
    for ran in running.steps(steps):
        done.append(ran)
        if watch is not None:
            watch(ran)
    return FlowOutcome(flow=flow, steps=tuple(done), planned=len(steps))


@dataclass(slots=True)
class _Running:
    """A flow at work."""

    flow: str
    model: LanguageModel
    prepare: Callable[[Any, Any], Pack]
    receipts: Receipts | None
    clock: Callable[[], float]

    def steps(self, steps: tuple[FlowStep, ...]) -> Iterator[Ran]:
        """Yield each step as it ran, and end after one that failed."""
        history: list[StepRecord] = []
        for step in steps:
            ran = self._ran(step, history)
            yield ran
            if ran.status != OK:
                return
            artifacts = step.values.get("artifacts") or ()
            history.append(
                StepRecord(step_id=step.id, agent=step.agent, output=ran.output, artifacts=artifacts, status=ran.status)
            )

    def _ran(self, step: FlowStep, history: list[StepRecord]) -> Ran:
        begun = self.clock()
        values: dict[str, Any] = {"version": VERSION, "engine": ENGINE, "flow": self.flow, "step_id": step.id}
        values["agent"] = step.agent
        event: dict[str, Any] = {}
        reply, status, problem = None, None, ""
        try:
            pack = self.prepare(step, history)
            values |= pack.receipt
            event = pack.event(flow=self.flow)
            reply = self.model.complete([{"role": "user", "content": pack.text}])
            problem = _cut_off(reply)
        except DoesNotFit as error:
            problem = f"no pack: {error}"
        except ModelError as error:
            problem, status = str(error), error.status
        told = f"step {step.id} ({step.agent or 'agent'}): {problem}" if problem else ""
        values |= self._answer(reply, told, status, self.clock() - begun)
        path = self.receipts.write(values) if self.receipts is not None else ""
        return Ran(
            step_id=step.id,
            agent=step.agent,
            status=values["status"],
            reason=told,
            output=values["output"],
            receipt=values,
            path=path,
            event=event,
        )

    def _answer(self, reply: Reply | None, told: str, status: int | None, seconds: float) -> dict[str, Any]:
        """Return what a receipt says of the model's answer, all of it."""
        usage = Usage() if reply is None else reply.usage
        name = getattr(self.model, "model", None)
        return {
            "status": FAILED if told else OK,
            "reason": told,
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
