"""Sends a request, checks the start of the answer for a rejection of the prompt, and passes the answer back.

The client gets the bytes of upstream. If upstream breaks off, the client's connection is closed too.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from brim.gateway.client.body import json_value
from brim.gateway.client.paths import PATHS, is_stream_path, model_path
from brim.gateway.fit import FittedBody, with_usage
from brim.gateway.http.connection import ClientConnection, Headers
from brim.gateway.http.problem import GEMINI
from brim.gateway.settings import GatewaySettings
from brim.gateway.upstream.client import (
    UpstreamAnswer,
    UpstreamClient,
    address,
    returned_headers,
    sent_headers,
    sent_query,
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

    @property
    def status(self) -> int:
        """The status of the answer."""
        return self.answer.status

    @property
    def failed(self) -> bool:
        """Whether upstream failed, or limits the rate of requests."""
        return self.status == HTTPStatus.TOO_MANY_REQUESTS or self.status >= HTTPStatus.INTERNAL_SERVER_ERROR

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

    def headers(self) -> Headers:
        """Return the headers for the client: those of the answer, and those that describe what the gateway did."""
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
        return [*returned_headers(self.answer), ("x-brim-request-id", id_), *told]


async def send(
    upstream: UpstreamClient, fitted: FittedBody, settings: GatewaySettings, *, overhead: float, retried: bool
) -> Sent:
    """Send a request, and return it with the head of its answer.

    Raises:
        HttpProblem: there is no answer.
    """
    parsed = fitted.parsed
    admitted = parsed.admitted
    own = model_path(admitted.path) or admitted.path.lower().startswith("/openai/")
    query = sent_query(admitted.query, settings, parsed.route)
    url = address(settings.base(parsed.route), admitted.target if own else PATHS[parsed.route], query)
    headers = sent_headers(admitted.forwarded, settings, parsed.route)
    answer = await upstream.send("POST", url, headers, fitted.body, settings.timeout)
    return Sent(fitted=fitted, answer=answer, retried=retried, overhead=overhead)


async def read_start(sent: Sent) -> tuple[bytes, Overflow | None]:
    """Return the first bytes of an answer, and the rejection of the prompt as too long in them.

    A stream is read until an event has content or an error, if a smaller request could be sent; any other answer as a
    whole.

    Raises:
        HttpProblem: upstream broke off.
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
    if sent.is_unread:
        return b"", None
    raw = await answer.read_all()
    if answer.status in _REFUSALS:
        found = is_overflow(raw)
        if found is not None and answer.status == HTTPStatus.INTERNAL_SERVER_ERROR:
            return raw, found.without_numbers()  # The text of a server error may contain anything.
        return raw, found
    if answer.status == HTTPStatus.OK:
        values = json_value(raw) if any(sign in raw for sign in _SIGNS) else None
        if isinstance(values, dict) and (found := is_overflow(values)) is not None:
            # The answer to an accepted request may repeat its text; only the numbers of the usage are the provider's.
            return raw, with_usage(found.without_numbers(), values.get("usage"), sent.fitted.parsed.answer)
    return raw, None


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Answered:
    """What an answer that was passed back has reported."""

    usage: Any = field(default=None, repr=False)
    """The reported usage."""
    stopped: Overflow | None = None
    """An overflow after the answer had begun."""
    error: str = ""
    """The type of the error in an event, unless that is an overflow."""


async def pass_back(sent: Sent, client: ClientConnection) -> Answered:
    """Pass an answer back.

    Raises:
        HttpProblem: upstream broke off.
    """
    await client.head(sent.status, sent.headers())
    if sent.is_stream:
        stream = EventStream()
        await pass_bytes(sent.answer, client, sent.first, stream.feed)
        stream.end()
        stopped = stream.stopped
        return Answered(
            usage=stream.usage,
            error="" if stopped is not None else stream.error,
            stopped=None if stopped is None else with_usage(stopped, stream.usage, sent.fitted.parsed.answer),
        )
    last = sent.first

    def keep(piece: bytes) -> None:
        nonlocal last
        last = (last + piece)[-_LAST:]

    whole = sent.answer.at_end
    await pass_bytes(sent.answer, client, sent.first, keep)
    if sent.is_unread:
        return Answered(usage=_usage_at_end(last))
    values = json_value(sent.first) if whole and sent.status == HTTPStatus.OK and b'"usage' in sent.first else None
    return Answered(usage=usage_in(values))


async def pass_bytes(
    answer: UpstreamAnswer, client: ClientConnection, first: bytes = b"", observe: Callable[[bytes], Any] | None = None
) -> None:
    """Pass on the body of an answer, after its headers; `first` was read already.

    Raises:
        HttpProblem: upstream broke off; the server then closes the client's connection.
    """
    piece = first or await answer.read()
    while piece:
        if observe is not None:
            observe(piece)
        await client.piece(piece)
        piece = await answer.read()
    await client.end()


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
