"""A request that was sent to the model server, and the start of its answer, which may reject the prompt as too long."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from time import perf_counter
from typing import Any

from brim.gateway.client.body import json_value
from brim.gateway.client.paths import PATHS, is_stream_path, model_path
from brim.gateway.fit import FittedBody, with_usage
from brim.gateway.http.connection import ClientConnection, Headers
from brim.gateway.http.problem import GEMINI
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
