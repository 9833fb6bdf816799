"""One request from its body to the end of its answer."""

from __future__ import annotations

import json
from dataclasses import replace
from time import perf_counter
from typing import Any

import aiohttp

from brim.gateway import ask as asking
from brim.gateway import recall, relay
from brim.gateway.deciding import INLINE, LOG, Deciding
from brim.gateway.fitting import Outcome
from brim.gateway.guard import Incoming, Send
from brim.gateway.known import label
from brim.gateway.problems import Problem
from brim.gateway.settings import Settings, secret
from brim.gateway.state import State
from brim.gateway.upstream import Headers, address, plain, returned_headers, sent_headers, told
from brim.overflow import is_overflow
from brim.session.usage import reported
from brim.session.view import View

PATHS = {"chat": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages"}
"""Where requests of each route go."""
_REFUSALS = (400, 413, 422, 500)
"""Statuses with which servers refuse a prompt that is too long."""
_MOST_ANSWER = 16 * 1024 * 1024
"""Bytes of an answer that is looked at before it is passed on; a longer one is passed on as it comes."""
_SIGHTED = 8 * 1024 * 1024
"""Bytes of a stream that is held back because the model may recall something."""


class Exchange:
    """One request of a route whose requests are fitted."""

    def __init__(self, state: State, incoming: Incoming, route: str, send: Send) -> None:
        self.state = state
        self.settings: Settings = state.settings
        self.incoming = incoming
        self.route = route
        self._send = send
        self._work: Deciding | None = None
        self._retried = False
        self._model = ""
        self._response: aiohttp.ClientResponse | None = None
        self._overhead = 0.0
        """Seconds until the request was sent for the first time."""
        self.began = False
        """Whether the client was sent anything."""

    async def run(self) -> None:
        """Read, fit, send, and pass the answer back.

        Raises:
            Problem: the request ends here.
        """
        ask = await self._read()
        self._model = ask.model
        self._work = Deciding(state=self.state, settings=self.settings, incoming=self.incoming, ask=ask)
        outcome = await self._work.outcome()
        await self._answer(outcome)

    async def _read(self) -> asking.Ask:
        raw, most = self.incoming.body, self.settings.most_values
        if len(raw) <= INLINE:
            return asking.read(self.route, raw, most)
        return await self.state.work(asking.read, self.route, raw, most)

    async def _answer(self, outcome: Outcome) -> None:
        self._overhead = perf_counter() - self.incoming.started
        self.state.tally.fitted(self.route, self._model, outcome, self._overhead)
        try:
            response, first, outcome = await self._sent(outcome)
            if outcome.recalls and response.status == 200:
                await self._recalled(response, first, outcome)
            else:
                await self._passed(response, first, outcome)
        finally:
            self._let_go()

    def _let_go(self) -> None:
        """Close the connection to upstream, unless all of its answer has come."""
        if self._response is not None:
            self._response.close()
            self._response = None

    async def _sent(self, outcome: Outcome) -> tuple[aiohttp.ClientResponse, bytes, Outcome]:
        """Send a request, once more and smaller where it is refused as too long; return the answer and its start."""
        while True:
            response = await self._post(outcome)
            first = b""
            try:
                if response.status in _REFUSALS:
                    first = await told(response)
                elif _is_stream(response):
                    first = await relay.peek(response)
            except (aiohttp.ClientError, TimeoutError) as error:
                raise relay.lost(error) from error
            smaller = await self._smaller(response, first, outcome)
            if smaller is None:
                return response, first, outcome
            outcome = smaller

    async def _smaller(self, response: aiohttp.ClientResponse, first: bytes, outcome: Outcome) -> Outcome | None:
        """Return a smaller request where the last one was refused as too long, and was not sent again before."""
        if response.status in _REFUSALS:
            found = is_overflow(first)
        elif _is_stream(response):
            found = next((told for event in relay.events_of(first) if (told := _refusal(event))), None)
        else:
            return None
        if found is None or self._work is None:
            return None
        again: Outcome | None = None
        try:
            again = await self._work.smaller(found, outcome)
        except Problem:
            again = None
        again = None if self._retried else again
        self.state.tally.refused(self._model, retried=again is not None)
        if again is not None:
            self._retried = True
            self.state.tally.retries.add(model=label(self._model))
        return again

    async def _post(self, outcome: Outcome) -> aiohttp.ClientResponse:
        settings, incoming = self.settings, self.incoming
        url = address(settings.base(self.route), PATHS[self.route], incoming.query)
        headers = sent_headers(incoming.headers, settings, self.route)
        same = outcome.body is incoming.body
        if not same:
            headers = [(name, value) for name, value in headers if name != "content-encoding"]
        self._let_go()
        self._response = await self.state.upstream.send(
            "POST", url, headers, incoming.raw if same else outcome.body, settings.timeout
        )
        return self._response

    async def _passed(self, response: aiohttp.ClientResponse, first: bytes, outcome: Outcome) -> None:
        """Pass an answer back."""
        self.state.tally.requests.add(route=self.route, model=label(self._model), outcome=_ended(response.status))
        if response.status in _REFUSALS or response.status >= 400:
            await self._refusal(response, first, outcome)
        elif _is_stream(response):
            await self._stream(response, first, outcome)
        else:
            await self._whole(response, outcome)

    async def _refusal(self, response: aiohttp.ClientResponse, first: bytes, outcome: Outcome) -> None:
        """Pass back what upstream refused, without the key that is the gateway's own."""
        if not first:
            try:
                first = await told(response)
            except (aiohttp.ClientError, TimeoutError) as error:
                raise relay.lost(error) from error
        if self.settings.upstream_key is not None:
            first = first.replace(secret(self.settings.upstream_key).encode(), b"***")
        headers = [*returned_headers(response, whole=False), *self._told(outcome)]
        self.began = True
        await relay.whole(self._send, response.status, headers, first)

    async def _stream(self, response: aiohttp.ClientResponse, first: bytes, outcome: Outcome) -> None:
        headers = [*returned_headers(response, whole=True), *self._told(outcome)]
        self.began = True
        await relay.start(self._send, response.status, headers)
        broken = Problem(502, "upstream broke off its answer", "server_error").event(self.route, self.incoming.id)
        self.state.tally.streams.add(1)
        try:
            passed = await relay.stream_through(
                response, self._send, first=first, keepalive=self.settings.keepalive, broken=lambda: broken
            )
        finally:
            self.state.tally.streams.add(-1)
        self._learn(passed.usage, outcome)

    async def _whole(self, response: aiohttp.ClientResponse, outcome: Outcome) -> None:
        """Pass back an answer that comes at once; one that is too long to look at is passed on as it comes."""
        headers = [*returned_headers(response, whole=True), *self._told(outcome)]
        try:
            raw = await _up_to(response, _MOST_ANSWER)
        except (aiohttp.ClientError, TimeoutError) as error:
            raise relay.lost(error) from error
        self.began = True
        if not response.content.at_eof():
            await relay.start(self._send, response.status, headers)
            await relay.bytes_through(response, self._send, raw)
            return
        await relay.whole(self._send, response.status, headers, raw)
        if outcome.sent is not None and self._counts(outcome):
            self._learn(_usage(plain(raw, response.headers.get("content-encoding", ""), _MOST_ANSWER)), outcome)

    async def _recalled(self, response: aiohttp.ClientResponse, first: bytes, outcome: Outcome) -> None:
        """Answer what the model recalls, ask it again, and pass back the answer that is for the client.

        A stream is held back meanwhile: only at its end is it known whether it is for the client.
        """
        for turn in range(recall.MOST_ROUNDS + 1):
            streams = _is_stream(response)
            try:
                raw = first + await _up_to(response, _SIGHTED)
            except (aiohttp.ClientError, TimeoutError) as error:
                raise relay.lost(error) from error
            answer = recall.assembled(self.route, raw) if streams else _json(raw)
            asked, others = recall.calls(self.route, answer)
            if not asked or others or turn == recall.MOST_ROUNDS or response.status != 200:
                await self._last(response, raw, answer, outcome, strip=bool(asked) and not streams)
                return
            self.state.tally.recalls.add(len(asked))
            again = await self._again(answer, asked, outcome)
            response, first, outcome = await self._sent(again)
            if response.status >= 400:
                await self._passed(response, first, outcome)
                return

    async def _again(self, answer: dict[str, Any], asked: list[recall.Call], outcome: Outcome) -> Outcome:
        """Return the request with what was recalled at its end, fitted again."""
        work = self._work
        assert work is not None
        assert work.talk is not None
        assert work.plan is not None
        plan, talk = work.plan, work.talk
        limit = max(64, (outcome.budget or 4_096) // 4)

        def made() -> Outcome:
            from brim.gateway import fitting
            from brim.session.recall import answered

            results = {call.id: answered(call.arguments, talk.shelf, limit, plan.scale) for call in asked}
            body = recall.continued(self.route, outcome.body, answer, results)
            more = asking.read(self.route, body, self.settings.most_values)
            usual = replace(plan, rule=replace(plan.rule, recall=False))
            assert more.request is not None
            view = View(plan.scale, more.request.messages, stable=False, shape=more.shape)
            weight = fitting.weigh_view(more, view, self.state.meters)
            whole = weight.units <= (plan.room.fits if plan.room is not None else weight.units)
            found = (
                fitting.whole(more, usual, weight)
                if whole
                else fitting.cut(more, usual, weight, view, talk, target=outcome.budget or weight.units)
            )
            assert found is not None
            return replace(found, recalls=True, before=outcome.before, edits=outcome.edits, budget=outcome.budget)

        return await self.state.work(made)

    async def _last(
        self, response: aiohttp.ClientResponse, raw: bytes, answer: Any, outcome: Outcome, *, strip: bool
    ) -> None:
        self.state.tally.requests.add(route=self.route, model=label(self._model), outcome=_ended(response.status))
        body = json.dumps(recall.without(self.route, answer)).encode() if strip else raw
        headers = [*returned_headers(response, whole=not strip), *self._told(outcome)]
        self.began = True
        await relay.start(self._send, response.status, [pair for pair in headers if pair[0] != "content-length"])
        await relay.bytes_through(response, self._send, body)

    def _counts(self, outcome: Outcome) -> bool:
        return outcome.method != "exact"

    def _learn(self, usage: Any, outcome: Outcome) -> None:
        """Correct the model's meter by what an answer reported, after it was passed back."""
        if usage is None or outcome.sent is None or not self._counts(outcome):
            return
        plan = self._work.plan if self._work is not None else None
        if plan is None or (self._work is not None and self._work.ask.partial):
            return
        try:
            actual = reported(usage)
        except ValueError:
            return
        if actual.input is None or actual.passes != 1:
            return
        meters, given, sent, tokens = self.state.meters, plan.rule.meter, outcome.sent, actual.input
        self.state.later(self.state.work(meters.learn, self._model, given, sent, tokens))

    def _told(self, outcome: Outcome) -> Headers:
        """Return the headers that say what was done: numbers and names, never a text."""
        named: dict[str, Any] = {
            "request-id": self.incoming.id,
            "tokens-before": outcome.before,
            "tokens-after": outcome.after,
            "count-method": outcome.method,
            "policy": outcome.policy,
            "edits": outcome.edits,
            "over": outcome.over or None,
            "passthrough": outcome.passed or None,
            "retried": "1" if self._retried else None,
            "overhead-ms": f"{self._overhead * 1000:.2f}",
        }
        LOG.info("%s %s %s", self.incoming.id, self.route, {key: named[key] for key in named if key != "request-id"})
        return [(f"x-brim-{name}", str(value)) for name, value in named.items() if value is not None]


def _is_stream(response: aiohttp.ClientResponse) -> bool:
    kind = response.headers.get("content-type", "")
    return kind.lower().startswith("text/event-stream") and not response.headers.get("content-encoding")


def _refusal(event: Any) -> Any:
    """Return what an event at the start of a stream says of a prompt too long."""
    told = isinstance(event, dict) and ("error" in event or event.get("type") in ("error", "response.failed"))
    return is_overflow(event) if told else None


async def _up_to(response: aiohttp.ClientResponse, most: int) -> bytes:
    pieces, size = [], 0
    while size <= most and (piece := await response.content.readany()):
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces)


def _json(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return {}


def _usage(raw: bytes) -> Any:
    return relay.usage_in(_json(raw)) if b'"usage"' in raw else None


def _ended(status: int) -> str:
    return "ok" if status < 400 else f"upstream_{status // 100}xx"
