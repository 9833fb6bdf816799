"""Builds the request after a recall by the model: with the recalled texts at its end, and fitted again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from brim.errors import DoesNotFit
from brim.gateway.client.parsed import with_body
from brim.gateway.fit.fitted import FittedBody, Fitter, too_long, unchanged, written
from brim.gateway.fit.planned import Planned
from brim.gateway.recall.calls import ModelCall, continued
from brim.history.history import fit_messages
from brim.sessions.conversations.request import FittedRequest
from brim.sessions.recall_tool import NAME, answered

MOST_ROUNDS = 4
"""How often a request is sent again after calls of the tool."""
_LEAST, _SHARE = 64, 4
"""A recall may return a quarter of the budget, but at least 64 tokens."""
_LAST = "\n[This was the last recall. Continue without another one.]"
"""The end of the results in the last round."""
_NOT_RUN = f"Not run, because {NAME} was called in the same answer. Call it again if it is still needed."
"""The result of any other call in the same answer."""


def again(
    fitter: Fitter, last: FittedBody, answer: Mapping[str, Any], calls: Sequence[ModelCall], *, ends: bool
) -> FittedBody:
    """Return the request with the recalled texts at its end, fitted again; `ends` marks the last round.

    Raises:
        HttpProblem: the parts that must stay are too long.
    """
    planned = last.planned
    assert planned is not None
    assert last.request is not None
    dropped = last.request.dropped
    assert dropped is not None
    limit = max(_LEAST, (last.budget or 0) // _SHARE)
    results = [
        (call, answered(call.arguments, dropped, limit, planned.scale) + _LAST * ends if call.recalls else _NOT_RUN)
        for call in calls
    ]
    parsed = with_body(last.parsed, continued(last.parsed.route, last.body, answer, results), planned.settings)
    planned = replace(planned, parsed=parsed, given=parsed.input(owner=planned.given.owner))
    tokens, exact = fitter.count(planned)
    if (planned.room is not None and tokens > planned.room.fits) or planned.lowers(tokens):
        made = _shortened(planned, tokens, last.budget or tokens, exact=exact)
    else:
        made = unchanged(planned, tokens, exact=exact)
    found = written(planned, made)
    recalled = [planned.scale.count(text) for call, text in results if call.recalls]
    fitter.engine.charge(last.request, recalled)
    made.dropped, made.conversation = dropped, last.request.conversation
    made.regret = len(recalled), sum(recalled)
    return replace(found, recalls=True, before=last.before, edits=last.edits, budget=last.budget)


def without_recall(fitter: Fitter, first: FittedBody) -> FittedBody:
    """Return a request as it was first sent, without the tool.

    Raises:
        HttpProblem: the parts that must stay are too long.
    """
    assert first.planned is not None
    return fitter.fit(replace(first.planned, given=replace(first.planned.given, recall=False)))


def _shortened(planned: Planned, tokens: int, target: int, *, exact: bool) -> FittedRequest:
    """Return a request cut to `target` tokens that continues no conversation.

    Raises:
        HttpProblem: the parts that must stay are too long, or the body can be read in two ways.
    """
    messages, given = planned.parsed.strict().messages, planned.given
    try:
        fitted = fit_messages(
            messages,
            target,
            meter=planned.scale,
            tools=given.tools,
            system=given.system,
            fields=given.fields,
            format=given.format,
        )
    except DoesNotFit as error:
        raise too_long(planned, error.needed, error.available, error.parts) from error
    at = {id(raw): index for index, raw in enumerate(messages)}
    return FittedRequest(
        messages=fitted.messages,
        places=[at.get(id(raw)) for raw in fitted.messages],
        input=given,
        changed=True,
        before=tokens,
        room=planned.room,
        exact=exact,
        fitted=fitted,
    )
