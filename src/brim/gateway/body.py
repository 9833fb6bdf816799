"""The bodies of requests and answers: how many bytes of them are read, and how they are decompressed."""

from __future__ import annotations

import asyncio
import json
import zlib
from contextlib import nullcontext
from typing import Any

from brim.files.json_body import whole
from brim.gateway.guard import IncomingRequest, Receive
from brim.gateway.problem import HttpProblem
from brim.gateway.settings import GatewaySettings
from brim.gateway.upstream_connection import UpstreamAnswer

_ENCODINGS = ("gzip", "deflate")
MOST_ANSWER = 16 * 1024 * 1024
"""Bytes of an answer that are read before it is passed on; of a longer one, the rest is passed on as it comes."""


async def read_body(incoming: IncomingRequest, receive: Receive, settings: GatewaySettings) -> bool:
    """Read the body of a request as it comes; return whether it is complete.

    Raises:
        HttpProblem: the body is too long or too slow.
    """
    most = settings.most_bytes
    length = incoming.header("content-length")
    if length is not None and (not length.isdigit() or int(length[:20]) > most):
        raise _too_big(most)
    try:
        # A body that came with its headers is there; a timer for it would cost as much as reading it.
        async with nullcontext() if incoming.connection.complete else asyncio.timeout(settings.timeout):
            raw = await _received(receive, most)
    except TimeoutError:
        raise HttpProblem(408, f"the body did not arrive within {settings.timeout:g} seconds") from None
    if raw is None:
        return False
    incoming.raw = incoming.body = raw
    return True


async def decompress_body(incoming: IncomingRequest, most: int) -> None:
    """Decompress the body of a request, at most `most` bytes.

    Raises:
        HttpProblem: it is longer, or compressed in an unknown way.
    """
    encoding = (incoming.header("content-encoding") or "identity").strip().lower()
    if encoding != "identity":
        incoming.body = await asyncio.to_thread(decompressed_request, incoming.raw, encoding, most)


async def _received(receive: Receive, most: int) -> bytes | None:
    """Return the bytes of a body; `None` if the client disconnected."""
    pieces, size, more = [], 0, True
    while more:
        event = await receive()
        if event["type"] == "http.disconnect":
            return None
        piece = event.get("body", b"")
        size += len(piece)
        if size > most:
            raise _too_big(most)
        pieces.append(piece)
        more = event.get("more_body", False)
    return b"".join(pieces)


def decompressed_request(raw: bytes, encoding: str, most: int) -> bytes:
    """Return the content of a compressed body.

    Raises:
        HttpProblem: it is longer than `most` bytes, not complete, or compressed in an unknown way.
    """
    if encoding not in _ENCODINGS:
        raise HttpProblem(415, "the body may be compressed once, by gzip or deflate, or not at all")
    try:
        content, complete = _decompress(raw, most + 1)
    except zlib.error:
        complete = False
    else:
        if len(content) > most:
            raise _too_big(most)
    if not complete:
        raise HttpProblem(400, f"the body is not valid {encoding}, as its Content-Encoding says")
    return content


async def read_answer(response: UpstreamAnswer, most: int | None = None) -> bytes:
    """Return the bytes of an answer until there are more than `most` (16 MiB), or it ends.

    Raises:
        BrokenAnswer: the connection broke.
    """
    most = MOST_ANSWER if most is None else most
    pieces, size = [], 0
    while size <= most and (piece := await response.read()):
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces)


def decompressed_answer(response: UpstreamAnswer, raw: bytes) -> bytes:
    """Return the content of an answer; the bytes themselves if they are not compressed, or cannot be decompressed."""
    if response.headers.get("content-encoding", "").strip().lower() not in _ENCODINGS:
        return raw
    try:
        content, complete = _decompress(raw, MOST_ANSWER)
    except zlib.error:
        return raw
    return content if complete else raw


def json_value(raw: bytes | str) -> Any:
    """Return the value of a JSON text; `None` if it is not JSON."""
    try:
        return json.loads(raw, parse_int=whole)
    except (ValueError, RecursionError):
        return None


def _decompress(raw: bytes, most: int) -> tuple[bytes, bool]:
    """Return the first `most` bytes of compressed content, and whether the compressed bytes end with it.

    Raises:
        zlib.error: the bytes are neither gzip nor deflate.
    """
    reader = zlib.decompressobj(zlib.MAX_WBITS | 32)
    content = reader.decompress(raw, most)
    return content, reader.eof and not reader.unused_data


def _too_big(most: int) -> HttpProblem:
    return HttpProblem(413, f"the body is larger than {most:,} bytes, the limit that gateway.most_bytes sets")
