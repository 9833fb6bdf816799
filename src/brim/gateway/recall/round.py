"""The request that follows a recall of the model: the recalled texts stand at its end, and the whole fits again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from brim.errors import DoesNotFit
from brim.gateway.client.parsed import with_body
from brim.gateway.fit.fitted import FittedBody, Fitter, too_long, whole, written
from brim.gateway.fit.planned import Planned
from brim.gateway.recall.calls import ModelCall, continued
from brim.history.history import fit_messages
from brim.sessions.conversations.request import FittedRequest
from brim.sessions.recall_tool import NAME, answered

MOST_ROUNDS = 4
"""How often a request is sent again after a call of the tool."""
_LEAST, _SHARE, _UNKNOWN = 64, 4, 4_096
"""Tokens that a recall may bring back: one part in four of the budget, or of this if it is unknown."""
_LAST = "\n[This was the last recall. Continue without another one.]"
"""What the model reads at the end of a result, if no further recall is answered."""
_NOT_RUN = f"Not run, because {NAME} was called in the same answer. Call it again if it is still needed."
"""What the model reads as the result of another call in the same answer."""


def again(
    fitter: Fitter, last: FittedBody, answer: Mapping[str, Any], calls: Sequence[ModelCall], *, ends: bool
) -> FittedBody:
    """Return the request with what was recalled at its end, fitted again; `ends` if no further recall is answered.

    Raises:
        HttpProblem: what has to stay is too long.
    """
    planned, dropped = last.planned, last.request.dropped if last.request is not None else None
    assert planned is not None
    assert dropped is not None
    limit = max(_LEAST, (last.budget or _UNKNOWN) // _SHARE)
    results = [
        (call, answered(call.arguments, dropped, limit, planned.scale) + _LAST * ends if call.recalls else _NOT_RUN)
        for call in calls
    ]
    parsed = with_body(last.parsed, continued(last.parsed.route, last.body, answer, results), planned.settings)
    planned = replace(planned, parsed=parsed, given=parsed.input(owner=planned.given.owner))
    tokens, exact = fitter.count(planned)
    if (planned.room is not None and tokens > planned.room.fits) or planned.lowers(tokens):
        found = _shortened(planned, tokens, last.budget or tokens, exact=exact)
    else:
        found = whole(planned, tokens, exact=exact)
    if found.request is not None and last.request is not None:
        recalled = [planned.scale.count(text) for call, text in results if call.recalls]
        fitter.engine.charge(last.request, recalled)
        found.request.dropped, found.request.conversation = dropped, last.request.conversation
        found.request.regret = len(recalled), sum(recalled)
    return replace(found, recalls=True, before=last.before, edits=last.edits, budget=last.budget)


def without_recall(fitter: Fitter, first: FittedBody) -> FittedBody:
    """Return a request as it was first sent, but without the tool.

    Raises:
        HttpProblem: what has to stay is too long.
    """
    assert first.planned is not None
    return fitter.fit(replace(first.planned, given=replace(first.planned.given, recall=False)))


def _shortened(planned: Planned, tokens: int, target: int, *, exact: bool) -> FittedBody:
    """Return a request of its own, that continues no conversation, cut to `target` tokens.

    Raises:
        HttpProblem: what has to stay is too long, or the body can be read in two ways.
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
        raise too_long(planned, error.needed, error.available) from error
    at = {id(raw): index for index, raw in enumerate(messages)}
    made = FittedRequest(
        messages=fitted.messages,
        places=[at.get(id(raw)) for raw in fitted.messages],
        input=given,
        changed=True,
        before=tokens,
        room=planned.room,
        exact=exact,
        fitted=fitted,
    )
    return written(planned, made)
