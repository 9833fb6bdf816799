"""What becomes of one request: which rule and policy apply, which conversation it continues, and what is sent."""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from brim.errors import DoesNotFit, InvalidValue
from brim.gateway import added_sections, identity, outcome, recall_offer
from brim.gateway.added_sections import AddedSections
from brim.gateway.body import fetch_json
from brim.gateway.client_request import ClientRequest
from brim.gateway.guard import IncomingRequest
from brim.gateway.held_sections import HeldChoice
from brim.gateway.outcome import FitOutcome, GatewayPlan
from brim.gateway.policy import FIT, PASS, WARN, RequestRule, ruled
from brim.gateway.problem import HttpProblem
from brim.gateway.settings import GatewaySettings, root
from brim.gateway.state import GatewayState
from brim.gateway.upstream import address, sent_headers
from brim.history.stable import Stable
from brim.meter import BaseMeter
from brim.observe.uncaught import log_error
from brim.sessions.conversations.request import FittedRequest
from brim.sessions.conversations.request_plan import RequestPlan
from brim.sessions.learning.meters import RequestSize
from brim.sessions.learning.request_input import RequestInput
from brim.sessions.learning.scope import LearningScope
from brim.sessions.learning.windows import Room, WindowLimits
from brim.settings.spec import Spec
from brim.settings.values import POLICIES
from brim.wire.overflow import Overflow

LOG = logging.getLogger("brim.gateway")
INLINE = 16_384
"""Bytes of a body that is counted on the event loop, since handing it to a thread would cost more."""
_MESSAGES = 40
"""Messages up to which that is so."""
_TRIES = 3
"""How often sections are chosen for less, if the messages do not fit beside them."""
_LATER = {"retry-after": "1"}


@dataclass(kw_only=True, slots=True)
class Decision:
    """One request at work."""

    state: GatewayState
    settings: GatewaySettings
    incoming: IncomingRequest
    ask: ClientRequest
    rule: RequestRule | None = None
    plan: GatewayPlan | None = None
    owner: tuple[str, ...] = ()
    """Whose request it is; what it teaches holds for no other."""
    added: AddedSections | None = None
    """The sections that the rule adds, as they are sent; `None` if it adds none."""
    _input: RequestInput | None = None

    @property
    def passes(self) -> bool:
        """Whether the request is passed on without a look."""
        return self._policy() == PASS

    async def outcome(self) -> FitOutcome:
        """Return what is sent.

        Raises:
            HttpProblem: the request is refused.
        """
        try:
            return await self._outcome()
        except HttpProblem:
            raise
        except InvalidValue as error:
            # Something new in a message, perhaps; the provider knows better than we do.
            return await self._fault("unreadable", error, HttpProblem(400, str(error)))
        except Exception as error:  # A fault of ours must not be taken for an answer of the provider.
            log_error(self.incoming.id, error, LOG)
            refusal = HttpProblem(503, "the gateway could not fit this request; it was not sent", headers=_LATER)
            return await self._fault("fault", error, refusal)

    async def _fault(self, why: str, error: Exception, refusal: HttpProblem) -> FitOutcome:
        """Return a request that brim could not fit or read as it came, if it is certain to fit.

        Raises:
            HttpProblem: it is not, or the settings refuse such requests.
        """
        doubt: str | None = ""
        if self.settings.on_fault == "pass":
            try:
                doubt = await self.state.work(self._doubt)
            except Exception:  # What counts the body may be what failed.
                doubt = "; its tokens could not be counted"
        self.state.activity.fault(self.incoming, self.ask.route, why, "pass" if doubt is None else "refuse", error)
        if doubt is not None:
            raise replace(refusal, message=refusal.message + doubt) from error
        return FitOutcome(body=self.ask.raw, policy=self._policy(), passed=why)

    def _doubt(self) -> str | None:
        """Return why it is not certain that the body fits, with numbers; `None` if it is, or nothing is promised."""
        policy = self._policy()
        plan = self.plan or self._plan(policy)
        room = plan.engine.room
        if room is None or policy == WARN:
            return None
        most = self.ask.most_tokens(plan.scale)
        if most is None:
            return "; the tokens of its images and files are unknown"
        fits = room.fits
        counts = self.state.conversations.windows.answer_counts(plan.engine.scope)
        if self.ask.answer is not None and counts is not False:
            fits = min(fits, room.window - self.ask.answer)
        if most > fits:
            return f"; its body may take {most:,} tokens, and {fits:,} fit"
        return None

    async def _outcome(self) -> FitOutcome:
        ask = self.ask
        policy = self._policy()
        if policy == PASS:
            return FitOutcome(body=ask.raw, policy=PASS, passed="policy")
        if ask.partial:  # What the provider stores cannot be counted, and a call there cannot be found.
            return FitOutcome(body=ask.raw, policy=policy, passed="partial")
        await self._probe()
        await self.state.learned(ask.model)
        self.owner = await self._tagged()
        if ask.request is None:
            return await self._fault("unreadable", ValueError(ask.problem), HttpProblem(400, ask.problem))
        engine, given = self.state.conversations, self.input()
        small = len(ask.raw) <= INLINE and len(given.messages) <= _MESSAGES and not self.state.keeps
        scope = LearningScope(ask.model, given.owner, self.settings.base(ask.route))
        ready = not self.state.keeps and engine.meters.ready(scope, self._rule().meter)
        self.plan = plan = self._plan(policy) if ready else await self.state.work(self._plan, policy)
        if self._spec is not None:
            await self.state.work(self._add_whole)
        if small or policy != FIT or plan.engine.room is None:
            size, made = self._size(small=small) if small else await self.state.work(self._size)
            found = outcome.whole(ask, plan, self.input(), size, made)
            if found is not None:
                return self._with_sections(found)
        return await self.state.work(self._fitted)

    def input(self) -> RequestInput:
        """Return the request as the engine takes it."""
        if self._input is None:
            ask, incoming = self.ask, self.incoming
            recall = bool(self._rule().recall) and recall_offer.is_offered(
                ask.route, incoming.path, incoming.query, ask.values
            )
            self._input = replace(ask.input(pin=self._pinned(), recall=recall), owner=self.owner)
        return self._input

    async def _tagged(self) -> tuple[str, ...]:
        """Return whose request it is: the name of its key here, the route, and a tag of any other keys that it sends.

        The first tag of a client takes long, so it is made in a thread.
        """
        owners, incoming = self.state.owners, self.incoming
        tag = owners.known(incoming.credentials)
        if tag is None:
            tag = await self.state.work(owners.tag, incoming.credentials)
        return (incoming.key, self.ask.route, tag) if tag else (incoming.key, self.ask.route)

    @property
    def _spec(self) -> Spec | None:
        """The sections that the rule adds."""
        named = self._rule().sections
        return None if named is None or not self.input().messages else self.settings.sections[named]

    def _add(self, added: AddedSections) -> None:
        """Count some sections as a part of the request."""
        self.added = added
        self._input = replace(self.input(), extra=added.tokens, parts=added.parts)

    def _count(self, given: RequestInput) -> int:
        assert self.plan is not None
        return self.state.conversations.count(given, self.plan.engine).tokens

    def _add_whole(self) -> None:
        assert self._spec is not None
        self._add(added_sections.whole(self._spec, self.input(), self._count))

    def _with_sections(self, found: FitOutcome) -> FitOutcome:
        """Return what is sent with the sections in its system prompt.

        Raises:
            HttpProblem: the body can be read in two ways.
        """
        if self.added is None or not self.added.text:
            return found
        text = added_sections.inserted(found.body.decode(), self.ask.format, self.added.text)
        return replace(found, body=text.encode())

    def _joint(self, plan: GatewayPlan, most: int | None) -> FittedRequest:
        """Return the request with the sections that share its budget.

        Raises:
            DoesNotFit: what has to stay is too long.
        """
        room, held = plan.engine.room, self.state.sections
        self._add_whole()
        size, last = self._size()
        if room is None or (most is None and size.tokens <= room.fits):
            return self._continued(plan.engine, most)
        name, own = last.conversation if last is not None else "", size.tokens - self.input().extra
        target = room.target if most is None else min(room.target, most)
        added = held.get(name, own, target, room.fits) if most is None and self.settings.stable else None
        if added is not None:
            added = added_sections.recounted(added, self.input(), self._count)
        for _ in range(_TRIES):
            self._add(added or self._shared(target, plan.scale))
            try:
                made = self._continued(plan.engine, most)
            except DoesNotFit as error:  # What was reported for the last prompt may leave less than was counted.
                added, target = None, target - max(1, error.needed - error.available)
                continue
            held.put(name, HeldChoice(self.added, own, made.used or 0, target))
            return made
        return self._continued(plan.engine, most)

    def _shared(self, target: int, scale: BaseMeter) -> AddedSections:
        """Return the sections for a budget: in stable mode for less of it, so that the next prompts only append.

        Raises:
            DoesNotFit: what has to stay is too long.
        """
        spec, given = self._spec, self.input()
        assert spec is not None
        if self.settings.stable:
            with suppress(DoesNotFit):
                return added_sections.shared(spec, given, int(target * Stable().low), scale, self._count)
        return added_sections.shared(spec, given, target, scale, self._count)

    def _policy(self) -> str:
        rule = self._rule()
        asked = self.incoming.header("x-brim-policy")
        if asked is None or not self.settings.client_policy:
            return rule.policy or FIT
        if asked not in POLICIES:
            raise HttpProblem(400, f"x-brim-policy must be one of {', '.join(POLICIES)}")
        return asked

    def _rule(self) -> RequestRule:
        if self.rule is None:
            settings, ask = self.settings, self.ask
            self.rule = ruled(settings.rules, ask.model, self.incoming.key, ask.route, settings.default)
        return self.rule

    def _plan(self, policy: str) -> GatewayPlan:
        """Return how the request is counted, and how many tokens it may take."""
        rule, settings = self._rule(), self.settings
        limits = WindowLimits(
            size=rule.window,
            reserve=settings.reserve,
            cap=settings.cap,
            limit=settings.limit,
            margin=settings.margin,
            lower_answer=settings.lower_answer,
        )
        server = settings.base(self.ask.route)
        engine = self.state.conversations.plan(self.input(), limits, rule.meter, server)
        asked = self.incoming.header("x-brim-budget")
        if asked is not None:
            if not asked.isascii() or not asked.isdigit() or not 0 < len(asked) <= 12 or int(asked) < 1:
                raise HttpProblem(400, "x-brim-budget must be a whole number of at least 1")
            most = int(asked)
            room = Room.of(most) if engine.room is None else engine.room.at_most(most)
            engine = replace(engine, room=room)
        return GatewayPlan(rule=rule, policy=policy, engine=engine)

    def _pinned(self) -> tuple[int, ...]:
        """Return the indexes of the messages that the client wants to stay whole."""
        asked, request = self.incoming.header("x-brim-pin"), self.ask.request
        if asked is None or request is None:
            return ()
        parts = [part.strip() for part in asked.split(",")]
        count = len(request.messages)
        if not all(part.isascii() and part.isdigit() and len(part) <= 9 and int(part) < count for part in parts):
            raise HttpProblem(400, f"x-brim-pin must be indexes of messages, 0 to {count - 1}, separated by commas")
        return tuple(sorted({int(part) for part in parts}))

    async def _probe(self) -> None:
        """Ask the server for the windows of its models, unless the window is set or it was asked lately."""
        base, windows = self.settings.base(self.ask.route), self.state.conversations.windows
        if self._rule().window is not None or windows.asked(base):
            return
        headers = sent_headers(self.incoming.forwarded, self.settings, self.ask.route)
        kept = [(name, value) for name, value in headers if not name.startswith("content-")]

        async def fetch(path: str) -> Any:
            url = root(base) + path if path.startswith("/") else address(base, f"/v1/{path}")
            try:
                status, said = await fetch_json(self.state.upstream, url, kept)
            except HttpProblem:
                return None
            return said if status == 200 else None

        await windows.ask(base, fetch)

    def _fitted(self, most: int | None = None) -> FitOutcome:
        """Return what is sent, as the next prompt of its conversation.

        Raises:
            HttpProblem: what has to stay is too long.
        """
        ask, plan = self.ask, self.plan
        assert plan is not None
        try:
            made = self._continued(plan.engine, most) if self.added is None else self._joint(plan, most)
        except DoesNotFit as error:
            raise outcome.too_long(ask, plan, error.needed, error.available) from error
        return self._with_sections(outcome.written(ask, plan, made))

    def _size(self, *, small: bool = False) -> tuple[RequestSize, FittedRequest | None]:
        """Return the tokens of the request as it came, and the request as the next one of its conversation.

        A small one is counted without its conversation: that costs less, and the difference is small too.
        """
        assert self.plan is not None
        plan = self.plan.engine
        made = None if small else self._continued(replace(plan, room=None))
        if made is None or made.before is None:
            size = self.state.conversations.count(self.input(), plan)
            return size._replace(tokens=size.tokens + self.input().extra), None
        return RequestSize(made.before, made.exact), made

    def _continued(self, plan: RequestPlan, most: int | None = None) -> FittedRequest:
        """Return the request as the next one of its conversation.

        Raises:
            DoesNotFit: what has to stay is too long.
        """
        ask, incoming = self.ask, self.incoming
        name = identity.named(incoming.header(identity.HEADER), ask.values, ".".join(self.owner), incoming.shown)
        given = replace(self.input(), size=ask.size)
        return self.state.conversations.fit(given, plan, name=name, most=most)

    def shrinks(self, last: FitOutcome) -> bool:
        """Return whether a smaller request may be sent if this one is refused as too long."""
        return self.plan is not None and last.after is not None and self.plan.policy == FIT

    async def smaller(self, overflow: Overflow, last: FitOutcome) -> FitOutcome | None:
        """Learn from a refusal, and return a smaller request; `None` if there is none.

        Raises:
            HttpProblem: what has to stay is too long.
        """
        await self.learned(overflow, last)
        if self.plan is None or last.request is None or not self.shrinks(last):
            return None
        most = self.plan.engine.ceiling(last.request, overflow)
        self.plan = await self.state.work(self._plan, self.plan.policy)
        return await self.state.work(self._fitted, most)

    async def learned(self, overflow: Overflow, last: FitOutcome) -> None:
        """Learn from a refusal how many tokens the model takes, and how it counts."""
        if self.plan is not None and last.request is not None and last.after is not None:
            size = await self.state.work(self._learn, last.request, overflow, self.plan.engine)
            if size is not None:
                room = self.plan.engine.room
                before = room.window if room is not None else None
                self.state.activity.learned(self.incoming, self.ask.route, size, before, "refusal")

    def _learn(self, request: FittedRequest, overflow: Overflow, plan: RequestPlan) -> int | None:
        """Learn from a refusal, and return the window that it states, if that is new."""
        engine = self.state.conversations
        before = engine.windows.learned(plan.scope)
        engine.refused(request, overflow, plan)
        after = engine.windows.learned(plan.scope)
        size = after.size if after is not None else None
        return None if before is not None and before.size == size else size
