"""The bodies of requests and answers: how many bytes and values of them are read, and how."""

from __future__ import annotations

import asyncio
import json
import zlib
from typing import Any

import msgspec

from brim.files.depth import is_deep
from brim.files.json_body import whole
from brim.gateway.connection import Receive
from brim.gateway.guard import IncomingRequest
from brim.gateway.problem import HttpProblem
from brim.gateway.settings import GatewaySettings
from brim.gateway.upstream_client import BrokenAnswer, Headers, UpstreamAnswer, UpstreamClient

_ENCODINGS = ("gzip", "deflate")
MOST_ANSWER = 16 * 1024 * 1024
"""Bytes of an answer that are read before it is passed on; of a longer one, the rest is passed on as it comes."""
_SIGNS = (b",", b"[", b"{")
"""Before each value of a JSON text but the first of an object stands one of these."""
_STEP = 1_000_000
"""Bytes that are searched at a time."""
_DIGITS = 200
"""Half of the digits in a row that only Python's own reader may read."""
_READ_BY_PYTHON = object()


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
        async with asyncio.timeout(settings.timeout):
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
    reader = zlib.decompressobj(zlib.MAX_WBITS | 32)
    try:
        content = reader.decompress(raw, most + 1)
    except zlib.error:
        content = b""
    if len(content) > most:
        raise _too_big(most)
    if not reader.eof or reader.unused_data:
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


async def fetch_json(client: UpstreamClient, url: str, headers: Headers, timeout: float = 3) -> tuple[int, Any]:
    """Get an address; return the status, and the JSON of the answer, or `None` if it is none.

    Raises:
        HttpProblem: the server cannot be reached, or does not answer in time.
    """
    response = await client.send("GET", url, headers, None, timeout)
    try:
        return response.status, json_value(await read_answer(response))
    except BrokenAnswer:
        return response.status, None
    finally:
        response.close()


def json_value(raw: bytes) -> Any:
    """Return the value of a JSON text; `None` if it is not JSON."""
    try:
        return decoded(raw)
    except (ValueError, RecursionError):
        return None


def decoded(raw: bytes) -> Any:
    """Return the value of a JSON text.

    What msgspec refuses is read again by Python's own reader: it takes NaN and halves of surrogate pairs, as most
    servers do, and says where anything else is wrong.

    Raises:
        ValueError: it is not JSON.
        RecursionError: it is nested too deep.
    """
    try:
        value = _READ_BY_PYTHON if _has_long_digits(raw) else msgspec.json.decode(raw)
    except (msgspec.MsgspecError, ValueError):
        value = _READ_BY_PYTHON
    if value is _READ_BY_PYTHON:
        value = json.loads(raw.decode(), parse_int=whole)
    if is_deep(value):
        raise RecursionError
    return value


def _has_long_digits(raw: bytes) -> bool:
    """Return whether very many digits stand in a row: the time to read a number grows with their square.

    Twice `_DIGITS` in a row fill one of the blocks of that size, so only blocks that begin with a digit are looked at.
    """
    return any(
        raw[at * _DIGITS : (at + 1) * _DIGITS].isdigit() for at, first in enumerate(raw[::_DIGITS]) if 48 <= first <= 57
    )


def check_values(raw: bytes, most: int) -> None:
    """Check how many values a JSON text has, before it is read.

    Each value but the first of a list or an object follows a comma, and each list and object has an opening bracket.
    These signs are counted, and only if there are too many of them are those in strings left out.

    Raises:
        HttpProblem: it has more than `most`.
    """
    if len(raw) <= most or sum(raw.count(sign) for sign in _SIGNS) <= most:
        return
    found = at = inside = 0
    while at < len(raw) and found <= most:  # In steps, so that other threads get their turn.
        piece = raw[at : at + _STEP]
        at += len(piece)
        if (len(piece) - len(piece.rstrip(b"\\"))) % 2:  # An escape is not divided.
            piece += raw[at : at + 1]
            at += 1
        parts = piece.replace(rb"\\", b"").replace(rb"\"", b"").split(b'"')
        found += sum(b"".join(parts[inside::2]).count(sign) for sign in _SIGNS)
        inside = (inside + len(parts) - 1) % 2
    if found > most:
        raise HttpProblem(413, f"the body has more than {most:,} values, the limit that gateway.most_values sets")


def _too_big(most: int) -> HttpProblem:
    return HttpProblem(413, f"the body is larger than {most:,} bytes, the limit that gateway.most_bytes sets")
