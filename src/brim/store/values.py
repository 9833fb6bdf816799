"""Checks and converts the values of a store: addresses, names, times, and bodies as JSON.

Bytes, as in messages of Bedrock, are written as `{"$bytes": "<base64>"}`. If a caller's own key looks like this, it
gets another `$`.
"""

from __future__ import annotations

import json
import re
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from brim.errors import InvalidType, InvalidValue, StoreError, shown

_LONGEST_NAME = 500
"""Characters of an id, a kind or a handle, which are keys of an index."""
_NAMED = 20
"""Levels of a value down to which an error names the place."""
_CHANGED = "the store was changed by another program, or the file is damaged"
_BYTES = "$bytes"
_MARK = re.compile(r"\$+bytes")


def encode_body(place: str, body: object) -> str:
    """Return a JSON object as the text to store.

    Raises:
        InvalidValue: it is not a mapping, or has keys or values that JSON cannot represent; the error names the first.
    """
    if not isinstance(body, Mapping):
        raise InvalidType(place, body, "a mapping, such as {'role': 'user'}")
    return _encoded(place, dict(body))


def stored(place: str, value: Any) -> Any:
    """Return JSON values as a store returns them: a copy that shares nothing with the caller's.

    Raises:
        InvalidValue: it has keys or values that JSON cannot represent; the error names the first.
    """
    return json.loads(_encoded(place, value), object_hook=_unmarked)


def copied(value: Any) -> Any:
    """Return a copy of stored values."""
    if isinstance(value, dict):  # Most values are strings, and a prompt has thousands.
        return {key: each if type(each) is str else copied(each) for key, each in value.items()}
    return [copied(each) for each in value] if isinstance(value, list) else value


def _encoded(place: str, value: Any) -> str:
    try:
        text = _encoder.encode(value)
        if _has_text_keys(value):
            return _encoder.encode(_marked(value)) if '$bytes"' in text else text
    except (TypeError, ValueError, RecursionError) as error:
        raise _fault(place, value) from error
    raise _fault(place, value)


def _has_text_keys(value: Any) -> bool:
    """Return whether all keys are strings; JSON has no others, and the encoder would change them."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if not all(isinstance(key, str) for key in value):
                return False
            waiting += value.values()
        elif isinstance(value, list | tuple):
            waiting += value
    return True


def _fault(place: str, value: Any) -> InvalidValue:
    """Return the error for the first key or value that JSON cannot represent."""
    outer = [value]
    while len(outer) < _NAMED and isinstance(value := outer[-1], dict | list | tuple):
        inner = value.items() if isinstance(value, dict) else enumerate(value)
        for key, each in inner:
            if isinstance(value, dict) and not isinstance(key, str):
                return InvalidType(f"each key of {place}", key, "a string, since JSON has no other keys")
            if _problem(each) and all(each is not known for known in outer):
                place = f"{place}[{key!r}]"
                outer.append(each)
                break
        else:
            break
    return InvalidValue(place, outer[-1], f"JSON values ({_problem(outer[-1])})")


def _problem(value: Any) -> str:
    """Return why JSON cannot represent a value; empty if it can."""
    try:
        _encoder.encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        return shown(str(error), 200)[1:-1]
    return "" if _has_text_keys(value) else "a key is not a string"


def decode_body(place: str, content: object) -> dict[str, Any]:
    """Return the JSON object in a stored text, or in UTF-8 bytes, which may be compressed.

    Raises:
        StoreError: it is not a JSON object, so another program wrote it, or the file is damaged.
    """
    try:
        text = content if isinstance(content, str) else _text_of(content)
        body = json.loads(text, object_hook=_unmarked) if '$bytes"' in text else json.loads(text)
    except (TypeError, ValueError, RecursionError, zlib.error) as error:
        raise StoreError(place, f"a body is not JSON ({error}): {_CHANGED}") from error
    if not isinstance(body, dict):
        raise StoreError(place, f"a body is not a JSON object: {_CHANGED}")
    return body


def _text_of(content: object) -> str:
    """Return the text of bytes: JSON begins with a brace, zlib data does not."""
    if not isinstance(content, bytes):
        raise TypeError(f"it is of type {type(content).__name__}")
    plain = content if content.startswith(b"{") else zlib.decompress(content)
    return plain.decode("utf-8", "surrogatepass")


def _bytes_mark(value: object) -> dict[str, str]:
    if isinstance(value, bytes | bytearray):
        return {_BYTES: b64encode(value).decode()}
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


_encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_bytes_mark)


def _marked(value: Any) -> Any:
    """Return JSON values with another `$` before keys that look like the mark of bytes."""
    if isinstance(value, Mapping):
        return {f"${key}" if _is_mark(key) else key: _marked(each) for key, each in value.items()}
    return [_marked(each) for each in value] if isinstance(value, list | tuple) else value


def _unmarked(values: dict[str, Any]) -> Any:
    """Reverse `_marked` and the encoder for one JSON object."""
    if values.keys() == {_BYTES}:
        return b64decode(values[_BYTES])
    return {key[1:] if _is_mark(key) else key: each for key, each in values.items()}


def _is_mark(key: object) -> bool:
    return isinstance(key, str) and _MARK.fullmatch(key) is not None


@contextmanager
def interpreting(place: str, log: str) -> Iterator[None]:
    """Return a context manager that reads values from stored bodies: what was not written so raises `StoreError`."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        problem = f"the log of {log!r} has a body that brim did not write ({type(error).__name__}: {error})"
        raise StoreError(place, f"{problem}: {_CHANGED}") from error


def check_name(place: str, value: object) -> str:
    """Return a name that every database can store.

    Raises:
        InvalidValue: it is empty, too long, or has characters that a database rejects.
    """
    if not isinstance(value, str):
        raise InvalidType(place, value, "a string")
    if not 0 < len(value) <= _LONGEST_NAME:
        raise InvalidValue(place, value, f"a string of 1 to {_LONGEST_NAME} characters")
    if "\0" in value or (not value.isascii() and any("\ud800" <= sign <= "\udfff" for sign in value)):
        raise InvalidValue(place, value, "a string without NUL and without halves of surrogate pairs")
    return value


def check_whole(place: str, value: object) -> int:
    """Return a whole number, 0 or more.

    Raises:
        InvalidValue: it is not one.
    """
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidType(place, value, "a whole number")
    if not 0 <= value < 2**63:
        raise InvalidValue(place, value, "a whole number of at least 0")
    return value


def check_time(place: str, value: object) -> float:
    """Return a time in seconds since 1970.

    Raises:
        InvalidValue: it is not a finite number.
    """
    expected = "a time in seconds since 1970"
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise InvalidType(place, value, expected)
    if not -1e12 < value < 1e12:
        raise InvalidValue(place, value, expected)
    return float(value)


FILE = "sqlite:///"
SERVER = ("postgresql://", "postgres://")
_HIDDEN = "***"


def check_url(url: object) -> None:
    """Check the address of a store.

    Raises:
        InvalidValue: it is invalid.
    """
    if not isinstance(url, str):
        raise InvalidType("the address of a store", url, "a string such as 'sqlite:///brim.db'")
    if not url.startswith(SERVER) and (not url.startswith(FILE) or url == FILE):
        known = "'sqlite:///brim.db', 'sqlite:///:memory:' or 'postgresql://user@host/db'"
        raise InvalidValue("the address of a store", shown_url(url), f"like {known}")


def shown_url(url: str) -> str:
    """Return an address without its password and its options, which may contain one."""
    if url.startswith(FILE):
        return url
    try:
        parts = urlsplit(url)
        user, host = parts.username, parts.netloc.rpartition("@")[2]
    except ValueError:
        return SERVER[0]
    scheme = "postgresql" if url.startswith(SERVER) else parts.scheme
    return f"{scheme}://{user + '@' if user else ''}{host}{parts.path}" if parts.scheme else host or parts.path


def without_secrets(text: str, url: str) -> str:
    """Return an error message without the password and the options of an address."""
    try:
        parts = urlsplit(url)
        options = [value for _, value in parse_qsl(parts.query)]
        found = [parts.password or "", unquote(parts.password or ""), parts.query, *options]
    except ValueError:
        found = [url, url.partition("://")[2]]
    for secret in sorted(found, key=len, reverse=True):
        if secret:
            text = text.replace(secret, _HIDDEN)
    return text
