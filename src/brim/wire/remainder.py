"""The texts of a request that no reader of its format has counted.

A reader takes from a message what it understands. What is left counts too, unless `uncounted_fields` has the reason why
not: a field that nobody knows is still sent, and a prompt must fit with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import Any

from brim.errors import InvalidType
from brim.wire.message import MEDIA, Message, Path, Piece
from brim.wire.uncounted_fields import (
    BODY_FIELDS,
    BODY_LABELS,
    LABEL,
    MEDIA_FIELDS,
    MESSAGE_FIELDS,
    MESSAGE_LABELS,
    TOOL_LABELS,
    folded,
)
from brim.wire.values import encoded, json_of, plain

_BY_VALUE = ("thinking", "result", *MEDIA)
"""Kinds of pieces whose place holds more than what they count."""


class _State(IntEnum):
    """What is known of a value, from least to most."""

    EMPTY = 0
    """It has no text that counts."""
    UNKNOWN = 1
    """Nobody has counted any text of it."""
    KNOWN = 2
    """Some of it was counted; what was not is reported already."""


Node = tuple[_State, Any]
_EMPTY: Node = (_State.EMPTY, None)
_KNOWN: Node = (_State.KNOWN, None)


def with_remainder(message: Message, index: int) -> Message:
    """Return a message with one more piece for each part of it that its format does not know.

    Raises:
        InvalidType: it cannot be written as JSON.
    """
    if message.whole:
        return message
    found = _MessageRemainder(message, index).pieces
    return message._replace(pieces=(*message.pieces, *found)) if found else message


def shown_fields(fields: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the fields of a body that count besides messages, system prompt and tools, without what is listed.

    Raises:
        InvalidType: it is not a mapping, or nested too deep.
    """
    if not isinstance(fields, Mapping | None):
        raise InvalidType("fields", fields, "the other fields of a request by name")
    shown = {}
    for key, value in (fields or {}).items():
        if len(key) <= LABEL and folded(key) in BODY_FIELDS:
            continue
        try:
            state, left = _BodyRemainder().node(value, (key,), key)
        except RecursionError as error:
            raise InvalidType(f"fields {key}", value, f"JSON ({error})") from error
        if state is _State.UNKNOWN or len(key) > LABEL:
            shown[key] = left
    return shown


def shown_of_tool(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a tool definition that count besides its name, description and schema."""
    found = {key: _ToolRemainder().node(value, (), key) for key, value in fields.items()}
    return {key: left for key, (state, left) in found.items() if state is _State.UNKNOWN or len(key) > LABEL}


class _Remainder:
    """One walk through a value: which texts of it have not been counted."""

    def node(self, value: Any, at: Path, key: object) -> Node:
        """Return the state of a value at a place, and the value without what is listed."""
        value = value if isinstance(value, str | dict | list) else plain(value)
        if isinstance(value, str | bytes):
            return self.text(value, at, key) if value else _EMPTY
        if isinstance(value, Mapping):
            return self._joined({name: self._entry(each, (*at, name), name) for name, each in value.items()}, at)
        if isinstance(value, list | tuple):
            return self._joined({i: self.node(each, (*at, i), key) for i, each in enumerate(value)}, at)
        return _State.EMPTY, value

    def text(self, value: str | bytes, at: Path, key: object) -> Node:
        """Return the state of a text that is not empty."""
        raise NotImplementedError

    def report(self, value: Any, at: Path) -> None:
        """Take a part of a known value that nobody has counted."""

    def _entry(self, value: Any, at: Path, name: object) -> Node:
        state, left = self.node(value, at, name)
        if state is _State.EMPTY and isinstance(name, str) and len(name) > LABEL:
            return _State.UNKNOWN, left  # The name itself is a text.
        return state, left

    def _joined(self, nodes: dict[Any, Node], at: Path) -> Node:
        """Return the state of a mapping or a list from those of its values, and report the unknown ones of a known."""
        most = max((state for state, _ in nodes.values()), default=_State.EMPTY)
        if most is not _State.KNOWN:
            listed = {key: left for key, (state, left) in nodes.items() if state or left is not None}
            whole: Any = listed if not nodes or not isinstance(next(iter(nodes)), int) else list(listed.values())
            return most, whole
        for key, (state, left) in nodes.items():
            if state is _State.UNKNOWN:
                self.report({key: left} if isinstance(key, str) else left, (*at, key))
        return _KNOWN


class _MessageRemainder(_Remainder):
    """The remainder of a message."""

    def __init__(self, message: Message, index: int) -> None:
        self._place = f"messages[{index}]"
        self._counted = {piece.at for piece in message.pieces if piece.kind not in _BY_VALUE}
        self._media = [piece.at for piece in message.pieces if piece.kind in MEDIA]
        self._sealed = [piece.at for piece in message.pieces if piece.kind in MEDIA or piece.kind == "thinking"]
        self._known = Counter(_values(message))
        self.pieces: list[Piece] = []
        try:
            state, left = self.node(message.raw, (), "")
        except RecursionError as error:
            raise InvalidType(self._place, message.raw, f"JSON ({error})") from error
        if state is _State.UNKNOWN:
            self.report(left, ())

    def node(self, value: Any, at: Path, key: object) -> Node:
        """Return the state of a value at a place; what a piece has counted as a whole is known."""
        if at in self._counted:
            return _KNOWN
        return _EMPTY if folded(key) in MESSAGE_FIELDS else super().node(value, at, key)

    def text(self, value: str | bytes, at: Path, key: object) -> Node:
        """Return the state of a text: listed, counted by a piece, or unknown."""
        name = folded(key)
        if isinstance(value, bytes):
            return _KNOWN if _inside(at, self._sealed) else (_State.UNKNOWN, encoded(value))
        if name in MESSAGE_LABELS and len(value) <= LABEL:
            return _EMPTY
        if self._known[value] > 0:
            self._known[value] -= 1
            return _KNOWN
        return _EMPTY if name in MEDIA_FIELDS and _inside(at, self._media) else (_State.UNKNOWN, value)

    def report(self, value: Any, at: Path) -> None:
        """Add a piece for a part that nobody has counted."""
        self.pieces.append(Piece("remainder", json_of(value, self._place), at))


class _BodyRemainder(_Remainder):
    """The remainder of the fields of a body."""

    def node(self, value: Any, at: Path, key: object) -> Node:
        """Return the state of a value at a place; what the list has, however long, is empty."""
        return _EMPTY if _listed(at, BODY_FIELDS) else super().node(value, at, key)

    def text(self, value: str | bytes, at: Path, key: object) -> Node:  # noqa: ARG002
        """Return the state of a text: listed or unknown."""
        if isinstance(value, bytes):
            return _State.UNKNOWN, encoded(value)
        return _EMPTY if len(value) <= LABEL and _listed(at, BODY_LABELS) else (_State.UNKNOWN, value)


class _ToolRemainder(_Remainder):
    """The remainder of a tool definition."""

    def text(self, value: str | bytes, at: Path, key: object) -> Node:  # noqa: ARG002
        """Return the state of a text: a label or unknown."""
        if isinstance(value, bytes):
            return _State.UNKNOWN, encoded(value)
        return _EMPTY if len(value) <= LABEL and folded(key) in TOOL_LABELS else (_State.UNKNOWN, value)


def _values(message: Message) -> Iterator[str]:
    """Yield the texts that the pieces of a message count apart from those at their own place."""
    yield message.name
    for piece in message.pieces:
        yield piece.id
        if piece.kind in _BY_VALUE:
            yield piece.text
        if piece.kind not in MEDIA:
            yield piece.name


def _inside(at: Path, places: list[Path]) -> bool:
    return any(at[: len(place)] == place for place in places)


def _listed(at: Path, table: Mapping[str, str]) -> bool:
    """Return whether a table has the path to a place, or to a field around it."""
    path = ""
    for key in at:
        if isinstance(key, str):
            path = f"{path}.{folded(key)}" if path else folded(key)
            if path in table:
                return True
    return False
