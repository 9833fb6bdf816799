"""Sends a request, checks the start of the answer for a rejection of the prompt, and passes the answer back.

The bytes from upstream are passed back in order, with keepalive comments while upstream is silent.
"""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from time import perf_counter
from typing import Any

from brim.gateway.client.body import json_value
from brim.gateway.client.paths import PATHS, is_stream_path, model_path
from brim.gateway.fit import FittedBody, with_usage
from brim.gateway.http.connection import KEEPALIVE, ClientConnection, Headers
from brim.gateway.http.problem import GEMINI, HttpProblem, ending, of_answer
from brim.gateway.settings import GatewaySettings
from brim.gateway.upstream.client import (
    BrokenAnswer,
    UpstreamAnswer,
    UpstreamClient,
    address,
    returned_headers,
    sent_headers,
)
from brim.gateway.upstream.server_event import EventStream
from brim.sessions.learning.usage import usage_in
from brim.wire.overflow import Overflow, is_overflow

LOG = logging.getLogger("brim.gateway")
_REFUSALS = (400, 413, 422, 500)
"""Statuses with which servers reject a prompt as too long."""
_SIGNS = (b'"error"', b"context_")
"""Every answer with status 200 that reports such a rejection contains one of these; other answers are not searched for
it.
"""
_MOST_START = 4 * 1024 * 1024
"""Bytes of a stream that are buffered; the first events of Responses repeat the instructions and the tools twice."""
_FRAMES = "application/vnd.amazon.eventstream"
_LAST = 16_384
"""Bytes at the end of other streams that are searched for the usage."""
_USAGE = (b'"usage"', b'"usageMetadata"')
"""The keys of Bedrock's and Gemini's usage."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Sent:
    """A request that was sent, and the part of its answer that was read."""

    fitted: FittedBody
    answer: UpstreamAnswer = field(repr=False)
    first: bytes = field(default=b"", repr=False)
    """The bytes of the body that were read."""
    refusal: Overflow | None = None
    """The rejection of the prompt as too long."""
    retried: bool = False
    """Whether a longer form of the request was rejected."""
    overhead: float
    """Seconds until the request was sent for the first time."""
    came: float = field(default_factory=perf_counter)
    """When the head of its answer arrived."""

    @property
    def status(self) -> int:
        """The status of the answer."""
        return self.answer.status

    @property
    def is_stream(self) -> bool:
        """Whether the answer is a stream of events."""
        return self.status == 200 and self._kind.startswith("text/event-stream")

    @property
    def is_unread(self) -> bool:
        """Whether the answer is another kind of stream: Amazon's frames, or Gemini's JSON array."""
        parsed = self.fitted.parsed
        array = parsed.route == GEMINI and is_stream_path(parsed.admitted.path) and not self.is_stream
        return self.status == 200 and (self._kind.startswith(_FRAMES) or array)

    @property
    def _kind(self) -> str:
        return self.answer.headers.get("content-type", "").lower()

    def headers(self, *, whole: bool) -> Headers:
        """Return the headers for the client: those of the answer, and those that describe what the gateway did.

        `whole` tells whether the body is passed back unchanged.
        """
        fitted = self.fitted
        named: dict[str, Any] = {
            "tokens-before": fitted.before,
            "tokens-after": fitted.after,
            "count-method": fitted.method,
            "policy": fitted.policy,
            "edits": fitted.edits,
            "answer-tokens": fitted.answer,
            "over": fitted.over or None,
            "passthrough": fitted.passed or None,
            "retried": "1" if self.retried else None,
            "overhead-ms": f"{self.overhead * 1000:.2f}",
        }
        id_ = fitted.parsed.admitted.id
        LOG.info("%s %s %s", id_, fitted.parsed.route, named)
        told = [(f"x-brim-{name}", str(value)) for name, value in named.items() if value is not None]
        return [*returned_headers(self.answer, whole=whole), ("x-brim-request-id", id_), *told]


async def send(
    upstream: UpstreamClient, fitted: FittedBody, settings: GatewaySettings, *, overhead: float, retried: bool
) -> Sent:
    """Send a request, and return it with the head of its answer.

    Raises:
        HttpProblem: there is no answer.
    """
    parsed = fitted.parsed
    admitted = parsed.admitted
    path = admitted.target if model_path(admitted.path) else PATHS[parsed.route]
    url = address(settings.base(parsed.route), path, admitted.query)
    headers = sent_headers(admitted.forwarded, settings, parsed.route)
    answer = await upstream.send("POST", url, headers, fitted.body, settings.timeout)
    return Sent(fitted=fitted, answer=answer, retried=retried, overhead=overhead)


async def started(sent: Sent, client: ClientConnection) -> Sent:
    """Read an answer until it is known whether the prompt was rejected as too long.

    The head of a stream is passed to the client before that.

    Raises:
        HttpProblem: upstream broke off.
    """
    if sent.is_stream and not client.began:
        await client.head(sent.status, sent.headers(whole=False))
    try:
        first, refusal = await _start(sent)
    except BrokenAnswer as error:
        raise error.problem from error
    return replace(sent, first=first, refusal=refusal)


async def _start(sent: Sent) -> tuple[bytes, Overflow | None]:
    """Return the first bytes of an answer, and the rejection in them.

    Raises:
        BrokenAnswer: the connection broke.
    """
    answer = sent.answer
    if sent.is_stream:
        stream, pieces, size = EventStream(), list[bytes](), 0
        if sent.fitted.shrinks and not sent.retried:
            while not stream.decided and size <= _MOST_START and (piece := await answer.read()):
                pieces.append(piece)
                size += len(piece)
                stream.feed(piece)
        return b"".join(pieces), stream.refusal
    if answer.status in _REFUSALS:
        raw = await answer.read_all()
        found = is_overflow(raw)
        if found is not None and answer.status == HTTPStatus.INTERNAL_SERVER_ERROR:
            return raw, found.without_numbers()  # The text of a server error may contain anything.
        return raw, found
    if answer.status == 200 and not sent.is_unread:
        raw = await answer.read_all()
        values = json_value(raw) if any(sign in raw for sign in _SIGNS) else None
        values = values if isinstance(values, dict) else {}
        found = is_overflow(values) if values else None
        if found is None:
            return raw, None
        # The answer to an accepted request may repeat its text; only the numbers of the usage are the provider's.
        return raw, with_usage(found.without_numbers(), values.get("usage"), sent.fitted.parsed.answer)
    return b"", None


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Answered:
    """The outcome of passing an answer back."""

    sent: Sent
    ended: str
    """How it ended, as `ending` says, or `broken`."""
    usage: Any = field(default=None, repr=False)
    """The reported usage."""
    stopped: Overflow | None = None
    """An overflow that the answer reported after it had begun."""
    error: str = ""
    """The type of the error in an event of the answer, unless that is an overflow."""

    @property
    def trouble(self) -> str:
        """The error from upstream: its status, `broken` or `error_event`; empty if there was none."""
        status = self.sent.status
        if status == HTTPStatus.TOO_MANY_REQUESTS or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return str(status)
        return "broken" if self.ended == "broken" else "error_event" if self.error else ""


async def pass_back(sent: Sent, client: ClientConnection, keepalive: float) -> Answered:
    """Pass an answer back.

    Raises:
        BrokenAnswer: upstream broke off.
        HttpProblem: the client expects a stream and the answer is not one.
    """
    answer, first = sent.answer, sent.first
    if sent.is_stream:
        return await _pass_stream(sent, client, keepalive)
    if sent.is_unread:
        await client.head(sent.status, sent.headers(whole=True))
        last = await pass_bytes(answer, client, first)
        return Answered(sent=sent, ended=ending(sent.status), usage=_usage_at_end(last))
    raw = first or await answer.read_all()
    if client.began:
        raise of_answer(sent.status, raw)
    await send_read(client, answer, raw, sent)
    values = json_value(raw) if sent.status == 200 and answer.at_end and b'"usage' in raw else None
    return Answered(sent=sent, ended=ending(sent.status), usage=usage_in(values))


async def _pass_stream(sent: Sent, client: ClientConnection, keepalive: float) -> Answered:
    """Pass on a stream of events; after `keepalive` seconds of silence a comment is sent between two events."""
    parsed, stream, piece, broken = sent.fitted.parsed, EventStream(), sent.first, False
    try:
        while True:
            if piece:
                stream.feed(piece)
                await client.piece(piece)
            try:
                async with asyncio.timeout(keepalive) as limit:
                    piece = await sent.answer.read()
            except TimeoutError:
                if not limit.expired():
                    raise
                piece = b""
                if stream.between:
                    await client.piece(KEEPALIVE)
                continue
            if not piece:
                break
        stream.end()
    except BrokenAnswer:
        broken = True
        problem = HttpProblem(502, "upstream broke off its answer", "server_error")
        event = problem.event(parsed.route, parsed.admitted.id)
        await client.piece(event if stream.between else b"\n\n" + event)
    await client.end()
    return Answered(
        sent=sent,
        ended="broken" if broken else ending(sent.status),
        usage=stream.usage,
        error="" if stream.stopped is not None else stream.error,
        stopped=None if stream.stopped is None else with_usage(stream.stopped, stream.usage, parsed.answer),
    )


async def send_read(client: ClientConnection, answer: UpstreamAnswer, raw: bytes, sent: Sent) -> None:
    """Pass back an answer whose first bytes were read, and the rest as it arrives.

    Raises:
        BrokenAnswer: the connection to upstream broke.
    """
    if answer.at_end:
        await client.answer(answer.status, sent.headers(whole=True), raw)
        return
    await client.head(answer.status, sent.headers(whole=True))
    await pass_bytes(answer, client, raw)


async def pass_bytes(answer: UpstreamAnswer, client: ClientConnection, first: bytes = b"") -> bytes:
    """Pass on the body of an answer, after its headers, and return its last bytes.

    Raises:
        BrokenAnswer: the connection to upstream broke; the server then closes the client's too.
    """
    last = first
    if first:
        await client.piece(first)
    while piece := await answer.read():
        await client.piece(piece)
        last = (last + piece)[-_LAST:]
    await client.end()
    return last


def _usage_at_end(last: bytes) -> Any:
    """Return the usage in the last bytes of a stream of frames or a JSON array; `None` if there is none."""
    found = max(((last.rfind(key), key) for key in _USAGE), default=(-1, b""))
    if found[0] < 0:
        return None
    rest = last[found[0] + len(found[1]) :].decode("utf-8", "replace").lstrip(" \t\r\n:")
    try:
        return json.JSONDecoder().raw_decode(rest)[0]
    except ValueError:
        return None
