"""The request that follows a model's recall: what it asked for stands at its end, and the whole fits again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from brim.gateway import ask as asking
from brim.gateway import fitting, recall
from brim.gateway.deciding import Deciding
from brim.gateway.fitting import FitOutcome
from brim.gateway.state import GatewayState
from brim.sessions.recall import answered
from brim.sessions.view import View

_LEAST, _SHARE, _UNKNOWN = 64, 4, 4_096
"""Units that a recall may bring back: one part in four of the budget, or of this where it is not known."""


def again(
    state: GatewayState,
    work: Deciding,
    outcome: FitOutcome,
    answer: Mapping[str, Any],
    asked: Sequence[recall.RecallCall],
) -> FitOutcome:
    """Return the request with what was recalled at its end, fitted again.

    Raises:
        Problem: what has to stay is too long.
    """
    plan, talk, route = work.plan, work.talk, work.ask.route
    assert plan is not None
    assert talk is not None
    limit = max(_LEAST, (outcome.budget or _UNKNOWN) // _SHARE)
    results = {call.id: answered(call.arguments, talk.shelf, limit, plan.scale) for call in asked}
    body = recall.continued(route, outcome.body, answer, results)
    more = asking.read(route, body, work.settings.most_values)
    usual = replace(plan, rule=replace(plan.rule, recall=False), pin=())
    assert more.request is not None
    view = View(plan.scale, more.request.messages, stable=False, format=more.format)
    weight = fitting.weigh_view(more, view, state.meters)
    whole = weight.units <= (plan.room.fits if plan.room is not None else weight.units)
    found = (
        fitting.whole(more, usual, weight)
        if whole
        else fitting.cut(more, usual, weight, view, talk, target=outcome.budget or weight.units)
    )
    assert found is not None
    return replace(found, recalls=True, before=outcome.before, edits=outcome.edits, budget=outcome.budget)
