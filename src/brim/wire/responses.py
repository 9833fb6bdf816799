"""OpenAI Responses items: messages, calls, outputs and reasoning, each an item of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from brim.errors import InvalidType
from brim.message import Message, Piece
from brim.wire.base import changed, fields_of, json_of, mapping_at, opaque, role_of, text_at

ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
_PART_TYPES = ("input_text", "output_text", "input_image", "input_file")
_CALL_TEXTS = ("arguments", "input", "action", "operation")
_OUTPUT_SUFFIX = "_output"


def is_item(values: Mapping[str, Any]) -> bool:
    """Return whether a mapping can only be an item of Responses."""
    kind = values.get("type")
    if isinstance(kind, str) and (kind in ("message", "reasoning", "item_reference", "compaction") or "_call" in kind):
        return True
    content = values.get("content")
    kinds = [part.get("type") for part in content if isinstance(part, Mapping)] if isinstance(content, list) else []
    return any(kind in _PART_TYPES for kind in kinds)


class Responses:
    """The shape of the items that the Responses API takes as input."""

    name = "responses"
    provider = "openai"
    pairs = False
    batches = True
    adjacent = False
    binds = False

    def read(self, raw: Any, index: int) -> Message:
        """Return the message of one item.

        Raises:
            InvalidValue: it is none; the error names its index and what is wrong with it.
        """
        values = fields_of(raw, index)
        place = f"messages[{index}]"
        kind = values.get("type") or "message"
        if not isinstance(kind, str):
            raise InvalidType(f"{place} type", kind, "a text")
        if kind == "message":
            role = role_of(values, index, ROLES)
            return Message(role, tuple(_contents(values.get("content"), "content", "text", place)), raw)
        if kind == "reasoning":
            return Message("assistant", tuple(_reasoning(values, place)), raw)
        if kind.endswith(_OUTPUT_SUFFIX) and "call_id" in values:
            call = text_at(values, "call_id", place)
            outputs = _contents(values.get("output"), "output", "output", place)
            result = Piece("result", "", ("output",), call, place=())
            return Message("tool", (result, *outputs), raw, results=(call,))
        if "call_id" in values:
            call = text_at(values, "call_id", place)
            return Message("assistant", (_call(values, call, place),), raw, calls=(call,))
        return Message("assistant", (opaque(raw, (), place),), raw)

    def say(self, text: str) -> Any:
        """Return an item from the user with this text."""
        return {"type": "message", "role": "user", "content": text}

    def append(self, raw: Any, text: str) -> Any:
        """Return a copy of a message with this text after its own."""
        content = fields_of(raw, 0).get("content")
        if isinstance(content, list):
            return changed(raw, {("content",): [*content, {"type": "input_text", "text": text}]})
        return changed(raw, {("content",): f"{content}\n\n{text}" if content else text})


WIRE = Responses()


def _contents(content: Any, key: str, kind: str, place: str) -> list[Piece]:
    if content is None:
        return []
    if isinstance(content, str):
        return [Piece(kind, content, (key,))]
    if not isinstance(content, list | tuple):
        return [Piece("opaque", json_of(content, f"{place} {key}"), (key,))]
    return [_part(part, key, i, kind, f"{place} {key}[{i}]") for i, part in enumerate(content)]


def _part(part: Any, key: str, i: int, kind: str, place: str) -> Piece:
    at = (key, i)
    values = mapping_at(part, place)
    sort = values.get("type")
    for field in ("text", "refusal"):
        if isinstance(values.get(field), str):
            return Piece(kind, values[field], (*at, field), place=at)
    if sort in ("input_image", "computer_screenshot"):
        return Piece("image", str(values.get("image_url") or ""), at, name=str(values.get("detail") or ""))
    if sort == "input_file":
        return Piece("file", str(values.get("file_data") or values.get("file_url") or ""), at)
    if sort == "input_audio":
        return Piece("audio", str(values.get("data") or ""), at)
    return opaque(part, at, place)


def _call(values: Mapping[str, Any], call: str, place: str) -> Piece:
    name = values.get("name")
    label = name if isinstance(name, str) else str(values.get("type"))
    for key in _CALL_TEXTS:
        if isinstance(values.get(key), str):
            return Piece("call", values[key], (key,), call, label, ())
        if key in values:
            return Piece("call", json_of(values[key], f"{place} {key}"), (key,), call, label, ())
    return Piece("call", "", (), call, label)


def _reasoning(values: Mapping[str, Any], place: str) -> list[Piece]:
    """Return what a reasoning item holds; encrypted, it is about as long as what it stands for."""
    parts = [part for key in ("summary", "content") for part in _contents(values.get(key), key, "thinking", place)]
    pieces = [part._replace(at=(), place=()) for part in parts]
    sealed = values.get("encrypted_content")
    if isinstance(sealed, str) and not pieces:
        pieces.append(Piece("thinking", sealed, (), name="sealed"))
    return pieces or [Piece("thinking", "", ())]
