"""Turns what a store is given into what it can hold, and refuses what it cannot.

Bodies are JSON in UTF-8, written as bytes: a column of text would refuse NUL in one database and half of a surrogate
pair in all of them, and escapes would join two halves that were apart.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from brim.errors import InvalidType, InvalidValue, StoreError, shown

_LONGEST_NAME = 500
"""Characters of an id, a kind or a handle. They are keys of an index, and for eyes to read."""

_encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def packed(place: str, body: object) -> bytes:
    """Return a JSON object as bytes.

    Raises:
        InvalidValue: it is not one, or holds something that JSON has no word for.
    """
    if not isinstance(body, Mapping):
        raise InvalidType(place, body, "a mapping, such as {'role': 'user'}")
    try:
        return _encoder.encode(dict(body)).encode("utf-8", "surrogatepass")
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidValue(place, body, f"of what JSON can say ({shown(str(error), 200)[1:-1]})") from error


def unpacked(place: str, content: bytes) -> dict[str, Any]:
    """Return the JSON object that bytes of a store say.

    Raises:
        StoreError: they say something else, so somebody else wrote them.
    """
    try:
        body = json.loads(bytes(content).decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError) as error:
        raise StoreError(place, f"a body is no JSON ({error}): the store was changed by another program") from error
    if not isinstance(body, dict):
        raise StoreError(place, "a body is no JSON object: the store was changed by another program")
    return body


def inked(text: object) -> bytes:
    """Return a text as bytes, whatever its characters.

    Raises:
        InvalidType: it is no text.
    """
    if not isinstance(text, str):
        raise InvalidType("a text to keep", text, "a string")
    return text.encode("utf-8", "surrogatepass")


def readable(content: bytes) -> str:
    """Return the text of bytes that `inked` gave."""
    return bytes(content).decode("utf-8", "surrogatepass")


def name(place: str, value: object) -> str:
    """Return a name as it came, if every kind of store can hold it.

    Raises:
        InvalidValue: it is empty, too long, or has characters that a database refuses.
    """
    if not isinstance(value, str):
        raise InvalidType(place, value, "a string")
    if not 0 < len(value) <= _LONGEST_NAME:
        raise InvalidValue(place, value, f"a text of 1 to {_LONGEST_NAME} characters")
    if "\0" in value or any("\ud800" <= sign <= "\udfff" for sign in value):
        raise InvalidValue(place, value, "a text without NUL and without halves of surrogate pairs")
    return value


def whole(place: str, value: object, least: int = 0) -> int:
    """Return a whole number as it came.

    Raises:
        InvalidValue: it is something else, or too small.
    """
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidType(place, value, "a whole number")
    if not least <= value < 2**63:
        raise InvalidValue(place, value, f"a whole number of at least {least}")
    return value


def span(place: str, value: object) -> float:
    """Return a number of seconds that is more than nothing.

    Raises:
        InvalidValue: it is something else.
    """
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise InvalidType(place, value, "a number of seconds")
    if not 0 < value < 1e12:
        raise InvalidValue(place, value, "a number of seconds above 0")
    return float(value)


def moment(place: str, value: object) -> float:
    """Return a moment in seconds since 1970.

    Raises:
        InvalidValue: it is no number, or not a finite one.
    """
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise InvalidType(place, value, "a moment in seconds since 1970")
    if not -1e12 < value < 1e12:
        raise InvalidValue(place, value, "a moment in seconds since 1970")
    return float(value)
