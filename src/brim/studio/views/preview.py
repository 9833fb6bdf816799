"""A preview of a settings change of a flow: the packs of its last run, before and after it."""

from __future__ import annotations

from typing import Any

from brim.errors import BrimError, DoesNotFit, ModelError, SourceError
from brim.flows.curator import Curator
from brim.flows.step_record import StepRecord
from brim.llm import Messages, Reply
from brim.settings.config import Config
from brim.studio.workspace import Workspace


def preview(workspace: Workspace, plan: str, profile: str | None, flow: str) -> dict[str, Any]:
    """Return the packs of the steps of a flow that ran, before and after a planned change.

    Each is made again from the outputs in the receipts.

    Raises:
        UnknownName: there is no such plan or flow.
        SourceError: the changed settings are invalid, or their file does not exist yet.
    """
    change = workspace.planned(plan)
    now = workspace.settings()
    if change.path not in now.files:
        raise SourceError(change.path, "this file does not exist yet: save it to preview its effect")
    then = workspace.settings({change.path: change.after or ""})
    outputs = {str(row["step_id"]): str(row.get("output") or "") for name, row in workspace.receipts() if name == flow}
    rows: list[dict[str, Any]] = []
    history: list[StepRecord] = []
    for step in now.flow(flow).steps:
        if step.id not in outputs:
            break
        sides = {
            name: _pack(config, profile, flow, step.id, history) for name, config in (("before", now), ("after", then))
        }
        rows.append({"id": step.id, "agent": step.agent, "of": len(history), **sides})
        history.append(StepRecord(step_id=step.id, agent=step.agent, output=outputs[step.id]))
    return {"rows": rows}


class _NoModel:
    """Answers nothing: a preview calls no model."""

    def complete(self, messages: Messages, system: str | None = None) -> Reply:  # noqa: ARG002 - the shape of a model
        raise ModelError("a preview calls no model")


def _pack(config: Config, profile: str | None, flow: str, step: str, history: list[StepRecord]) -> dict[str, Any]:
    """Return the size of a pack, and how many steps are in it; `fits` is `None` if it fails for another reason."""
    try:
        receipt = Curator(config, flow=flow, profile=profile, model=_NoModel()).prepare(step, history).receipt
    except BrimError as error:
        return {"fits": False if isinstance(error, DoesNotFit) else None, "problem": str(error)}
    sizes = {"used": receipt["used_chars"], "budget": receipt["budget_chars"]}
    return {"fits": True, "problem": "", **sizes, "kept": receipt["context_truncation"].get("steps_included", 0)}
