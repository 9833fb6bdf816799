"""A request on its way to the model server, and the start of its answer, which may refuse the prompt as too long."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

from brim.gateway.client.body import json_value
from brim.gateway.client.paths import PATHS, is_stream_path, model_path
from brim.gateway.fit.fitted import FittedBody
from brim.gateway.fit.learned import with_usage
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
from brim.gateway.upstream.server_event import StreamStart
from brim.wire.overflow import Overflow, is_overflow

LOG = logging.getLogger("brim.gateway")

_FAULT = 500
_REFUSALS = (400, 413, 422, _FAULT)
"""Statuses with which servers refuse a prompt that is too long."""
_SIGNS = (b'"error"', b"context_")
"""One of these is in every answer with status 200 that reports such a refusal; others are not parsed for it."""
_FRAMES = "application/vnd.amazon.eventstream"


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Sent:
    """A request that was sent, and its answer as far as it was read."""

    fitted: FittedBody
    answer: UpstreamAnswer = field(repr=False)
    first: bytes = field(default=b"", repr=False)
    """The bytes of the answer that were read."""
    refusal: Overflow | None = None
    """The refusal of the prompt as too long."""
    retried: bool = False
    """Whether an earlier form of the request was refused."""
    overhead: float
    """Seconds until the request was sent for the first time."""
    came: float = field(default_factory=perf_counter)
    """When its answer came."""

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
        """Whether the answer is a stream that is no stream of events: Amazon's frames, or Gemini's JSON array."""
        parsed = self.fitted.parsed
        array = parsed.route == GEMINI and is_stream_path(parsed.admitted.path) and not self.is_stream
        return self.status == 200 and (self._kind.startswith(_FRAMES) or array)

    @property
    def _kind(self) -> str:
        return self.answer.headers.get("content-type", "").lower()

    def headers(self, *, whole: bool) -> Headers:
        """Return the headers of the answer to the client: its own, and numbers and names of what was done, never text.

        `whole` is whether its body is passed back unchanged.
        """
        fitted = self.fitted
        named: dict[str, Any] = {
            "tokens-before": fitted.before,
            "tokens-after": fitted.after,
            "count-method": fitted.method,
            "policy": fitted.policy,
            "edits": fitted.edits,
            "answer-tokens": fitted.answer,
            "compacts-at": fitted.compacts_at,
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
    upstream: UpstreamClient,
    fitted: FittedBody,
    settings: GatewaySettings,
    client: ClientConnection,
    *,
    overhead: float,
    retried: bool = False,
) -> Sent:
    """Send a request, and return it with the bytes of its answer that show whether the prompt was refused as too long.

    A client that waits for a stream meanwhile gets comments. If this fails, the connection is closed.

    Raises:
        HttpProblem: there is no answer, or it broke off.
    """
    parsed = fitted.parsed
    admitted, same = parsed.admitted, fitted.body is parsed.body
    path = admitted.target if model_path(admitted.path) else PATHS[parsed.route]
    url = address(settings.base(parsed.route), path, admitted.query)
    headers = sent_headers(admitted.forwarded, settings, parsed.route)
    if not same:
        headers = [(name, value) for name, value in headers if name != "content-encoding"]
    answer = await upstream.send("POST", url, headers, parsed.raw if same else fitted.body, settings.timeout)
    sent = Sent(fitted=fitted, answer=answer, retried=retried, overhead=overhead)
    if sent.is_stream:
        client.hold(answer.status, sent.headers(whole=False))
    try:
        first, refusal = await _start(sent, client, settings.keepalive)
    except BrokenAnswer as error:
        answer.close()
        raise error.problem from error
    except BaseException:
        answer.close()
        raise
    return replace(sent, first=first, refusal=refusal)


async def _start(sent: Sent, client: ClientConnection, keepalive: float) -> tuple[bytes, Overflow | None]:
    """Return the first bytes of an answer, and the refusal that they hold.

    Raises:
        BrokenAnswer: the connection broke.
    """
    answer = sent.answer
    if sent.is_stream:
        start = StreamStart()
        if sent.fitted.shrinks and not sent.retried:
            await client.during(start.read(answer), keepalive)
        return start.raw, start.refusal
    if answer.status in _REFUSALS:
        raw = await answer.read_all()
        found = is_overflow(raw)
        # Of a fault of the server, its text may hold anything.
        return raw, found.without_numbers() if found is not None and answer.status == _FAULT else found
    if answer.status == 200 and not sent.is_unread:
        raw = await answer.read_all()
        values = json_value(raw) if any(sign in raw for sign in _SIGNS) else None
        values = values if isinstance(values, dict) else {}
        found = is_overflow(values) if values else None
        if found is None:
            return raw, None
        # What an accepted request brought may stand in its answer: only the usage has numbers of the provider's own.
        return raw, with_usage(found.without_numbers(), values.get("usage"), sent.fitted.parsed.answer)
    return b"", None
