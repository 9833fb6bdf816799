"""One request from its body to the end of its answer."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from functools import partial
from time import perf_counter
from typing import Any, TypeVar

from brim.gateway import client_request, endings, problem, recall, recall_answer, recall_round, relay
from brim.gateway.body import decompress_body, json_value, read_answer
from brim.gateway.client_request import ClientRequest
from brim.gateway.connection import Send
from brim.gateway.decision import INLINE, LOG, Decision
from brim.gateway.guard import IncomingRequest
from brim.gateway.masked_names import masked
from brim.gateway.metrics import ending
from brim.gateway.outcome import FitOutcome
from brim.gateway.paths import is_stream_path, model_path
from brim.gateway.problem import GEMINI, HttpProblem
from brim.gateway.recall_stream import RecallStream
from brim.gateway.relay import BufferedStream
from brim.gateway.state import GatewayState
from brim.gateway.stream_start import StreamStart
from brim.gateway.upstream import address, returned_headers, sent_headers
from brim.gateway.upstream_client import BrokenAnswer, Headers, UpstreamAnswer
from brim.sessions.learning.usage import reported, usage_in
from brim.wire.overflow import Overflow, is_overflow

T = TypeVar("T")

PATHS = {"chat": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages"}
"""Where requests of each route go; those of the others go to the path that names their model."""
_REFUSALS = (400, 413, 422, 500)
"""Statuses with which servers refuse a prompt that is too long."""
_FRAMES = "application/vnd.amazon.eventstream"
_MOST_BUFFERED = 8 * 1024 * 1024
"""Bytes of a stream that is buffered because the model may recall something."""


async def exchange(state: GatewayState, incoming: IncomingRequest, send: Send, route: str) -> str:
    """Read a request, fit it, send it, and pass its answer back; return how it ended.

    Raises:
        HttpProblem: the request ends here.
    """
    try:
        ask = await _read(state, incoming, route)
        masked(state, incoming, ask)
        work = Decision(state=state, settings=state.settings, incoming=incoming, ask=ask)
    except HttpProblem as problem:
        ask = client_request.unread(route, incoming.raw, problem.message)
        work = Decision(state=state, settings=state.settings, incoming=incoming, ask=ask)
        if not work.passes:
            raise
        incoming.body = incoming.raw
    return await Exchange(work, send).answer(await work.outcome())


async def _read(state: GatewayState, incoming: IncomingRequest, route: str) -> ClientRequest:
    """Return the request of a body.

    Raises:
        HttpProblem: it cannot be read.
    """
    await decompress_body(incoming, state.settings.most_bytes)
    named = model_path(incoming.path)
    arguments = (route, incoming.body, state.settings.most_values, named[1] if named else "")
    if len(incoming.body) <= INLINE:
        return client_request.read(*arguments)
    return await state.work(client_request.read, *arguments)


class Exchange:
    """One request whose answer is passed back."""

    def __init__(self, work: Decision, send: Send) -> None:
        self.state, self.settings, self.incoming = work.state, work.settings, work.incoming
        self.route = work.ask.route
        self._work = work
        self._send = send
        self._retried = False
        self._response: UpstreamAnswer | None = None
        self._streamed: tuple[UpstreamAnswer, FitOutcome] | None = None
        """The newest answer that is a stream, and what was sent for it."""
        self._buffered = BufferedStream(send, work.settings.keepalive)
        self._overhead = 0.0
        """Seconds until the request was sent for the first time."""
        self._row: dict[str, Any] | None = None
        """The answer as the list of the newest ones shows it, once it has begun."""

    async def answer(self, outcome: FitOutcome) -> str:
        """Send what was decided, and pass the answer back; return how the request ended.

        Raises:
            HttpProblem: there is no answer, or one that broke off where only the connection can say so.
        """
        self._overhead = perf_counter() - self.incoming.started
        self.state.activity.sent(self.incoming, self.route, outcome, self._work.plan, self._overhead)
        ended = "broken"
        try:
            response, first, outcome = await self._sent(outcome)
            if outcome.recalls and response.status == 200:
                ended = await self._recalled(response, first, outcome)
            else:
                ended = await self._passed(response, first, outcome)
        except HttpProblem as problem:
            if not self._buffered.began:
                raise
            await self._broke(problem)
        except asyncio.CancelledError:
            ended = "left"
            raise
        finally:
            self._close()
            if self._row is not None:
                self.state.traffic.add(self.incoming.model, ended=ended, **self._row)
        return ended

    def _close(self) -> None:
        """Close the connection to upstream, unless all of its answer has come."""
        if self._response is not None:
            self._response.close()
            self._response = None

    async def _begin(self) -> None:
        """Send the head of the newest stream."""
        assert self._streamed is not None
        response, outcome = self._streamed
        headers = [*returned_headers(response, whole=False), *self._headers(outcome)]
        await relay.send_head(self._send, response.status, headers)

    async def _sent(self, outcome: FitOutcome) -> tuple[UpstreamAnswer, bytes, FitOutcome]:
        """Send a request, once more and smaller if it is refused as too long; return the answer and its start."""
        response = await self._post(outcome)
        while True:
            try:
                first, found = await self._start(response, outcome)
            except BrokenAnswer as error:
                raise relay.broken_answer(error) from error
            if found is None:
                return response, first, outcome
            again = await self._waited(self._smaller(found, outcome), response)
            if again is None:
                return response, first, outcome
            outcome = again
            response = await self._waited(self._post(outcome), response)

    async def _waited(self, job: Coroutine[Any, Any, T], response: UpstreamAnswer) -> T:
        """Return the result of a job; a client that waits for a stream meanwhile gets comments."""
        waits = self._buffered.began or _is_stream(response)
        return await (self._buffered.during(job, self._begin) if waits else job)

    async def _start(self, response: UpstreamAnswer, outcome: FitOutcome) -> tuple[bytes, Overflow | None]:
        """Return the bytes of an answer that show whether the prompt was refused as too long, and the refusal.

        Raises:
            BrokenAnswer: the connection broke.
        """
        if _is_stream(response):
            start = StreamStart()
            if self._work.shrinks(outcome) and not self._retried:
                await self._waited(start.read(response), response)
            return start.raw, start.refusal
        if (response.status == 200 and not self._passes(response)) or response.status in _REFUSALS:
            raw = await read_answer(response)
            refused = response.status in _REFUSALS
            return raw, is_overflow(raw) if refused else endings.refused(raw, self._work.ask.answer)
        return b"", None

    async def _smaller(self, found: Overflow, outcome: FitOutcome) -> FitOutcome | None:
        """Learn from a refusal, and return a smaller request; `None` after one retry, or if there is none."""
        try:
            again = await self._work.smaller(found, outcome)
        except HttpProblem:
            again = None
        again = None if self._retried else again
        self.state.activity.overflow(self.incoming, self.route, found, outcome, again)
        self._retried = self._retried or again is not None
        return again

    async def _post(self, outcome: FitOutcome) -> UpstreamAnswer:
        settings, incoming = self.settings, self.incoming
        url = address(settings.base(self.route), PATHS.get(self.route, incoming.target), incoming.query)
        headers = sent_headers(incoming.forwarded, settings, self.route)
        same = outcome.body is incoming.body
        if not same:
            headers = [(name, value) for name, value in headers if name != "content-encoding"]
        self._close()
        self._response = await self.state.upstream.send(
            "POST", url, headers, incoming.raw if same else outcome.body, settings.timeout
        )
        if _is_stream(self._response):
            self._streamed = (self._response, outcome)
        return self._response

    async def _passed(self, response: UpstreamAnswer, first: bytes, outcome: FitOutcome) -> str:
        """Pass an answer back, and return how it ended.

        Raises:
            HttpProblem: upstream broke off, or the client waits for a stream and the answer is none.
        """
        try:
            if not first and not self._passes(response):
                first = await read_answer(response)
            if self._buffered.began and not _is_stream(response):
                raise problem.of_answer(response.status, first)
            self._note(outcome)
            if self._is_unread(response):
                await self._frames(response, first, outcome)
            elif _is_stream(response):
                return await self._stream(response, first, outcome)
            elif response.status == 200:
                await self._whole(response, first, outcome)
            else:
                await relay.send_read(self._send, response, first, self._headers(outcome))
        except BrokenAnswer as error:
            raise relay.broken_answer(error) from error
        return ending(response.status)

    async def _stream(self, response: UpstreamAnswer, first: bytes, outcome: FitOutcome) -> str:
        """Pass a stream of events on, and return how it ended."""
        if not self._buffered.began:
            await self._begin()
        broken = HttpProblem(502, "upstream broke off its answer", "server_error").event(self.route, self.incoming.id)
        strip = RecallStream(self.route) if outcome.recalls else None
        self.state.metrics.streams.add(1)
        try:
            passed = await relay.pass_stream(
                response, self._send, first=first, keepalive=self.settings.keepalive, broken=broken, strip=strip
            )
        finally:
            self.state.metrics.streams.add(-1)
        self._learn(passed.usage, outcome)
        if passed.stopped is not None:  # Too late to send it again; the next one is smaller.
            found = endings.stopped(passed.stopped, passed.usage, self._work.ask.answer)
            self.state.activity.overflow(self.incoming, self.route, found, outcome, None)
            self.state.later(self._work.ask.model, self._work.learned(found, outcome))
        return "broken" if passed.broken else ending(response.status)

    async def _frames(self, response: UpstreamAnswer, first: bytes, outcome: FitOutcome) -> None:
        """Pass on a stream without events as it comes; an upstream that breaks off breaks the client's too."""
        await relay.send_head(
            self._send, response.status, [*returned_headers(response, whole=True), *self._headers(outcome)]
        )
        self.state.metrics.streams.add(1)
        try:
            last = await relay.pass_bytes(response, self._send, first)
        finally:
            self.state.metrics.streams.add(-1)
        self._learn(relay.usage_at_end(last), outcome)

    def _is_unread(self, response: UpstreamAnswer) -> bool:
        """Return whether an answer is a stream that is no stream of events: Amazon's frames, or Gemini's JSON array."""
        array = self.route == GEMINI and is_stream_path(self.incoming.path)
        return _is_frames(response) or (array and response.status == 200 and not _is_stream(response))

    def _passes(self, response: UpstreamAnswer) -> bool:
        """Return whether an answer is passed on as it comes."""
        return _is_stream(response) or self._is_unread(response)

    async def _whole(self, response: UpstreamAnswer, raw: bytes, outcome: FitOutcome) -> None:
        """Pass back an answer that is not a stream; one that is too long to read is passed on as it comes."""
        mine = self._headers(outcome)
        if not response.at_end:
            await relay.send_head(self._send, response.status, [*returned_headers(response, whole=True), *mine])
            await relay.pass_bytes(response, self._send, raw)
            return
        body = recall_answer.stripped(self.route, raw) if outcome.recalls else raw
        await relay.send_answer(self._send, response.status, [*returned_headers(response, whole=False), *mine], body)
        if outcome.method != "exact":
            self._learn(_usage(raw), outcome)

    async def _recalled(self, response: UpstreamAnswer, first: bytes, outcome: FitOutcome) -> str:
        """Answer the recalls of the model, call it again, and pass back the answer that is for the client.

        A stream is buffered meanwhile: only at its end is it known whether it is for the client.

        Raises:
            HttpProblem: upstream broke off, or the client waits for a stream and the last answer is none.
        """
        response, first, outcome = await self._waited(self._rounds(response, first, outcome), response)
        return await self._passed(response, first, outcome)

    async def _rounds(
        self, response: UpstreamAnswer, first: bytes, outcome: FitOutcome
    ) -> tuple[UpstreamAnswer, bytes, FitOutcome]:
        """Return the answer that is for the client, its bytes as far as they were read, and what was sent for it.

        Raises:
            HttpProblem: upstream broke off.
        """
        for turn in range(recall.MOST_ROUNDS + 1):
            try:
                raw = first + await read_answer(response, _MOST_BUFFERED - len(first))
            except BrokenAnswer as error:
                raise relay.broken_answer(error) from error
            answer = recall.assembled(self.route, raw) if _is_stream(response) else json_value(raw)
            calls, others = recall.calls(self.route, answer)
            if not response.at_end and not _is_stream(response):
                raise HttpProblem(502, f"the answer is larger than {_MOST_BUFFERED:,} bytes, the most with recall")
            if not calls or others or turn == recall.MOST_ROUNDS or not response.at_end:
                break
            self.state.metrics.recalls.add(len(calls))
            job = partial(recall_round.again, ends=turn == recall.MOST_ROUNDS - 1)
            again = await self.state.work(job, self._work, outcome, answer, calls)
            response, first, outcome = await self._sent(again)
            if response.status != 200:
                return response, first, outcome
        return response, raw, outcome

    async def _broke(self, problem: HttpProblem) -> None:
        """Send a problem as the last event of a stream that has begun."""
        event = problem.event(self.route, self.incoming.id)
        await relay.send_piece(self._send, event)
        await relay.send_piece(self._send, b"", more=False)

    def _learn(self, usage: Any, outcome: FitOutcome) -> None:
        """Correct the model's meter by the usage of an answer, after it was passed back."""
        plan, request = self._work.plan, outcome.request
        if usage is None or request is None or plan is None:
            return
        if outcome.method == "exact" and not plan.engine.over(request):
            self.state.conversations.windows.took(plan.engine.scope, outcome.after or 0)
            return
        try:
            actual = reported(usage)
        except ValueError:
            return
        if actual.input is None or actual.passes != 1:
            return
        learn = self.state.work(self.state.conversations.learn, request, plan.engine, actual.input)
        self.state.later(self._work.ask.model, learn)

    def _headers(self, outcome: FitOutcome) -> Headers:
        """Return the headers that say what was done: numbers and names, never text."""
        named: dict[str, Any] = {
            "request-id": self.incoming.id,
            "tokens-before": outcome.before,
            "tokens-after": outcome.after,
            "count-method": outcome.method,
            "policy": outcome.policy,
            "edits": outcome.edits,
            "answer-tokens": outcome.answer,
            "over": outcome.over or None,
            "passthrough": outcome.passed or None,
            "retried": "1" if self._retried else None,
            "overhead-ms": f"{self._overhead * 1000:.2f}",
        }
        if LOG.isEnabledFor(logging.INFO):
            LOG.info("%s %s %s", named.pop("request-id"), self.route, named)
            named["request-id"] = self.incoming.id
        return [(f"x-brim-{name}", str(value)) for name, value in named.items() if value is not None]

    def _note(self, outcome: FitOutcome) -> None:
        """Note the answer for the list of the newest ones; it is added at its end."""
        if not self.state.traffic.is_kept:
            return
        response, made = self._response, outcome.request
        self._row = {
            "id": self.incoming.id,
            "route": self.route,
            "status": response.status if response is not None else 0,
            "stream": response is not None and _is_stream(response),
            "before": outcome.before,
            "after": outcome.after,
            "budget": outcome.budget,
            "method": outcome.method,
            "policy": outcome.policy,
            "edits": outcome.edits,
            "session": made.conversation if made is not None else "",
            "cut": made.cut if made is not None else 0,
            "passed": outcome.passed,
            "retried": self._retried,
            "overhead_ms": round(self._overhead * 1000, 2),
            "first_ms": round((perf_counter() - self.incoming.started) * 1000, 2),
        }


def _is_stream(response: UpstreamAnswer) -> bool:
    """Return whether an answer is a stream of events."""
    kind = response.headers.get("content-type", "")
    return response.status == 200 and kind.lower().startswith("text/event-stream")


def _is_frames(response: UpstreamAnswer) -> bool:
    """Return whether an answer is a stream of Amazon's binary frames."""
    return response.status == 200 and response.headers.get("content-type", "").lower().startswith(_FRAMES)


def _usage(raw: bytes) -> Any:
    return usage_in(json_value(raw)) if b'"usage' in raw else None
