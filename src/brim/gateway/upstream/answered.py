"""Passes an answer back: the bytes from upstream in order, with keepalive comments while upstream is silent."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from brim.gateway.client.body import json_value
from brim.gateway.fit import with_usage
from brim.gateway.http.connection import KEEPALIVE, ClientConnection
from brim.gateway.http.problem import HttpProblem, ending, of_answer
from brim.gateway.upstream.client import BrokenAnswer, UpstreamAnswer
from brim.gateway.upstream.sent import Sent
from brim.gateway.upstream.server_event import EventStream
from brim.sessions.learning.usage import usage_in
from brim.wire.overflow import Overflow

_LAST = 16_384
"""Bytes at the end of other streams that are searched for the usage."""
_USAGE = (b'"usage"', b'"usageMetadata"')
"""The keys of Bedrock's and Gemini's usage."""


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
