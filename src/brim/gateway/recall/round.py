"""Builds the request after a recall by the model: with the recalled texts at its end, and fitted again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from brim.errors import DoesNotFit
from brim.gateway.client.parsed import parse
from brim.gateway.fit import FittedBody, Planned, fit, too_long, written
from brim.gateway.recall.calls import ModelCall, continued
from brim.history.history import fit_messages
from brim.sessions.conversations import Conversations
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
    engine: Conversations, last: FittedBody, answer: Mapping[str, Any], calls: Sequence[ModelCall], *, ends: bool
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
    parsed = last.parsed
    body = continued(parsed.route, last.body, answer, results)
    parsed = parse(parsed.admitted, parsed.route, body, parsed.keys)
    planned = replace(planned, parsed=parsed, given=parsed.input(owner=planned.given.owner))
    size, given, room = engine.count(planned.given, planned.engine), planned.given, planned.room
    made = FittedRequest(messages=[*given.messages], places=[], input=given, before=size.tokens, exact=size.exact)
    made.room = room
    if (room is not None and size.tokens > room.fits) or planned.engine.lowered(made) is not None:
        made = _shortened(planned, made, last.budget or size.tokens)
    found = written(planned, made)
    recalled = [planned.scale.count(text) for call, text in results if call.recalls]
    engine.charge(last.request, recalled)
    made.dropped, made.conversation, made.learn = dropped, last.request.conversation, last.request.learn
    made.regret = len(recalled), sum(recalled)
    return replace(found, recalls=True, before=last.before, edits=last.edits, budget=last.budget)


def without_recall(engine: Conversations, first: FittedBody) -> FittedBody:
    """Return a request as it was first sent, without the tool.

    Raises:
        HttpProblem: the parts that must stay are too long.
    """
    assert first.planned is not None
    return fit(replace(first.planned, given=replace(first.planned.given, recall=False)), engine)


def _shortened(planned: Planned, made: FittedRequest, target: int) -> FittedRequest:
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
    places = [at.get(id(raw)) for raw in fitted.messages]
    return replace(made, messages=fitted.messages, places=places, changed=True, fitted=fitted)
