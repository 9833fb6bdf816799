"""A preview of a settings change on the receipts of a flow: the pack of each step that ran, before and after it."""

from __future__ import annotations

from typing import Any

from brim.errors import BrimError, ModelError
from brim.flows.curator import Curator
from brim.flows.step_record import StepRecord
from brim.llm import Messages, Reply
from brim.settings.config import Config
from brim.studio.workspace import Workspace

_MOST_STEPS = 200


class _NoModel:
    """Answers nothing: a preview calls no model."""

    def complete(self, messages: Messages, system: str | None = None) -> Reply:  # noqa: ARG002 - the shape of a model
        raise ModelError("a preview calls no model")


def step_rows(workspace: Workspace, now: Config, then: Config, profile: str | None, flow: str) -> list[dict[str, Any]]:
    """Return the packs of the steps of a flow that ran, each made again from the outputs in the receipts."""
    outputs = _outputs(workspace, flow)
    rows: list[dict[str, Any]] = []
    history: list[StepRecord] = []
    for step in now.flow(flow).steps[:_MOST_STEPS]:
        if step.id not in outputs:
            break
        sides = {
            name: _pack(config, profile, flow, step.id, history) for name, config in (("before", now), ("after", then))
        }
        rows.append({"id": step.id, "agent": step.agent, "steps": len(history), **sides})
        history.append(StepRecord(step_id=step.id, agent=step.agent, output=outputs[step.id]))
    return rows


def _outputs(workspace: Workspace, flow: str) -> dict[str, str]:
    """Return the output of each step of a flow, by its newest receipt."""
    found: dict[str, str] = {}
    files = workspace.index.files
    for receipt in files.receipts():
        step = str(receipt.values.get("step_id"))
        if receipt.flow == flow and step not in found:
            whole = files.read(receipt.id) or {}
            found[step] = str(whole.get("output") or "")
    return found


def _pack(config: Config, profile: str | None, flow: str, step: str, history: list[StepRecord]) -> dict[str, Any]:
    """Return the size of a pack, and how many steps are in it."""
    try:
        pack = Curator(config, flow=flow, profile=profile, model=_NoModel()).prepare(step, history)
    except BrimError as error:
        return {"used": None, "budget": None, "kept": None, "problem": str(error)}
    kept = pack.receipt["context_truncation"].get("steps_included", 0)
    return {"used": pack.receipt["used_chars"], "budget": pack.receipt["budget_chars"], "kept": kept, "problem": ""}
