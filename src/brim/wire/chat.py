"""Messages of OpenAI Chat Completions, a format that most other servers accept too."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from brim.errors import InvalidType
from brim.wire.base import Wire, fields_of, mapping_at, opaque, parts_of, role_of, text_at
from brim.wire.message import Message, Path, Piece, message_of

ROLES = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
PART_TYPES = {"image_url", "input_audio", "refusal", "file"}
"""Types of parts that occur only in this format."""
OWN_KEYS = {"tool_calls", "tool_call_id", "function_call", "refusal", "audio", "annotations", "reasoning_content"}
"""Fields of messages that occur only in this format."""
_CONTENT = ("content",)
_THOUGHTS = ("reasoning_content", "reasoning")


class OpenAIChat(Wire):
    """The format of Chat Completions."""

    name = "openai"
    told = True

    def parse(self, raw: Any, index: int) -> Message:
        """Return a caller's object as a message, without fields that the format does not know.

        Raises:
            InvalidValue: it is invalid; the error names its index and the problem.
        """
        values, place = fields_of(raw, index), f"messages[{index}]"
        role = role_of(values, index, ROLES)
        pieces: list[Piece] = []
        if role == "tool":
            answered = text_at(values, "tool_call_id" if values.get("role") == "tool" else "name", place)
            pieces.append(Piece("result", "", _CONTENT, answered, place=()))
        pieces += _contents(values.get("content"), "output" if role == "tool" else "text", f"{place} content")
        for key in ("refusal", *_THOUGHTS):
            said = values.get(key)
            if isinstance(said, str) and said:
                pieces.append(Piece("thinking" if key in _THOUGHTS else "text", said, (key,)))
        if role == "assistant":
            pieces += _calls(values, place)
        name = values.get("name")
        if name is not None and not isinstance(name, str):
            raise InvalidType(f"{place} name", name, "a string")
        return message_of(role, pieces, raw, name or "")


WIRE = OpenAIChat()


def _contents(content: Any, kind: str, place: str) -> list[Piece]:
    if isinstance(content, str):
        return [Piece(kind, content, _CONTENT)]
    return parts_of(content, _CONTENT, place, partial(_part, kind), "a text, a list of parts, or None")


def _part(kind: str, part: Any, at: Path, place: str) -> list[Piece]:
    if isinstance(part, str):
        return [Piece(kind, part, at)]
    values = mapping_at(part, place)
    sort = values.get("type")
    if sort in ("text", "refusal") and isinstance(values.get(sort), str):
        return [Piece(kind, values[sort], (*at, sort), place=at)]
    body = values.get(str(sort))
    media = body if isinstance(body, Mapping) else {"url": body}
    if sort == "image_url":
        return [Piece("image", str(media.get("url") or ""), at, name=str(media.get("detail") or ""))]
    if sort in ("input_audio", "file"):
        name, key = ("audio", "data") if sort == "input_audio" else ("file", "file_data")
        return [Piece(name, str(media.get(key) or ""), at)]
    return [opaque(part, at, place)]


def _calls(values: Mapping[str, Any], place: str) -> list[Piece]:
    pieces = []
    old = values.get("function_call")
    if isinstance(old, Mapping):
        name = text_at(old, "name", f"{place} function_call")
        at = ("function_call", "arguments")
        pieces.append(Piece("call", str(old.get("arguments") or ""), at, name, name, ("function_call",)))
    return pieces + parts_of(values.get("tool_calls"), ("tool_calls",), f"{place} tool_calls", _call, "a list of calls")


def _call(call: Any, at: Path, place: str) -> list[Piece]:
    fields = mapping_at(call, place)
    own, inner = ("custom", "input") if fields.get("type") == "custom" else ("function", "arguments")
    id_ = text_at(fields, "id", place)
    body = mapping_at(fields.get(own), f"{place} {own}")
    name = text_at(body, "name", f"{place} {own}")
    said = body.get(inner)
    if said is not None and not isinstance(said, str):
        raise InvalidType(f"{place} {own} {inner}", said, "a string: the arguments as JSON")
    return [Piece("call", said or "", (*at, own, inner), id_, name, at)]
