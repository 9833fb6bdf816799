"""A preview of a settings change: the recorded sessions and the packs of a flow that ran, before and after it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from brim.errors import BrimError, DoesNotFit, ModelError, SourceError
from brim.flows.curator import Curator
from brim.flows.step_record import StepRecord
from brim.llm import Messages, Reply
from brim.sessions.log.overview import SessionUse, overview
from brim.settings.config import Config
from brim.settings.resolved import Resolved
from brim.store.base import Store
from brim.studio.costs import cost
from brim.studio.receipt_files import receipts_in
from brim.studio.workspace import Workspace

_MOST_SESSIONS = 20
_MOST_MESSAGES = 2_000
"""Messages of one session that are fitted, the newest."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PreviewedSession:
    """One session as it was recorded."""

    id: str
    model: str | None
    messages: list[Any]
    format: str
    system: Any
    tools: Any


def preview(workspace: Workspace, plan: str, profile: str | None, flow: str | None, step: str | None) -> dict[str, Any]:
    """Return what a planned change would do to the recorded sessions, and to the packs of a flow that ran.

    Raises:
        UnknownName: there is no such plan.
        SourceError: the changed settings are invalid, or their file does not exist yet.
    """
    change = workspace.planned(plan)
    now = workspace.settings()
    if change.path not in now.files:
        raise SourceError(change.path, "this file does not exist yet: save it to preview its effect")
    then = workspace.settings({change.path: change.after or ""})
    before, after = (config.resolve(profile, flow, step) for config in (now, then))
    store = workspace.find_store()
    rows: list[dict[str, Any]] = []
    for session in () if store is None else _sessions(store):
        sides = {"before": _side(before, session), "after": _side(after, session)}
        rows.append({"id": session.id, "agent": "", "of": len(session.messages), **sides})
    sums = {side: _sum([row[side] for row in rows]) for side in ("before", "after")}
    steps = [] if flow is None or flow not in then.flows else _step_rows(workspace, now, then, profile, flow)
    return {"rows": rows, **sums, "steps": steps, "warnings": list(after.warnings)}


def _sessions(store: Store) -> Iterator[PreviewedSession]:
    for row in overview(store, recent=_MOST_SESSIONS).recent:
        session = _session(store, row)
        if session.messages:
            yield session


def _session(store: Store, row: SessionUse) -> PreviewedSession:
    messages: list[Any] = []
    capture: Mapping[str, Any] = {}
    for entry in store.entries(row.id, kinds=["message", "prompt"]):
        if entry.kind == "message":
            messages.append(entry.body.get("sent", entry.body["message"]))
        capture = (entry.body.get("receipt") or {}).get("capture") or capture
    return PreviewedSession(
        id=row.id,
        model=row.status.get("model"),
        messages=messages[-_MOST_MESSAGES:],
        format=(capture.get("options") or {}).get("format") or "openai",
        system=capture.get("system"),
        tools=capture.get("tools"),
    )


def _side(settings: Resolved, session: PreviewedSession) -> dict[str, Any]:
    """Return the fit of a session under settings: its size, and the messages that it keeps."""
    # A budget in characters is one for the history alone.
    extra = {} if settings.limits_history() else {"system": session.system, "tools": session.tools}
    try:
        fitted = settings.fit_messages(session.messages, **{name: value for name, value in extra.items() if value})
    except BrimError as error:
        return _failed(error)
    recorded, unit = {id(raw) for raw in session.messages}, fitted.receipt.unit
    return {
        "fits": True,
        "problem": "",
        "used": fitted.used,
        "budget": fitted.budget,
        "unit": unit,
        "kept": sum(id(raw) in recorded for raw in fitted.messages),
        "cost_usd": cost(session.model, unit, fitted.used),
    }


def _failed(error: BrimError) -> dict[str, Any]:
    """Return a side without numbers; `fits` is `None` if the fit fails for another reason than its size."""
    fits = False if isinstance(error, DoesNotFit) else None
    return {"fits": fits, "problem": str(error), "unit": "", **dict.fromkeys(("used", "budget", "kept", "cost_usd"))}


def _sum(sides: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the sums of one side; a sum is `None` if it is not known for every session."""
    costs = [side["cost_usd"] for side in sides]
    units = {side["unit"] for side in sides if side["unit"]}
    return {
        "overflows": sum(side["fits"] is False for side in sides),
        "used": sum(side["used"] or 0 for side in sides) if len(units) == 1 else None,
        "unit": units.pop() if len(units) == 1 else "",
        "cost_usd": round(sum(costs), 6) if costs and None not in costs else None,
    }


class _NoModel:
    """Answers nothing: a preview calls no model."""

    def complete(self, messages: Messages, system: str | None = None) -> Reply:  # noqa: ARG002 - the shape of a model
        raise ModelError("a preview calls no model")


def _step_rows(workspace: Workspace, now: Config, then: Config, profile: str | None, flow: str) -> list[dict[str, Any]]:
    """Return the packs of the steps of a flow that ran, each made again from the outputs in the receipts."""
    outputs = _outputs(workspace, flow)
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
    return rows


def _outputs(workspace: Workspace, flow: str) -> dict[str, str]:
    """Return the output of each step of a flow, by its newest receipt."""
    found: dict[str, str] = {}
    for name, receipt in receipts_in(workspace.runs):
        if name == flow:
            found.setdefault(str(receipt["step_id"]), str(receipt.get("output") or ""))
    return found


def _pack(config: Config, profile: str | None, flow: str, step: str, history: list[StepRecord]) -> dict[str, Any]:
    """Return the size of a pack, and how many steps are in it."""
    try:
        receipt = Curator(config, flow=flow, profile=profile, model=_NoModel()).prepare(step, history).receipt
    except BrimError as error:
        return _failed(error)
    kept = receipt["context_truncation"].get("steps_included", 0)
    sizes = {"used": receipt["used_chars"], "budget": receipt["budget_chars"], "unit": "chars"}
    return {"fits": True, "problem": "", **sizes, "kept": kept, "cost_usd": None}
