"""What becomes of one request: which rule holds, which conversation it is of, and what is sent of it."""

from __future__ import annotations

import asyncio
import logging
import traceback
from dataclasses import dataclass, replace
from typing import Any

from brim.errors import InvalidValue
from brim.gateway import fitting, identity
from brim.gateway.ask import ClientRequest
from brim.gateway.fitting import FitOutcome, FitPlan
from brim.gateway.guard import Incoming
from brim.gateway.policy import FIT, PASS, RequestRule, ruled
from brim.gateway.problems import Problem
from brim.gateway.settings import GatewaySettings
from brim.gateway.state import GatewayState
from brim.gateway.talks import HeldConversation
from brim.gateway.upstream import address, root, sent_headers
from brim.gateway.windows import Room
from brim.settings.rules import POLICIES
from brim.wire.overflow import Overflow

LOG = logging.getLogger("brim.gateway")
INLINE = 16_384
"""Bytes of a body that is counted where it came, since handing it to a thread would cost more."""
_MESSAGES = 40
"""Messages up to which that is so."""


@dataclass(kw_only=True, slots=True)
class Deciding:
    """One request at work."""

    state: GatewayState
    settings: GatewaySettings
    incoming: Incoming
    ask: ClientRequest
    rule: RequestRule | None = None
    plan: FitPlan | None = None
    talk: HeldConversation | None = None

    async def outcome(self) -> FitOutcome:
        """Return what is sent.

        Raises:
            Problem: the request is refused.
        """
        try:
            return await self._outcome()
        except Problem:
            raise
        except InvalidValue as error:
            # Something new in a message, perhaps; the provider knows better than we do.
            return self._fault("unreadable", error, Problem(400, str(error)))
        except Exception as error:  # A fault of ours must not be taken for an answer of the provider's.
            where = traceback.extract_tb(error.__traceback__)[-1]
            # Only the kind and the place: what an error says may hold what a prompt says.
            LOG.error("%s: %s at %s:%d", self.incoming.id, type(error).__name__, where.name, where.lineno)  # noqa: TRY400
            problem = Problem(503, "the gateway could not fit this request; it was not sent", headers=_LATER)
            return self._fault("fault", error, problem)

    def _fault(self, why: str, error: Exception, problem: Problem) -> FitOutcome:
        chosen = self.settings.on_fault
        self.state.tally.faults.add(kind=why, became=chosen)
        if chosen == "refuse":
            raise problem from error
        policy = self.plan.policy if self.plan is not None else FIT
        return FitOutcome(body=self.ask.raw, policy=policy, passed=why)

    async def _outcome(self) -> FitOutcome:
        ask = self.ask
        policy = self._policy()
        if policy == PASS:
            return FitOutcome(body=ask.raw, policy=PASS, passed="policy")
        if ask.request is None:
            return self._fault("unreadable", ValueError(ask.problem), Problem(400, ask.problem))
        if ask.partial:  # What is with the provider cannot be counted, nor can a call there be told from none.
            return FitOutcome(body=ask.raw, policy=policy, passed="partial")
        await self._probe()
        small = len(ask.raw) <= INLINE and len(ask.request.messages) <= _MESSAGES and self.state.store is None
        ready = small and self.state.meters.ready(ask.model, self._rule().meter)
        self.plan = plan = self._plan(policy) if ready else await self.state.work(self._plan, policy)
        if small:
            found = fitting.whole(ask, plan, fitting.weigh(ask, plan.scale, self.state.meters))
            if found is not None:
                return found
        return await self._in_talk()

    def _policy(self) -> str:
        rule = self._rule()
        asked = self.incoming.header("x-brim-policy")
        if asked is None or not self.settings.client_policy:
            return rule.policy or FIT
        if asked not in POLICIES:
            raise Problem(400, f"x-brim-policy must be one of {', '.join(POLICIES)}")
        return asked

    def _rule(self) -> RequestRule:
        if self.rule is None:
            settings, ask = self.settings, self.ask
            self.rule = ruled(settings.rules, ask.model, self.incoming.key, ask.route, settings.usual)
        return self.rule

    def _plan(self, policy: str) -> FitPlan:
        """Return what holds: the meter, and what the request may take."""
        rule, model = self._rule(), self.ask.model
        scale = self.state.meters.scale(model, rule.meter)
        room = self.state.windows.room(self.settings, rule, model, self.ask.answer, exact=scale.exact)
        asked = self.incoming.header("x-brim-budget")
        if asked is not None:
            if not asked.isascii() or not asked.isdigit() or not 0 < len(asked) <= 12 or int(asked) < 1:
                raise Problem(400, "x-brim-budget must be a whole number of at least 1")
            room = _lessened(room, int(asked))
        return FitPlan(rule=rule, policy=policy, scale=scale, room=room, pin=self._pinned())

    def _pinned(self) -> tuple[int, ...]:
        """Return the indexes of the messages that the client wants to stay whole."""
        asked, request = self.incoming.header("x-brim-pin"), self.ask.request
        if asked is None or request is None:
            return ()
        parts = [part.strip() for part in asked.split(",")]
        count = len(request.messages)
        if not all(part.isascii() and part.isdigit() and len(part) <= 9 and int(part) < count for part in parts):
            told = f"x-brim-pin must be indexes of messages, 0 to {count - 1}, with commas between them"
            raise Problem(400, told)
        return tuple(sorted({int(part) for part in parts}))

    async def _probe(self) -> None:
        """Ask the server how much its models hold, if nobody has said so and it was not asked lately."""
        base, windows = self.settings.base(self.ask.route), self.state.windows
        if self._rule().window is not None or windows.asked(base):
            return
        headers = sent_headers(self.incoming.headers, self.settings, self.ask.route)
        kept = [(name, value) for name, value in headers if not name.startswith("content-")]

        async def fetch(path: str) -> Any:
            url = root(base) + path if path.startswith("/") else address(base, f"/v1/{path}")
            return await self.state.upstream.json(url, kept)

        await windows.ask(base, fetch)

    async def _in_talk(self, target: int | None = None) -> FitOutcome:
        """Return what is sent, as the next prompt of its conversation."""
        ask, incoming, talks = self.ask, self.incoming, self.state.talks
        client = f"{incoming.key}.{ask.route}"
        name = identity.named(incoming.header(identity.HEADER), ask.values, client, incoming.shown)
        mark = ""
        if self.talk is None and name is None and ask.request is not None:
            beside = (incoming.key, ask.route, ask.model)
            marks = await self.state.work(identity.digests, ask.request.messages, beside)
            name = talks.begun(marks) or await self.state.work(talks.stored, marks)
            mark = marks[-1] if marks else ""
            name = name or f"auto.{mark}"
        self.talk = talk = self.talk if self.talk is not None else talks.get(name or "auto")
        async with talk.lock:
            # A client that leaves does not end a thread; the next of the conversation waits until it has.
            job = asyncio.ensure_future(self.state.work(self._fitted, talk, target))
            try:
                made = await asyncio.shield(job)
            except asyncio.CancelledError:
                await asyncio.wait({job})
                raise
        before = talk.mark
        talks.moved(talk, mark, len(ask.raw))
        if mark and made.changed:
            await self.state.work(talks.noted, talk, before, mark)
        return made

    def _fitted(self, talk: HeldConversation, target: int | None) -> FitOutcome:
        plan, ask = self.plan, self.ask
        assert plan is not None
        assert ask.request is not None
        view = talk.show(ask.request.messages, plan.scale, ask.format, stable=self.settings.stable)
        weight = fitting.weigh_view(ask, view, self.state.meters)
        if target is None:
            found = fitting.whole(ask, plan, weight)
            if found is not None:
                return found
        most = plan.room.target if plan.room is not None else weight.units
        made = fitting.cut(ask, plan, weight, view, talk, target=most if target is None else min(most, target))
        told = {
            "used": made.after,
            "budget": made.budget,
            "unit": plan.scale.unit,
            "exact": made.method == "exact",
            "messages": len(made.sent.messages) if made.sent is not None else 0,
            "truncated": True,
            "model": ask.model,
            "before": made.before,
        }
        talk.keep(plan.scale, told)
        return made

    async def smaller(self, overflow: Overflow, last: FitOutcome) -> FitOutcome | None:
        """Learn from a refusal, and return a smaller request; nothing where there is none.

        Raises:
            Problem: what has to stay is too long.
        """
        factor = await self.learned(overflow, last)
        if factor is None or self.plan is None or self.plan.policy != FIT:
            return None
        self.plan = await self.state.work(self._plan, self.plan.policy)
        return await self._in_talk(max(1, int((last.after or 0) * factor)))

    async def learned(self, overflow: Overflow, last: FitOutcome) -> float | None:
        """Learn from a refusal how much the model holds and how it counts; return by what a request has to shrink."""
        plan, model = self.plan, self.ask.model
        if plan is None or last.after is None:
            return None
        state, given = self.state, plan.rule.meter
        counts = await state.work(state.meters.learns, model, given)
        window = plan.room.window if plan.room is not None else None
        if counts and overflow.sent and last.sent is not None:
            await state.work(state.meters.learn, model, given, last.sent, overflow.sent)
        return await state.work(
            lambda: state.windows.learn(model, overflow, last.after or 0, window, counts=counts and bool(overflow.sent))
        )


def _lessened(room: Room | None, most: int) -> Room:
    """Return what a request may take where its client asks for less."""
    if room is None:
        return Room(window=most, fits=most, target=most, source="asked")
    return replace(room, fits=min(room.fits, most), target=min(room.target, most))


_LATER = {"retry-after": "1"}
