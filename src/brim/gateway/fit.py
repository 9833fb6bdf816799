"""Decides what is sent for a request: its rule, its budget, and the same bytes if it fits, or else a body that does."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

from brim.errors import DoesNotFit
from brim.gateway.client.names import conversation_name
from brim.gateway.client.parsed import Parsed
from brim.gateway.http.problem import HttpProblem, overflow
from brim.gateway.settings import GatewaySettings, RequestRule
from brim.meter.catalogue import fold, spellings
from brim.meter.window import answer_room
from brim.sessions.conversations import Conversations
from brim.sessions.conversations.plan import RequestPlan
from brim.sessions.conversations.request import FittedRequest
from brim.sessions.learning.meters import count_request
from brim.sessions.learning.request_input import RequestInput
from brim.sessions.learning.usage import ReportedUsage, reported
from brim.sessions.learning.windows import Room, WindowLimits
from brim.settings.values import POLICIES
from brim.wire.base import changed, lowered_limits
from brim.wire.overflow import Overflow

FIT, WARN, REFUSE, PASS = POLICIES
_NAMES = {
    "system": "system prompt",
    "system messages": "system prompt",
    "marks of the newest turn": "newest messages",
    "reply": "start of the reply",
}
"""Names of parts in a rejection, where they differ from those of `DoesNotFit`."""
_SHORTER = "Shorten the system prompt"
_ADVICE = {
    "system": _SHORTER,
    "system messages": _SHORTER,
    "tools": "Offer fewer or smaller tools",
    "pinned": "Pin fewer messages",
    "marks of the newest turn": "Shorten the newest message",
}
"""What to do about the largest part."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Planned:
    """A request with its policy, meter and budget."""

    parsed: Parsed
    settings: GatewaySettings
    policy: str
    given: RequestInput
    """The input of the engine."""
    engine: RequestPlan
    """The meter and the budget."""

    @property
    def room(self) -> Room | None:
        """The budget; `None` if the window of the model is unknown."""
        return self.engine.room

    def method(self, made: FittedRequest) -> str:
        """Return how a request was counted: `exact`, `calibrated` by reported usage, or `estimate`."""
        if self.engine.scale.exact and made.exact:
            return "exact"
        return "calibrated" if made.correction else "estimate"


def plan(parsed: Parsed, settings: GatewaySettings, engine: Conversations, owner: tuple[str, ...]) -> Planned:
    """Return the rule, the meter and the budget of a request.

    Raises:
        HttpProblem: an `x-brim` header is invalid.
    """
    rule = rule_of(parsed, settings)
    policy = rule.policy or FIT
    admitted = parsed.admitted
    limits = WindowLimits(
        size=rule.window,
        yields=settings.window_yields and rule.window == settings.default.window,
        reserve=settings.reserve,
        cap=settings.cap,
        limit=settings.limit,
        margin=settings.margin,
        lower_answer=True,
    )
    given = parsed.input(pin=settings.pin, owner=owner)
    made = engine.plan(given, limits, rule.meter, settings.base(parsed.route))
    asked = admitted.header("x-brim-budget")
    if asked is not None:
        if not asked.isascii() or not asked.isdigit() or not 0 < len(asked) <= 12 or int(asked) < 1:
            raise HttpProblem(400, "x-brim-budget must be a whole number of at least 1")
        made = replace(made, room=Room.of(int(asked)) if made.room is None else made.room.at_most(int(asked)))
    return Planned(parsed=parsed, settings=settings, policy=policy, given=given, engine=made)


def rule_of(parsed: Parsed, settings: GatewaySettings) -> RequestRule:
    """Return the settings for a request, each from the first matching rule that sets it, or else from the default."""
    names = [fold(parsed.model), *map(fold, spellings(parsed.model))] if settings.rules else ()
    matching = [
        rule
        for rule in settings.rules
        if (rule.model is None or any(fnmatchcase(name, fold(rule.model)) for name in names))
        and rule.key in (None, parsed.admitted.key)
        and rule.route in (None, parsed.route)
    ]

    def first(name: str) -> Any:
        return next(
            (value for rule in (*matching, settings.default) if (value := getattr(rule, name)) is not None), None
        )

    return RequestRule(**{name: first(name) for name in ("policy", "window", "meter")})


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class FittedBody:
    """What is sent, and what was done to it."""

    parsed: Parsed
    planned: Planned | None = None
    """`None` if the request is passed on without being counted."""
    body: bytes = field(repr=False)
    policy: str
    before: int | None = None
    """Tokens of the request as it was received; `None` if it was not counted."""
    after: int | None = None
    """Tokens of what is sent."""
    method: str | None = None
    edits: int = 0
    """Messages that were dropped or changed."""
    answer: int | None = None
    """The new limit on the answer in tokens, if it was lowered."""
    over: int = 0
    """Tokens by which it exceeds its budget, with the policy `warn`."""
    passed: str = ""
    """Why it is passed on without being fitted, if it is."""
    budget: int | None = None
    request: FittedRequest | None = field(default=None, repr=False)
    """The engine's request, which learns from the answer."""

    @property
    def shrinks(self) -> bool:
        """Whether a smaller request may be sent if this one is rejected as too long."""
        return self.planned is not None and self.after is not None and self.planned.policy == FIT


def passed(parsed: Parsed, policy: str, why: str) -> FittedBody:
    """Return a request that is passed on without being fitted."""
    return FittedBody(parsed=parsed, body=parsed.body, policy=policy, passed=why)


def fit(planned: Planned, engine: Conversations) -> FittedBody:
    """Return what to send.

    Raises:
        HttpProblem: the parts that must stay are too long, or the policy refuses long requests.
    """
    parsed, room, cuts = planned.parsed, planned.room, planned.policy == FIT
    name = conversation_name(parsed.admitted.first, parsed.values, ".".join(planned.given.owner), parsed.keys)
    plan = planned.engine if cuts else replace(planned.engine, room=None)
    try:
        made = engine.fit(replace(planned.given, name=name), plan)
    except DoesNotFit as error:
        raise too_long(planned, error.needed, error.available, error.parts) from error
    if made.before is None:
        size = count_request(planned.given, planned.engine.scale)
        made = replace(made, before=size.tokens, exact=size.exact)
    if not cuts:
        made = replace(made, room=room)
    if planned.policy == REFUSE and room is not None and (made.before or 0) > room.fits:
        raise too_long(planned, made.before or 0, room.fits)
    return written(planned, made)


def written(planned: Planned, made: FittedRequest) -> FittedBody:
    """Return what to send for a fitted request: the same bytes if nothing has changed."""
    parsed, room = planned.parsed, made.room
    same = not made.changed and made.answer is None
    found = FittedBody(
        parsed=parsed,
        planned=planned,
        body=parsed.body,
        policy=planned.policy,
        before=made.before,
        after=made.before if same else made.used,
        method=None if same and made.before is None else planned.method(made),
        over=max(0, (made.before or 0) - room.fits) if same and room is not None and planned.policy == WARN else 0,
        passed="window-unknown" if same and room is None else "",
        budget=None if room is None else room.fits if same else room.target,
        request=made,
    )
    if same:
        return found
    assert parsed.request is not None
    values, edits = parsed.values, 0
    if made.changed:
        values = parsed.request.with_messages(made.messages)
        edits = max(1, len(parsed.request.messages) - sum(place is not None for place in made.places))
    if made.answer is not None:
        values = changed(values, lowered_limits(values, made.answer))
    return replace(found, body=json.dumps(values).encode(), edits=edits, answer=made.answer)


def too_long(planned: Planned, needed: int, most: int, parts: Mapping[str, int] | None = None) -> HttpProblem:
    """Return the rejection of a request: over the window, over it with the answer, or over the configured budget.

    Args:
        planned: the request.
        needed: its tokens, after all that can be dropped.
        most: the tokens that fit.
        parts: the tokens of each part that must stay; without them the policy is to refuse the request uncut.
    """
    room, limit, answer = planned.room, most, None
    if room is not None and needed > most:
        most = limit = min(most, room.most)  # An estimate was allowed to take more than the budget.
        if needed > room.window:
            limit = room.window
        elif room.answer is not None and needed + room.answer > room.window:
            limit, answer = room.window, room.answer
    return overflow(planned.parsed.route, needed, limit, answer, _why(needed, most, answer, parts))


def _why(needed: int, most: int, answer: int | None, parts: Mapping[str, int] | None) -> str:
    """Return what brim refused, which parts are too long, and what to do."""
    head, fits = "brim refused this request and did not send it", f"and {most:,} fit"
    fits += "" if answer is None else f" besides the answer of {answer:,}"
    if parts is None:
        advice = "Send fewer messages, or use the policy fit, with which brim shortens the request."
        return f"{head}: it takes {needed:,} tokens, {fits} (policy refuse). {advice}"
    sized = sorted(parts.items(), key=lambda part: part[1], reverse=True)
    listed = ", ".join(f"{_NAMES.get(name, name)} {tokens:,}" for name, tokens in sized if tokens)
    what = (
        f"the parts that must stay take {needed:,} tokens after shortening ({listed})" if listed else "it is too long"
    )
    advice = _ADVICE.get(sized[0][0] if sized else "", "Shorten the largest part")
    advice += ", request a shorter answer" if answer is not None else ""
    return f"{head}: {what}, {fits}. {advice}, or use a model with a larger window."


def doubt(parsed: Parsed, planned: Planned, *, answer_counts: bool) -> str | None:
    """Return why a body may not fit unchanged; `None` if it certainly fits, or need not fit."""
    room = planned.room
    if room is None or planned.policy == WARN:
        return None
    most = parsed.most_tokens(planned.engine.scale)
    if most is None:
        return "; the tokens of its images and files are unknown"
    fits = room.fits
    if parsed.answer is not None and answer_counts:
        fits = min(fits, room.window - parsed.answer)
    return f"; it may have {most:,} tokens, and only {fits:,} fit" if most > fits else None


def with_usage(found: Overflow, usage: Any, asked: int | None) -> Overflow:
    """Return an overflow with numbers from the reported usage, if it states none.

    Some servers accept a prompt and stop in the middle of the answer because the window is full. The window is then the
    sum of prompt and answer. `asked` is the requested limit on the answer.
    """
    if found.limit is not None or not isinstance(usage, Mapping):
        return found
    call = usage_of(usage)
    if call is None or not call.input or call.output is None or call.passes != 1:
        return found
    limit = call.input + call.output
    reply = min(asked or limit, answer_room(limit))
    return replace(found, limit=limit, sent=call.input, reply=reply, accepted=True)


def learn_refusal(engine: Conversations, fitted: FittedBody, found: Overflow) -> int | None:
    """Learn from a rejection; return the window that it states, if that is new."""
    planned, request = fitted.planned, fitted.request
    if planned is None or request is None or fitted.after is None:
        return None
    scope = planned.engine.scope
    before = engine.windows.learned(scope)
    engine.refused(request, found)
    after = engine.windows.learned(scope)
    size = after.size if after is not None else None
    return None if before is not None and before.size == size else size


def smaller(engine: Conversations, refused: FittedBody, found: Overflow) -> FittedBody | None:
    """Return a smaller request after a rejection; `None` if nothing more can be dropped."""
    planned, request = refused.planned, refused.request
    if planned is None or request is None or not refused.shrinks:
        return None
    most = request.ceiling(found)
    again = plan(refused.parsed, planned.settings, engine, planned.given.owner)
    try:
        retried = replace(again.engine, most=most, retried=True, refused_in=request.conversation)
        return fit(replace(again, engine=retried), engine)
    except HttpProblem:
        return None


def usage_of(usage: Any) -> ReportedUsage | None:
    """Return the usage of an answer; `None` if it is missing or invalid."""
    try:
        return None if usage is None else reported(usage)
    except ValueError:
        return None
