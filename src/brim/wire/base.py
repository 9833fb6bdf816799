"""What a wire shape is, and how one message is changed without touching the rest of it."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any, Literal, Protocol

from brim.errors import InvalidType, InvalidValue
from brim.wire.message import Message, Path, Piece

GONE = object()
"""In an edit: the place is removed."""
MEDIA = ("image", "audio", "file")
"""Kinds of pieces that are no text."""

Format = Literal["openai", "responses", "anthropic"]
"""The names of the formats: Chat Completions, Responses items, Anthropic Messages."""

MESSAGE_KEYS = ("messages", "input")
"""Keys of a request body that hold its messages."""
ANSWER_LIMIT_KEYS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
"""Keys of a request body that hold the most tokens of the answer."""


class Wire(Protocol):
    """One vendor's shape of a message."""

    name: str
    provider: str
    """Whose rules for images and schemas hold."""
    pairs: bool
    """Whether user and model must take turns, the user first."""
    batches: bool
    """Whether what the model says at one time comes in several messages."""
    adjacent: bool
    """Whether a result must follow its call with nothing between."""
    binds: bool
    """Whether thinking may be refused once something before it has changed."""

    def read(self, raw: Any, index: int) -> Message:
        """Return the message of a caller's object.

        Raises:
            InvalidValue: it is none; the error names its index and what is wrong with it.
        """

    def say(self, text: str) -> Any:
        """Return a message from the user with this text."""

    def append(self, raw: Any, text: str) -> Any:
        """Return a copy of a message with this text after its own."""


def plain(raw: Any) -> Any:
    """Return a message as a mapping: itself, or the fields of a client library's own object."""
    if isinstance(raw, Mapping):
        return raw
    dump = getattr(raw, "model_dump", None) or getattr(raw, "to_dict", None)
    if isinstance(raw, type) or not callable(dump):
        return raw
    try:
        return dump(exclude_unset=True)
    except TypeError:  # Not the method of that name that we know.
        return dump()


def jsonable(value: Any) -> Any:
    """Return a message as JSON values: a client library's own objects become the fields that were set."""
    known = plain(value)
    if isinstance(known, Mapping):
        return {key: jsonable(each) for key, each in known.items()}
    if isinstance(known, list | tuple):
        return [jsonable(each) for each in known]
    return known


def fields_of(raw: Any, index: int) -> Mapping[str, Any]:
    """Return the fields of a message.

    Raises:
        InvalidType: it is not a message.
    """
    values = plain(raw)
    if not isinstance(values, Mapping):
        raise InvalidType(f"messages[{index}]", raw, "a message: a mapping with a role and content")
    return values


def mapping_at(part: Any, place: str) -> Mapping[str, Any]:
    """Return the fields of a part of a message.

    Raises:
        InvalidType: it has none.
    """
    values = plain(part)
    if not isinstance(values, Mapping):
        raise InvalidType(place, part, "a mapping")
    return values


def kinds_of(content: Any) -> list[Any]:
    """Return the types of the parts of a content; none of a text."""
    parts = [plain(part) for part in content] if isinstance(content, list | tuple) else []
    return [part.get("type") for part in parts if isinstance(part, Mapping)]


def role_of(values: Mapping[str, Any], index: int, roles: Mapping[str, str]) -> str:
    """Return who speaks, in brim's words.

    Raises:
        InvalidValue: the role is missing or none of `roles`.
    """
    role = values.get("role")
    known = roles.get(role) if isinstance(role, str) else None
    if known is None:
        raise InvalidValue(f"messages[{index}] role", role, f"one of {', '.join(map(repr, roles))}")
    return known


def text_at(values: Any, key: str, place: str) -> str:
    """Return a text that has to be there.

    Raises:
        InvalidType: it is not, or it is no text.
    """
    found = values.get(key) if isinstance(values, Mapping) else None
    if not isinstance(found, str):
        raise InvalidType(f"{place} {key}", found, "a text")
    return found


def opaque(value: Any, at: Path, place: str) -> Piece:
    """Return the piece of something unknown, counted as its JSON.

    Raises:
        InvalidType: it cannot be written as JSON, so it cannot be sent either.
    """
    return Piece("opaque", json_of(value, place), at)


def json_of(value: Any, place: str) -> str:
    """Return a value as compact JSON.

    Raises:
        InvalidType: it cannot be written so.
    """
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=plain)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidType(place, value, f"JSON ({error})") from error


def changed(raw: Any, edits: Mapping[Path, Any]) -> Any:
    """Return a copy of a message in which the places of `edits` hold other values; the rest is the caller's own.

    A client library's object comes back as the mapping of the fields that were set.
    """
    return _changed(raw, dict(edits))


def _changed(value: Any, edits: dict[Path, Any]) -> Any:
    """Return a copy of one level, each edit passed on to the level below it."""
    by_key: dict[str | int, dict[Path, Any]] = {}
    for path, new in edits.items():
        by_key.setdefault(path[0], {})[path[1:]] = new
    value = plain(value)
    copied: Any = dict(value) if isinstance(value, Mapping) else list(value)
    for key in sorted(by_key, key=str) if isinstance(copied, dict) else sorted(by_key, reverse=True):
        below = by_key[key]
        if () not in below:
            copied[key] = _changed(copied[key], below)
        elif below[()] is GONE:
            del copied[key]
        else:
            copied[key] = below[()]
    return copied


def _says(piece: Piece) -> bool:
    """Return whether a message may consist of this piece alone; providers refuse one of nothing but thinking."""
    return piece.kind in ("call", "result", *MEDIA) or (bool(piece.text) and piece.kind != "thinking")


def without(message: Message, gone: Collection[Piece]) -> Any | None:
    """Return a copy of a message without some of its pieces, or `None` where nothing is left to say."""
    places = {piece.whole for piece in gone}
    kept = [piece for piece in message.pieces if not any(piece.whole[: len(place)] == place for place in places)]
    if () in places or not any(_says(piece) for piece in kept):
        return None
    edits: dict[Path, Any] = {}
    for place in places:
        fellows = {piece.whole for piece in message.pieces if piece.whole[:-1] == place[:-1]}
        # A list that would be left empty goes with its last item: providers refuse an empty list of calls.
        whole = isinstance(place[-1], int) and fellows <= places
        edits[place[:-1] if whole else place] = GONE
    return changed(message.raw, edits)
