"""What is sent for a request: the same bytes if it fits, or the body with what fits in place of its messages."""

from __future__ import annotations

from dataclasses import dataclass, field

from brim.errors import DoesNotFit
from brim.gateway import client_request, problem, recall_offer
from brim.gateway.client_request import ClientRequest
from brim.gateway.policy import FIT, REFUSE, RequestRule
from brim.gateway.problem import HttpProblem
from brim.history.history import fit_messages
from brim.meter import BaseMeter
from brim.meter.calibration import Calibrated
from brim.sessions.conversations.request import FittedRequest
from brim.sessions.conversations.request_plan import RequestPlan
from brim.sessions.learning.meters import RequestSize
from brim.sessions.learning.request_input import RequestInput


@dataclass(kw_only=True, slots=True, eq=False)
class GatewayPlan:
    """The rule and the policy of a request, how it is counted, and how many tokens it may take."""

    rule: RequestRule
    policy: str
    engine: RequestPlan

    @property
    def scale(self) -> BaseMeter:
        """The meter."""
        return self.engine.scale

    def lowers(self, tokens: int) -> bool:
        """Return whether the answer of a request of so many tokens has to be shortened."""
        room = self.engine.room
        answer = room.answer if room is not None and self.engine.limits.lower_answer else None
        return answer is not None and room is not None and tokens + answer > room.window

    def method(self, *, exact: bool) -> str:
        """Return how a request was counted: `exact`, `calibrated` or `estimate`."""
        scale = self.scale
        if scale.exact:
            return "exact" if exact else "estimate"
        return "calibrated" if isinstance(scale, Calibrated) and scale.calibration.calls else "estimate"


@dataclass(kw_only=True, slots=True, eq=False)
class FitOutcome:
    """What is sent, and what was done to it."""

    body: bytes = field(repr=False)
    policy: str
    before: int | None = None
    """Tokens of the request as it came; `None` if nobody counted."""
    after: int | None = None
    """Tokens of what is sent."""
    method: str | None = None
    edits: int = 0
    """Messages that are not sent as they came."""
    answer: int | None = None
    """The tokens that are asked for the answer, if they were lowered."""
    over: int = 0
    """Tokens by which it is over its budget; not 0 only if nothing may be changed."""
    passed: str = ""
    """Why it is passed on without a look, if it is."""
    recalls: bool = False
    """Whether the model was offered to recall what was dropped."""
    budget: int | None = None
    request: FittedRequest | None = field(default=None, repr=False)
    """The request as the engine knows it, to learn from its answer."""

    @property
    def changed(self) -> bool:
        """Whether something else is sent than what came."""
        return bool(self.edits)


def whole(
    ask: ClientRequest, plan: GatewayPlan, given: RequestInput, size: RequestSize, made: FittedRequest | None = None
) -> FitOutcome | None:
    """Return what is sent if the request stays as it is; `None` if it has to be cut.

    `made` is the request as the next one of its conversation, if it was counted so.

    Raises:
        HttpProblem: it is too long, and the policy is to refuse it.
    """
    room, tokens = plan.engine.room, size.tokens
    over = max(0, tokens - room.fits) if room is not None else 0
    if plan.policy == FIT and (over or plan.lowers(tokens)):
        return None
    if over and plan.policy == REFUSE and room is not None:
        raise too_long(ask, plan, tokens, room.fits)
    if made is None:
        made = FittedRequest(messages=list(given.messages), places=[], input=given, before=tokens)
    made.room = room
    return FitOutcome(
        body=ask.raw,
        policy=plan.policy,
        before=tokens,
        after=tokens,
        method=plan.method(exact=size.exact),
        over=over,
        passed="" if room is not None else "window-unknown",
        budget=room.fits if room is not None else None,
        request=made,
    )


def too_long(ask: ClientRequest, plan: GatewayPlan, needed: int, most: int) -> HttpProblem:
    """Return the refusal of a request: over the window, over it with the answer, or over what the settings allow."""
    room = plan.engine.room
    if room is None or needed <= most:
        return problem.overflow(ask.route, needed, most)
    if needed > room.window:
        return problem.overflow(ask.route, needed, room.window)
    if room.answer is not None and needed + room.answer > room.window:
        return problem.overflow(ask.route, needed, room.window, room.answer)
    return problem.overflow(ask.route, needed, most)


def written(ask: ClientRequest, plan: GatewayPlan, made: FittedRequest) -> FitOutcome:
    """Return what is sent for a fitted request.

    Raises:
        HttpProblem: the body can be read in two ways, so it cannot be shortened.
    """
    method = plan.method(exact=made.exact)
    if not made.changed and made.answer is None:
        room = made.room
        return FitOutcome(
            body=ask.raw,
            policy=plan.policy,
            before=made.before,
            after=made.before,
            method=method if made.before is not None else None,
            passed="" if room is not None else "window-unknown",
            budget=room.fits if room is not None else None,
            request=made,
        )
    strict = ask.strict
    text = strict.placed(made.messages, made.places) if made.changed else ask.text
    if made.recalls:
        text = recall_offer.offered(text, ask.format)
    if made.answer is not None:
        text = client_request.with_answer(text, made.answer)
    kept = sum(place is not None for place in made.places)
    return FitOutcome(
        body=text.encode(),
        policy=plan.policy,
        before=made.before,
        after=made.used,
        method=method,
        edits=max(1, len(strict.messages) - kept) if made.changed else 0,
        answer=made.answer,
        recalls=made.recalls,
        budget=made.room.target if made.room is not None else None,
        request=made,
    )


def shortened(ask: ClientRequest, plan: GatewayPlan, given: RequestInput, size: RequestSize, target: int) -> FitOutcome:
    """Return a request of its own, that continues no conversation, cut to `target` tokens.

    Raises:
        HttpProblem: what has to stay is too long, or the body can be read in two ways.
    """
    strict = ask.strict
    try:
        fitted = fit_messages(
            strict.messages,
            target,
            meter=plan.scale,
            tools=given.tools,
            system=given.system,
            fields=given.fields,
            format=given.format,
        )
    except DoesNotFit as error:
        raise too_long(ask, plan, error.needed, error.available) from error
    at = {id(raw): index for index, raw in enumerate(strict.messages)}
    made = FittedRequest(
        messages=fitted.messages,
        places=[at.get(id(raw)) for raw in fitted.messages],
        input=given,
        changed=True,
        before=size.tokens,
        room=plan.engine.room,
        exact=size.exact,
        fitted=fitted,
    )
    return written(ask, plan, made)
