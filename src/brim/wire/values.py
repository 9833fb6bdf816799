"""The values of a message: mappings, a client library's own objects, and both as JSON."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from brim.errors import InvalidType


def plain(raw: Any) -> Any:
    """Return a message as a mapping: the message itself, or the fields of a dataclass or a client library's object."""
    if type(raw) is dict or isinstance(raw, Mapping):
        return raw
    dump = getattr(raw, "model_dump", None) or getattr(raw, "to_dict", None)
    if isinstance(raw, type) or not callable(dump):
        is_record = is_dataclass(raw) and not isinstance(raw, type)
        return {each.name: getattr(raw, each.name) for each in fields(raw)} if is_record else raw
    try:
        return dump(exclude_unset=True)
    except TypeError:  # Another method of the same name.
        return dump()


def encoded(data: Any) -> str:
    """Return the data of an image or a file, bytes or base64, as base64."""
    return b64encode(data).decode() if isinstance(data, bytes | bytearray) else str(data or "")


def json_of(value: Any, place: str) -> str:
    """Return a value as compact JSON.

    Raises:
        InvalidType: it cannot be written as JSON.
    """
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_written)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidType(place, value, f"JSON ({error})") from error


def object_in(text: str) -> dict[str, Any] | None:
    """Return the JSON object in a text; `None` if the text is something else."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _written(value: Any) -> Any:
    """Return the JSON value of a client library's object, or of a mapping that is not a `dict`."""
    known = encoded(value) if isinstance(value, bytes | bytearray) else plain(value)
    return dict(known) if isinstance(known, Mapping) else known
