"""One POST request, from its body to the end of its answer: parsed, planned, fitted, sent, answered, learned from."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from time import perf_counter
from typing import Any

from brim.errors import InvalidValue, SourceError
from brim.gateway.client.parsed import Parsed, parse, unread
from brim.gateway.fit import (
    FIT,
    PASS,
    FittedBody,
    Planned,
    doubt,
    fit,
    learn_refusal,
    passed,
    plan,
    rule_of,
    smaller,
    usage_of,
)
from brim.gateway.http.admitted import Admitted
from brim.gateway.http.connection import ClientConnection
from brim.gateway.http.problem import HttpProblem, ending
from brim.gateway.settings import GatewaySettings, RequestRule, root
from brim.gateway.state import GatewayState
from brim.gateway.upstream.answer import Answered, Sent, pass_back, read_start, send
from brim.gateway.upstream.client import VERSION, address, sent_headers
from brim.observe.uncaught import log_error
from brim.sessions.learning.windows import source
from brim.wire.overflow import Overflow

LOG = logging.getLogger("brim.gateway")
_LATER = {"retry-after": "1"}


class Exchange:
    """One request. Its steps are functions of values; its own state is the open connection to upstream."""

    def __init__(self, state: GatewayState, admitted: Admitted, route: str, client: ClientConnection) -> None:
        self._state = state
        self._settings: GatewaySettings = state.settings
        self._admitted = admitted
        self._route = route
        self._client = client
        self._owner = state.owner(admitted, route)
        self._sent: Sent | None = None
        self.label = ""
        """The name of its model that may be shown; empty until the body is parsed."""

    async def run(self, raw: bytes) -> str:
        """Answer the request in a body; return how it ended.

        Raises:
            HttpProblem: there is no answer, or it broke off after its head was sent, so that the connection must be
                closed.
        """
        parsed = await self.parsed(raw)
        self.label = parsed.label
        fitted = await self.fitted(parsed)
        overhead = perf_counter() - self._admitted.started
        self._state.activity.sent(fitted, overhead)
        ended = ""
        try:
            answered = await self._passed(await self._taken(fitted, overhead))
            sent = self._sent
            assert sent is not None
            ended = ending(sent.status)
            if sent.failed or answered.error:
                self._state.activity.upstream_error(
                    fitted, str(sent.status) if sent.failed else "error_event", answered.error
                )
            self._learn(sent, answered)
        except HttpProblem:
            if self._client.began:  # Otherwise the caller counts it as a refusal.
                ended = "broken"
                self._state.activity.upstream_error(fitted, ended)
            raise
        except asyncio.CancelledError:
            ended = "left"
            raise
        finally:
            if self._sent is not None:
                self._sent.answer.close()
        return ended

    async def parsed(self, raw: bytes) -> Parsed:
        """Return the request in a body; with the policy `pass`, even if the body cannot be read.

        Raises:
            HttpProblem: the body cannot be read.
        """
        try:
            return await self._state.work(parse, self._admitted, self._route, raw, self._state.secrets)
        except HttpProblem:
            parsed = unread(self._admitted, self._route, raw)
            if rule_of(parsed, self._settings).policy != PASS:
                raise
            return parsed

    async def fitted(self, parsed: Parsed) -> FittedBody:
        """Return what to send.

        Raises:
            HttpProblem: the request is refused.
        """
        rule = rule_of(parsed, self._settings)
        policy = rule.policy or FIT
        if policy == PASS:
            return passed(parsed, PASS, "policy")
        if parsed.partial:  # The messages that the provider stores cannot be counted.
            return passed(parsed, policy, "partial")
        try:
            await self._ask_windows(parsed, rule)
            await self._state.learned((parsed.model, self._owner))
            if parsed.request is None:
                raise SourceError("the body", parsed.problem)
            return await self._state.work(lambda: fit(self._planned(parsed), self._state.conversations))
        except HttpProblem:
            raise
        except (InvalidValue, SourceError) as error:  # It may be a new feature of the provider.
            refusal = HttpProblem(400, error.problem if isinstance(error, SourceError) else str(error))
            return await self._faulty(parsed, policy, "unreadable", error, refusal)
        except Exception as error:  # An error of brim must not look like an answer of the provider.
            log_error(self._admitted.id, error, LOG)
            refusal = HttpProblem(503, "the gateway could not fit this request; it was not sent", headers=_LATER)
            return await self._faulty(parsed, policy, "fault", error, refusal)

    async def _faulty(
        self, parsed: Parsed, policy: str, why: str, error: Exception, refusal: HttpProblem
    ) -> FittedBody:
        """Return the unchanged request, which brim could not read or fit, if it certainly fits.

        Raises:
            HttpProblem: it may not fit.
        """
        try:
            unsure = await self._state.work(self._doubt, parsed)
        except Exception:  # The counting itself may have failed.
            unsure = "; its tokens could not be counted"
        became = "pass" if unsure is None else "refuse"
        self._state.activity.fault(self._admitted, self._route, error, kind=why, became=became, model=parsed.label)
        if unsure is not None:
            raise replace(refusal, message=refusal.message + unsure) from error
        return passed(parsed, policy, why)

    def _doubt(self, parsed: Parsed) -> str | None:
        planned = self._planned(parsed)
        counts = self._state.conversations.windows.answer_counts(planned.engine.scope) is not False
        return doubt(parsed, planned, answer_counts=counts)

    def _planned(self, parsed: Parsed) -> Planned:
        return plan(parsed, self._settings, self._state.conversations, self._owner)

    async def _ask_windows(self, parsed: Parsed, rule: RequestRule) -> None:
        """Ask the server for the windows of its models, unless the window is set or the server was asked recently."""
        base, windows = self._settings.base(parsed.route), self._state.conversations.windows
        # With the gateway's own key the answer does not depend on the client, so it is shared.
        shared = self._settings.key(parsed.route) is not None
        asker = source(base, () if shared else self._owner)
        if (rule.window is not None and not self._settings.window_yields) or windows.asked(asker):
            return
        headers = sent_headers([VERSION] if shared else self._admitted.forwarded, self._settings, parsed.route)
        kept = [(name, value) for name, value in headers if not name.startswith("content-")]

        async def fetch(path: str) -> Any:
            url = root(base) + path if path.startswith("/") else address(base, f"/v1/{path}")
            try:
                status, said = await self._state.upstream.get_json(url, kept)
            except HttpProblem:
                return None
            return said if status == 200 else None

        await windows.ask(asker, fetch)

    async def _taken(self, fitted: FittedBody, overhead: float) -> Sent:
        """Send a request, and a smaller one if it is rejected as too long.

        Raises:
            HttpProblem: there is no answer, or it broke off.
        """
        sent = await self._send(fitted, overhead, retried=False)
        if sent.refusal is None:
            return sent
        await self._learn_refusal(fitted, sent.refusal)
        again = await self._state.work(smaller, self._state.conversations, fitted, sent.refusal)
        self._state.activity.overflow(fitted, sent.refusal, again)
        if again is None:
            return sent
        sent = await self._send(again, overhead, retried=True)
        if sent.refusal is not None:
            await self._learn_refusal(again, sent.refusal)
            self._state.activity.overflow(again, sent.refusal, None)
        return sent

    async def _send(self, fitted: FittedBody, overhead: float, *, retried: bool) -> Sent:
        if self._sent is not None:
            self._sent.answer.close()
        self._sent = await send(self._state.upstream, fitted, self._settings, overhead=overhead, retried=retried)
        first, refusal = await read_start(self._sent)
        self._sent = replace(self._sent, first=first, refusal=refusal)
        return self._sent

    async def _passed(self, sent: Sent) -> Answered:
        """Pass an answer back.

        Raises:
            HttpProblem: upstream broke off.
        """
        streams = self._state.metrics.streams
        open_ = int(sent.is_stream or sent.is_unread)
        streams.inc(open_)
        try:
            return await pass_back(sent, self._client)
        finally:
            streams.dec(open_)

    def _learn(self, sent: Sent, answered: Answered) -> None:
        """Learn from an answer that was passed back."""
        fitted = sent.fitted
        usage, about = usage_of(answered.usage), (fitted.parsed.model, self._owner)
        if usage is not None:
            self._state.metrics.used(fitted, usage)
            if fitted.request is not None:
                self._state.later(about, self._state.work(fitted.request.answered, answered.usage))
        if answered.stopped is not None:  # It is too late for a retry; the next request is smaller.
            self._state.activity.overflow(fitted, answered.stopped, None)
            self._state.later(about, self._learn_refusal(fitted, answered.stopped))

    async def _learn_refusal(self, fitted: FittedBody, found: Overflow) -> None:
        size = await self._state.work(learn_refusal, self._state.conversations, fitted, found)
        room = fitted.planned.room if fitted.planned is not None else None
        before = room.window if room is not None else None
        if size is not None and size != before:
            self._state.activity.learned(fitted, size, before)
