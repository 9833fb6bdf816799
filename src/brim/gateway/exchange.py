"""One request from its body to the end of its answer."""

from __future__ import annotations

import json
import logging
from time import perf_counter
from typing import Any

import aiohttp

from brim.gateway import client_request, endings, recall, recall_round, relay
from brim.gateway.body import decompressed_answer, json_value, read_answer, read_up_to
from brim.gateway.decision import INLINE, LOG, Decision
from brim.gateway.guard import IncomingRequest, Send
from brim.gateway.metrics import ending, model_name
from brim.gateway.outcome import FitOutcome
from brim.gateway.problem import HttpProblem
from brim.gateway.relay import BufferedStream
from brim.gateway.state import GatewayState
from brim.gateway.upstream import Headers, address, returned_headers, sent_headers
from brim.sessions.usage import reported, usage_in
from brim.wire.overflow import is_overflow

PATHS = {"chat": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages"}
"""Where requests of each route go."""
_REFUSALS = (400, 413, 422, 500)
"""Statuses with which servers refuse a prompt that is too long."""
_MOST_ANSWER = 16 * 1024 * 1024
"""Bytes of an answer that is read before it is passed on; a longer one is passed on as it comes."""
_MOST_BUFFERED = 8 * 1024 * 1024
"""Bytes of a stream that is buffered because the model may recall something."""


async def exchange(state: GatewayState, incoming: IncomingRequest, route: str, send: Send) -> None:
    """Read a request, fit it, send it, and pass its answer back.

    Raises:
        HttpProblem: the request ends here.
    """
    arguments = (route, incoming.body, state.settings.most_values)
    if len(incoming.body) <= INLINE:
        ask = client_request.read(*arguments)
    else:
        ask = await state.work(client_request.read, *arguments)
    incoming.model = model_name(ask.model, incoming.shown)
    work = Decision(state=state, settings=state.settings, incoming=incoming, ask=ask)
    await Exchange(work, send).answer(await work.outcome())


class Exchange:
    """One request whose answer is passed back."""

    def __init__(self, work: Decision, send: Send) -> None:
        self.state, self.settings, self.incoming = work.state, work.settings, work.incoming
        self.route = work.ask.route
        self._work = work
        self._send = send
        self._retried = False
        self._response: aiohttp.ClientResponse | None = None
        self._overhead = 0.0
        """Seconds until the request was sent for the first time."""

    async def answer(self, outcome: FitOutcome) -> None:
        """Send what was decided, and pass the answer back."""
        self._overhead = perf_counter() - self.incoming.started
        self.state.activity.sent(self.incoming, self.route, outcome, self._work.plan, self._overhead)
        try:
            response, first, outcome = await self._sent(outcome)
            if outcome.recalls and response.status == 200:
                await self._recalled(response, first, outcome)
            else:
                await self._passed(response, first, outcome)
        finally:
            self._close()

    def _close(self) -> None:
        """Close the connection to upstream, unless all of its answer has come."""
        if self._response is not None:
            self._response.close()
            self._response = None

    async def _sent(self, outcome: FitOutcome) -> tuple[aiohttp.ClientResponse, bytes, FitOutcome]:
        """Send a request, once more and smaller if it is refused as too long; return the answer and its start."""
        while True:
            response = await self._post(outcome)
            first = b""
            try:
                if response.status in _REFUSALS:
                    first = await read_answer(response)
                elif _is_stream(response):
                    first = await relay.peek(response)
                elif response.status == 200:
                    first = await read_up_to(response, _MOST_ANSWER)
            except (aiohttp.ClientError, TimeoutError) as error:
                raise relay.broken_answer(error) from error
            smaller = await self._smaller(response, first, outcome)
            if smaller is None:
                return response, first, outcome
            outcome = smaller

    async def _smaller(self, response: aiohttp.ClientResponse, first: bytes, outcome: FitOutcome) -> FitOutcome | None:
        """Return a smaller request if the last one was refused as too long; `None` after one retry."""
        if response.status in _REFUSALS:
            found = is_overflow(first)
        elif _is_stream(response):
            found = next((each for event in relay.events_of(first) if (each := _refusal(event))), None)
        elif response.status == 200:
            found = endings.refused(_decompressed(response, first), self._work.ask.answer)
        else:
            return None
        if found is None:
            return None
        try:
            again = await self._work.smaller(found, outcome)
        except HttpProblem:
            again = None
        again = None if self._retried else again
        self.state.activity.overflow(self.incoming, self.route, found, outcome, again)
        self._retried = self._retried or again is not None
        return again

    async def _post(self, outcome: FitOutcome) -> aiohttp.ClientResponse:
        settings, incoming = self.settings, self.incoming
        url = address(settings.base(self.route), PATHS[self.route], incoming.query)
        headers = sent_headers(incoming.headers, settings, self.route)
        same = outcome.body is incoming.body
        if not same:
            headers = [(name, value) for name, value in headers if name != "content-encoding"]
        self._close()
        self._response = await self.state.upstream.send(
            "POST", url, headers, incoming.raw if same else outcome.body, settings.timeout
        )
        return self._response

    async def _passed(self, response: aiohttp.ClientResponse, first: bytes, outcome: FitOutcome) -> None:
        """Pass an answer back."""
        self._end(ending(response.status))
        if response.status in _REFUSALS or response.status >= 400:
            await self._refusal(response, first, outcome)
        elif _is_stream(response):
            await self._stream(response, first, outcome)
        else:
            await self._whole(response, first, outcome)

    async def _refusal(self, response: aiohttp.ClientResponse, first: bytes, outcome: FitOutcome) -> None:
        """Pass back a refusal of upstream."""
        if not first:
            try:
                first = await read_answer(response)
            except (aiohttp.ClientError, TimeoutError) as error:
                raise relay.broken_answer(error) from error
        headers = [*returned_headers(response, whole=False), *self._headers(outcome)]
        await relay.send_answer(self._send, response.status, headers, first)

    async def _stream(self, response: aiohttp.ClientResponse, first: bytes, outcome: FitOutcome) -> None:
        headers = [*returned_headers(response, whole=True), *self._headers(outcome)]
        await relay.send_head(self._send, response.status, headers)
        broken = HttpProblem(502, "upstream broke off its answer", "server_error").event(self.route, self.incoming.id)
        self.state.metrics.streams.add(1)
        try:
            passed = await relay.pass_stream(
                response, self._send, first=first, keepalive=self.settings.keepalive, broken=broken
            )
        finally:
            self.state.metrics.streams.add(-1)
        self._learn(passed.usage, outcome)
        if passed.stopped is not None:  # Too late to send it again; the next one is smaller.
            found = endings.stopped(passed.stopped, passed.usage, self._work.ask.answer)
            self.state.activity.overflow(self.incoming, self.route, found, outcome, None)
            self.state.later(self._work.learned(found, outcome))

    async def _whole(self, response: aiohttp.ClientResponse, raw: bytes, outcome: FitOutcome) -> None:
        """Pass back an answer that is not a stream; one that is too long to read is passed on as it comes."""
        headers = [*returned_headers(response, whole=True), *self._headers(outcome)]
        if not response.content.at_eof():
            await relay.send_head(self._send, response.status, headers)
            await relay.pass_bytes(response, self._send, raw)
            return
        await relay.send_answer(self._send, response.status, headers, raw)
        if outcome.method != "exact":
            self._learn(_usage(_decompressed(response, raw)), outcome)

    async def _recalled(self, response: aiohttp.ClientResponse, first: bytes, outcome: FitOutcome) -> None:
        """Answer the recalls of the model, call it again, and pass back the answer that is for the client.

        A stream is buffered meanwhile: only at its end is it known whether it is for the client.
        """

        async def begin() -> None:
            headers = [*returned_headers(response, whole=False), *self._headers(outcome)]
            await relay.send_head(self._send, response.status, headers)

        if not _is_stream(response):
            await self._last(*await self._rounds(response, first, outcome))
            return
        buffered = BufferedStream(self._send, self.settings.keepalive, begin)
        try:
            found = await buffered.during(self._rounds(response, first, outcome))
        except HttpProblem as problem:
            if not buffered.began:
                raise
            await self._broke(problem)
            return
        if not buffered.began:
            await self._last(*found)
        elif not _is_stream(found[0]):
            await self._broke(HttpProblem(502, f"upstream ended the stream with status {found[0].status}"))
        else:
            self._end("ok")
            await relay.pass_bytes(found[0], self._send, found[1])

    async def _broke(self, problem: HttpProblem) -> None:
        """Send a problem as the last event of a stream that has begun."""
        self._end("broken")
        event = problem.event(self.route, self.incoming.id)
        await self._send({"type": "http.response.body", "body": event, "more_body": True})
        await self._send({"type": "http.response.body", "body": b""})

    async def _rounds(
        self, response: aiohttp.ClientResponse, first: bytes, outcome: FitOutcome
    ) -> tuple[aiohttp.ClientResponse, bytes, Any, FitOutcome]:
        """Return the answer that is for the client: itself, its bytes, its JSON, and what was sent for it."""
        for turn in range(recall.MOST_ROUNDS + 1):
            try:
                raw = first + await read_up_to(response, _MOST_BUFFERED - len(first))
            except (aiohttp.ClientError, TimeoutError) as error:
                raise relay.broken_answer(error) from error
            answer = recall.assembled(self.route, raw) if _is_stream(response) else json_value(raw)
            calls, others = recall.calls(self.route, answer)
            if not calls or others or turn == recall.MOST_ROUNDS:
                break
            self.state.metrics.recalls.add(len(calls))
            again = await self.state.work(recall_round.again, self._work, outcome, answer, calls)
            response, first, outcome = await self._sent(again)
            if response.status != 200:
                return response, first, None, outcome
        return response, raw, answer, outcome

    async def _last(self, response: aiohttp.ClientResponse, raw: bytes, answer: Any, outcome: FitOutcome) -> None:
        if response.status != 200:
            await self._passed(response, raw, outcome)
            return
        self._end(ending(response.status))
        strip = not _is_stream(response) and bool(recall.calls(self.route, answer)[0])
        body = json.dumps(recall.without(self.route, answer)).encode() if strip else raw
        headers = [*returned_headers(response, whole=not strip), *self._headers(outcome)]
        await relay.send_head(self._send, response.status, [pair for pair in headers if pair[0] != "content-length"])
        await relay.pass_bytes(response, self._send, body)

    def _end(self, outcome: str) -> None:
        """Count the request by how it ended."""
        self.state.metrics.ended(self.route, self.incoming.model, outcome)

    def _learn(self, usage: Any, outcome: FitOutcome) -> None:
        """Correct the model's meter by the usage of an answer, after it was passed back."""
        plan, request = self._work.plan, outcome.request
        if usage is None or request is None or plan is None or outcome.method == "exact":
            return
        try:
            actual = reported(usage)
        except ValueError:
            return
        if actual.input is None or actual.passes != 1:
            return
        self.state.later(self.state.work(self.state.conversations.learn, request, plan.engine, actual.input))

    def _headers(self, outcome: FitOutcome) -> Headers:
        """Return the headers that say what was done: numbers and names, never text."""
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
        self._note(outcome)
        if LOG.isEnabledFor(logging.INFO):
            LOG.info("%s %s %s", named.pop("request-id"), self.route, named)
            named["request-id"] = self.incoming.id
        return [(f"x-brim-{name}", str(value)) for name, value in named.items() if value is not None]

    def _note(self, outcome: FitOutcome) -> None:
        """Note the request for the list of the newest ones."""
        response = self._response
        self.state.traffic.add(
            self.incoming.model,
            id=self.incoming.id,
            route=self.route,
            status=response.status if response is not None else 0,
            stream=response is not None and _is_stream(response),
            before=outcome.before,
            after=outcome.after,
            budget=outcome.budget,
            method=outcome.method,
            policy=outcome.policy,
            edits=outcome.edits,
            passed=outcome.passed,
            retried=self._retried,
            overhead_ms=round(self._overhead * 1000, 2),
            first_ms=round((perf_counter() - self.incoming.started) * 1000, 2),
        )


def _is_stream(response: aiohttp.ClientResponse) -> bool:
    kind = response.headers.get("content-type", "")
    return kind.lower().startswith("text/event-stream") and not response.headers.get("content-encoding")


def _decompressed(response: aiohttp.ClientResponse, raw: bytes) -> bytes:
    return decompressed_answer(raw, response.headers.get("content-encoding", ""), _MOST_ANSWER)


def _refusal(event: Any) -> Any:
    """Return the overflow that an event at the start of a stream reports; `None` if it reports none."""
    told = isinstance(event, dict) and ("error" in event or event.get("type") in ("error", "response.failed"))
    return is_overflow(event) if told else None


def _usage(raw: bytes) -> Any:
    return usage_in(json_value(raw)) if b'"usage"' in raw else None
