"""Checks and encodes the values of a store.

Bodies are JSON in UTF-8, written as bytes and packed: a column of text would refuse NUL in one database and half of a
surrogate pair in all of them, and escapes would join two halves that were apart.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from brim.errors import InvalidType, InvalidValue, StoreError, shown
from brim.store.packed import pack, unpack

_LONGEST_NAME = 500
"""Characters of an id, a kind or a handle. They are keys of an index, and are shown to people."""

_HANDLE = re.compile("b2:[0-9a-f]{32}")
HASH_LENGTH = 35
"""Characters of a handle that is a hash."""
_START = re.compile("b2:[0-9a-f]{8,32}")
_HASH = b"\xff"
"""The start of a handle that is a hash; no UTF-8 has this byte."""

_RUN = b"\xfe"
"""The start of a row with several bodies, whose number follows; no UTF-8 has this byte either."""
LONGEST_RUN = 255

_TOGETHER = 256
"""Bodies that are decoded at once: enough to save most of the time, and few enough for the memory that they take."""

_encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def encode_body(place: str, body: object) -> bytes:
    """Return a JSON object as the bytes that are written.

    Raises:
        InvalidValue: it is not a mapping, or has values that JSON cannot represent.
    """
    return pack(json_bytes(place, body))


def encode_run(bodies: Sequence[bytes]) -> bytes:
    """Return JSON objects that are written together as the bytes of one row; at most `LONGEST_RUN`."""
    return pack(bodies[0]) if len(bodies) == 1 else _RUN + bytes([len(bodies)]) + pack(b",".join(bodies))


def run_length(content: bytes) -> int:
    """Return how many JSON objects a row has."""
    return content[1] if content[:1] == _RUN and len(content) > 1 else 1


def json_bytes(place: str, body: object) -> bytes:
    """Return a JSON object in UTF-8.

    Raises:
        InvalidValue: it is not a mapping, or has values that JSON cannot represent.
    """
    if not isinstance(body, Mapping):
        raise InvalidType(place, body, "a mapping, such as {'role': 'user'}")
    try:
        return _encoder.encode(dict(body)).encode("utf-8", "surrogatepass")
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidValue(place, body, f"of values that JSON has ({shown(str(error), 200)[1:-1]})") from error


def decode_body(place: str, content: bytes) -> dict[str, Any]:
    """Return the JSON object of stored bytes.

    Raises:
        StoreError: they are not a JSON object, so another program wrote them.
    """
    try:
        body = json.loads(unpack(place, content).decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError) as error:
        raise StoreError(place, f"a body is not JSON ({error}): the store was changed by another program") from error
    if not isinstance(body, dict):
        raise StoreError(place, "a body is not a JSON object: the store was changed by another program")
    return body


def decode_bodies(place: str, contents: Sequence[bytes]) -> list[dict[str, Any]]:
    """Return the JSON objects of many rows, of which some have several, in less time than one after the other.

    Raises:
        StoreError: some are not a JSON object, so another program wrote them.
    """
    bodies: list[dict[str, Any]] = []
    for at in range(0, len(contents), _TOGETHER):
        some = contents[at : at + _TOGETHER]
        joined = b",".join([unpack(place, content[2:] if content[:1] == _RUN else content) for content in some])
        try:
            read = json.loads(f"[{joined.decode('utf-8', 'surrogatepass')}]")
        except (ValueError, RecursionError):
            read = []
        whole = len(read) == sum(map(run_length, some)) and all(type(body) is dict for body in read)
        bodies += read if whole else [body for content in some for body in _decode_run(place, content)]
    return bodies


def _decode_run(place: str, content: bytes) -> list[dict[str, Any]]:
    """Return the JSON objects of one row.

    Raises:
        StoreError: they are not JSON objects, or others than it was written with.
    """
    if content[:1] != _RUN:
        return [decode_body(place, content)]
    run = unpack(place, content[2:])
    bodies: list[dict[str, Any]] = decode_body(place, b'{"run":[' + run + b"]}")["run"]
    if len(bodies) != run_length(content) or any(type(body) is not dict for body in bodies):
        raise StoreError(place, "a row has other entries than it says: the store was changed by another program")
    return bodies


class LaterBodies:
    """JSON objects that are decoded together when one of them is first used."""

    def __init__(self, place: str, contents: Sequence[bytes]) -> None:
        self._place, self._contents = place, contents

    @cached_property
    def decoded(self) -> list[dict[str, Any]]:
        """All of them.

        Raises:
            StoreError: some are not a JSON object, so another program wrote them.
        """
        return decode_bodies(self._place, self._contents)

    def __iter__(self) -> Iterator[LaterBody]:
        return (LaterBody(self, at) for at in range(sum(map(run_length, self._contents))))


class LaterBody(Mapping[str, Any]):
    """One of them."""

    __slots__ = ("_all", "_at")

    def __init__(self, bodies: LaterBodies, at: int) -> None:
        self._all, self._at = bodies, at

    def __getitem__(self, name: str) -> Any:
        return self._all.decoded[self._at][name]

    def get(self, name: str, default: Any = None) -> Any:
        """Return a value, or `default`."""
        return self._all.decoded[self._at].get(name, default)  # Without an error on the way, of which there are many.

    def __iter__(self) -> Iterator[str]:
        return iter(self._all.decoded[self._at])

    def __len__(self) -> int:
        return len(self._all.decoded[self._at])


def text_bytes(text: object) -> bytes:
    """Return a text in UTF-8, whatever its characters.

    Raises:
        InvalidType: it is not a text.
    """
    if not isinstance(text, str):
        raise InvalidType("a text to keep", text, "a string")
    return text.encode("utf-8", "surrogatepass")


def encode_text(text: object) -> bytes:
    """Return a text as the bytes that are written, whatever its characters.

    Raises:
        InvalidType: it is not a text.
    """
    return pack(text_bytes(text))


def decode_text(place: str, content: bytes) -> str:
    """Return the text of bytes that `encode_text` returned.

    Raises:
        StoreError: another program wrote them.
    """
    return decode_utf8(place, unpack(place, content))


def decode_utf8(place: str, content: bytes) -> str:
    """Return the text of bytes that `text_bytes` returned.

    Raises:
        StoreError: another program wrote them.
    """
    try:
        return content.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise StoreError(place, "a text is not UTF-8: the store was changed by another program") from error


def encode_handle(handle: str) -> bytes:
    """Return a handle as the bytes that are written: a hash takes half of its digits."""
    return _HASH + bytes.fromhex(handle[3:]) if _HANDLE.fullmatch(handle) else handle.encode()


def hash_range(handle: str) -> tuple[bytes, bytes] | None:
    """Return between which bytes a handle is written that is a hash, or the start of one; `None` for any other."""
    if not _START.fullmatch(handle):
        return None
    first = _HASH + bytes.fromhex(handle[3:][: (len(handle) - 3) // 2 * 2])
    return first, first + b"\xff" * 16


def decode_handle(written: bytes) -> str:
    """Return the handle of bytes that `encode_handle` returned."""
    written = bytes(written)
    return f"b2:{written[1:].hex()}" if written.startswith(_HASH) else written.decode()


def check_name(place: str, value: object) -> str:
    """Return a name, if every database can store it.

    Raises:
        InvalidValue: it is empty, too long, or has characters that a database refuses.
    """
    if not isinstance(value, str):
        raise InvalidType(place, value, "a string")
    if not 0 < len(value) <= _LONGEST_NAME:
        raise InvalidValue(place, value, f"a text of 1 to {_LONGEST_NAME} characters")
    if "\0" in value or (not value.isascii() and any("\ud800" <= sign <= "\udfff" for sign in value)):
        raise InvalidValue(place, value, "a text without NUL and without halves of surrogate pairs")
    return value


def check_whole(place: str, value: object) -> int:
    """Return a whole number, 0 or more.

    Raises:
        InvalidValue: it is something else.
    """
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidType(place, value, "a whole number")
    if not 0 <= value < 2**63:
        raise InvalidValue(place, value, "a whole number of at least 0")
    return value


def check_seconds(place: str, value: object) -> float:
    """Return a number of seconds above 0.

    Raises:
        InvalidValue: it is something else.
    """
    return _number(place, value, 0, "a number of seconds above 0")


def check_time(place: str, value: object) -> float:
    """Return a time in seconds since 1970.

    Raises:
        InvalidValue: it is not a finite number.
    """
    return _number(place, value, -1e12, "a time in seconds since 1970")


def _number(place: str, value: object, above: float, expected: str) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise InvalidType(place, value, expected)
    if not above < value < 1e12:
        raise InvalidValue(place, value, expected)
    return float(value)
