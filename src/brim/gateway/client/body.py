"""The JSON of requests and answers: how it is decompressed, how many values it may have, and how it is read."""

from __future__ import annotations

import json
import zlib
from typing import Any

import msgspec

from brim.files.depth import is_deep
from brim.files.json_body import whole
from brim.gateway.http.problem import HttpProblem

_ENCODINGS = ("gzip", "deflate")
_SIGNS = (b",", b"[", b"{")
"""Before each value of a JSON text but the first of an object stands one of these."""
_STEP = 1_000_000
"""Bytes that are searched at a time."""
_DIGITS = 200
"""Half of the digits in a row that only Python's own reader may read."""


def decompressed(raw: bytes, encoding: str, most: int) -> bytes:
    """Return the content of a body, by its Content-Encoding.

    Raises:
        HttpProblem: it is longer than `most` bytes, not complete, or compressed in an unknown way.
    """
    encoding = encoding.strip().lower()
    if encoding in ("", "identity"):
        return raw
    if encoding not in _ENCODINGS:
        raise HttpProblem(415, "the body may be compressed once, by gzip or deflate, or not at all")
    reader = zlib.decompressobj(zlib.MAX_WBITS | 32)
    try:
        content = reader.decompress(raw, most + 1)
    except zlib.error:
        content = b""
    if len(content) > most:
        raise HttpProblem(413, f"the body is larger than {most:,} bytes, the limit that gateway.most_bytes sets")
    if not reader.eof or reader.unused_data:
        raise HttpProblem(400, f"the body is not valid {encoding}, as its Content-Encoding says")
    return content


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
        value = _by_python(raw) if _has_long_digits(raw) else msgspec.json.decode(raw)
    except msgspec.MsgspecError:
        value = _by_python(raw)
    if is_deep(value):
        raise RecursionError
    return value


def repeats_key(raw: bytes, value: Any) -> bool:
    """Return whether an object of a JSON text has a key twice; `value` is what was read of the text.

    A reader keeps one of the two. So if the value is written again, there are fewer strings than in the text, and fewer
    quotes: those around each string, and those inside, which the text may spell by their number.
    """
    quotes = raw.count(b'"')
    if rb"\u0022" in raw:
        quotes += raw.replace(rb"\\", b"").count(rb"\u0022")
    try:
        written = msgspec.json.encode(value)
    except UnicodeEncodeError:  # Halves of surrogate pairs.
        written = json.dumps(value).encode()
    return quotes != written.count(b'"')


def _by_python(raw: bytes) -> Any:
    return json.loads(raw.decode(), parse_int=whole)


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
