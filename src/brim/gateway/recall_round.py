"""The request that follows a recall of the model: the recalled texts stand at its end, and the whole fits again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from brim.gateway import client_request, outcome, recall
from brim.gateway.decision import Decision
from brim.gateway.outcome import FitOutcome
from brim.sessions.recall.recall_tool import answered

_LEAST, _SHARE, _UNKNOWN = 64, 4, 4_096
"""Tokens that a recall may bring back: one part in four of the budget, or of this if it is unknown."""
_LAST = "\n[This was the last recall. Go on without another one.]"
"""What the model reads at the end of a result, if no further recall is answered."""


def again(
    work: Decision, last: FitOutcome, answer: Mapping[str, Any], calls: Sequence[recall.RecallCall], *, ends: bool
) -> FitOutcome:
    """Return the request with what was recalled at its end, fitted again; `ends` if no further recall is answered.

    Raises:
        HttpProblem: what has to stay is too long.
    """
    plan, route, dropped = work.plan, work.ask.route, last.request.dropped if last.request is not None else None
    assert plan is not None
    assert dropped is not None
    limit = max(_LEAST, (last.budget or _UNKNOWN) // _SHARE)
    results = [(call.id, answered(call.arguments, dropped, limit, plan.scale) + _LAST * ends) for call in calls]
    body = recall.continued(route, last.body, answer, results)
    ask = client_request.read(route, body, work.settings.most_values, work.ask.model)
    given = ask.input()
    size = work.state.conversations.count(given, plan.engine)
    found = outcome.whole(ask, plan, given, size)
    if found is None:
        found = outcome.shortened(ask, plan, given, size, last.budget or size.tokens)
    made = found.request
    if made is not None:
        made.dropped = dropped
    return replace(found, recalls=True, before=last.before, edits=last.edits, budget=last.budget)
