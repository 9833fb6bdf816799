"""A request in, what is to be sent out: the same bytes where it fits, and else as much of it as does."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from brim.errors import DoesNotFit
from brim.gateway import problems, recall
from brim.gateway.ask import ClientRequest
from brim.gateway.meters import Meters
from brim.gateway.policy import FIT, REFUSE, RequestRule
from brim.gateway.talks import HeldConversation
from brim.gateway.windows import Room
from brim.meter import Scale
from brim.meter.calibrated import Calibrated
from brim.sessions.calibrating import SentPrompt
from brim.sessions.view import View
from brim.wire import wire


@dataclass(frozen=True, kw_only=True, slots=True)
class FitPlan:
    """What holds for one request."""

    rule: RequestRule
    policy: str
    scale: Scale
    room: Room | None
    """What it may take; `None` where nobody knows."""
    pin: tuple[int, ...] = ()
    """Indexes of messages that the client wants to stay whole."""

    @property
    def method(self) -> str:
        """How it is counted, as long as nothing in it makes an estimate of it."""
        if self.scale.exact:
            return "exact"
        return "calibrated" if isinstance(self.scale, Calibrated) and self.scale.calibration.calls else "estimate"


@dataclass(frozen=True, kw_only=True, slots=True)
class FitOutcome:
    """What is sent, and what was done to it."""

    body: bytes = field(repr=False)
    policy: str
    before: int | None = None
    """Units of the request as it came; `None` where nobody counted."""
    after: int | None = None
    """Units of what is sent."""
    method: str | None = None
    edits: int = 0
    """Messages that are not sent as they came."""
    over: int = 0
    """Units by which the request as it is sent is over its budget; not 0 only where nothing may be changed."""
    passed: str = ""
    """Why it is passed on without a look, where it is."""
    recalls: bool = False
    """Whether the model was offered to recall what left."""
    budget: int | None = None
    sent: SentPrompt | None = field(default=None, repr=False)
    """What is needed to learn from the usage that the answer reports."""

    @property
    def changed(self) -> bool:
        """Whether something else is sent than what came."""
        return bool(self.edits)


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestSize:
    """What a request counts as it came."""

    units: int
    exact: bool


def weigh(ask: ClientRequest, scale: Scale, meters: Meters) -> RequestSize:
    """Count a request as it stands, each message once, whether or not it is one of a conversation.

    Raises:
        InvalidValue: a message or a tool that cannot be read.
    """
    request, format = ask.request, wire(ask.format)
    assert request is not None
    chat = meters.chat(scale, format.provider)
    units, instructed, frame, count = chat.framing.reply, False, chat.frame, chat.text
    for i, raw in enumerate(request.messages):
        if type(raw) is dict and len(raw) == 2 and _is_plain(raw):
            units += frame(raw["role"]) + count(raw["content"])  # The same, without the objects.
            continue
        message = format.read(raw, i)
        units += chat.units(message)
        instructed = instructed or message.role == "system"
    if apart := _apart(ask):
        units += chat.units(wire("anthropic").read({"role": "system", "content": apart}, 0))
        instructed = True
    offered, exact = meters.offered(scale, chat, request.tools, system=instructed)
    units += offered
    return RequestSize(units=units, exact=exact and scale.exact and not chat.estimated)


def _is_plain(raw: dict[str, Any]) -> bool:
    """Return whether a message of two fields is a text of the user's or the model's, as all shapes write it."""
    return type(raw.get("content")) is str and raw.get("role") in ("user", "assistant")


def weigh_view(ask: ClientRequest, view: View, meters: Meters) -> RequestSize:
    """Count a request that is one of a conversation, whose earlier messages are counted already.

    Raises:
        InvalidValue: a tool that cannot be read.
    """
    request, book = ask.request, view.history.book
    assert request is not None
    beside, _ = view.history.beside(None, _apart(ask))
    instructed = bool(beside["system"] or book.system)
    offered, exact = meters.offered(book.meter, book.chat, request.tools, system=instructed)
    sure = exact and book.meter.exact and not book.chat.estimated
    return RequestSize(units=view.units + sum(beside.values()) + offered, exact=sure)


def whole(ask: ClientRequest, plan: FitPlan, weight: RequestSize) -> FitOutcome | None:
    """Return what is sent where the request stays as it is; nothing where it has to be cut.

    Raises:
        Problem: it is too long, and is to be refused then.
    """
    room = plan.room
    units, request = weight.units, ask.request
    over = max(0, units - room.fits) if room is not None else 0
    if over and plan.policy == FIT:
        return None
    if over and plan.policy == REFUSE and room is not None:
        raise problems.overflow(ask.route, units, min(room.window, units - 1))
    method = plan.method if weight.exact or plan.method != "exact" else "estimate"
    assert request is not None
    return FitOutcome(
        body=ask.raw,
        policy=plan.policy,
        before=units,
        after=units,
        method=method,
        over=over,
        passed="" if room is not None else "window-unknown",
        budget=room.fits if room is not None else None,
        sent=SentPrompt(request.messages, request.tools, _apart(ask), ask.format, units),
    )


def cut(
    ask: ClientRequest, plan: FitPlan, weight: RequestSize, view: View, talk: HeldConversation, *, target: int
) -> FitOutcome:
    """Return the request with as much of its messages as counts at most `target`.

    Raises:
        Problem: what has to stay is too long, or the body can be read in two ways.
    """
    request = ask.request
    assert request is not None
    offers = bool(plan.rule.recall)
    tools = [*(request.tools or ()), recall.tool(ask.format)] if offers else request.tools
    try:
        fitted = view.fit(target, tools=tools, system=_apart(ask), capture=False, query=None, pin=plan.pin)
    except DoesNotFit as error:
        window = plan.room.window if plan.room is not None else target
        raise problems.overflow(ask.route, max(error.needed, weight.units), window) from error
    text = replace(ask.strict, messages=view.messages).written(fitted.messages)
    if offers:
        text = recall.offered(text, ask.format)
        talk.recalls = True
        talk.shelve(view.left_out(fitted.messages))
    came = {id(raw) for raw in view.messages}
    kept = sum(id(raw) in came for raw in fitted.messages)
    method = plan.method if weight.exact or plan.method != "exact" else "estimate"
    return FitOutcome(
        body=text.encode(),
        policy=plan.policy,
        before=weight.units,
        after=fitted.used,
        method=method,
        edits=max(1, len(view.messages) - kept),
        recalls=offers,
        budget=target,
        sent=SentPrompt(fitted.messages, tools, _apart(ask), ask.format, fitted.used),
    )


def _apart(ask: ClientRequest) -> Any:
    """Return the system prompt that is sent apart from the messages."""
    return ask.request.system if ask.request is not None and ask.format != "openai" else None
