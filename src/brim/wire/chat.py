"""OpenAI Chat Completions messages, which most other servers accept too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from brim.errors import InvalidType
from brim.wire.base import Wire, fields_of, kinds_of, mapping_at, opaque, role_of, text_at
from brim.wire.message import Message, Piece

ROLES = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
_PART_TYPES = ("image_url", "input_audio", "refusal", "file")
_OWN_KEYS = ("tool_calls", "tool_call_id", "function_call", "refusal", "audio", "annotations", "reasoning_content")
_CONTENT = ("content",)
_THOUGHTS = ("reasoning_content", "reasoning")


def is_chat(values: Mapping[str, Any]) -> bool:
    """Return whether a message can only be in this format."""
    if values.get("role") in ("tool", "function") or any(key in values for key in _OWN_KEYS):
        return True
    return any(kind in _PART_TYPES for kind in kinds_of(values.get("content")))


class OpenAIChat(Wire):
    """The format of Chat Completions."""

    name = "openai"
    told = True

    def parse(self, raw: Any, index: int) -> Message:
        """Return the message of a caller's object, as far as the format knows its fields.

        Raises:
            InvalidValue: it is invalid; the error names its index and the problem.
        """
        return _read(raw, fields_of(raw, index), index)


WIRE = OpenAIChat()


def _result(call: str) -> Piece:
    return Piece("result", "", _CONTENT, call, "", ())


def _read(raw: Any, values: Mapping[str, Any], index: int) -> Message:
    role = role_of(values, index, ROLES)
    content = values.get("content")
    pieces: list[Piece] = []
    answered: tuple[str, ...] = ()
    if role == "tool":
        answered = (text_at(values, "tool_call_id" if values.get("role") == "tool" else "name", f"messages[{index}]"),)
        pieces.append(_result(answered[0]))
    kind = "output" if role == "tool" else "text"
    if isinstance(content, str):
        pieces.append(Piece(kind, content, _CONTENT))
    elif isinstance(content, list | tuple):
        pieces += [_part(part, i, kind, f"messages[{index}] content[{i}]") for i, part in enumerate(content)]
    elif content is not None:
        raise InvalidType(f"messages[{index}] content", content, "a text, a list of parts, or None")
    for key in ("refusal", *_THOUGHTS):
        said = values.get(key)
        if isinstance(said, str) and said:
            pieces.append(Piece("thinking" if key in _THOUGHTS else "text", said, (key,)))
    calls = _calls(values, index) if role == "assistant" else ()
    pieces += calls
    name = values.get("name")
    if name is not None and not isinstance(name, str):
        raise InvalidType(f"messages[{index}] name", name, "a text")
    return Message(role, tuple(pieces), raw, name or "", tuple([call.id for call in calls]), answered)


def _part(part: Any, i: int, kind: str, place: str) -> Piece:
    if isinstance(part, str):
        return Piece(kind, part, ("content", i))
    values = mapping_at(part, place)
    sort = values.get("type")
    if sort in ("text", "refusal") and isinstance(values.get(sort), str):
        return Piece(kind, values[sort], ("content", i, sort), place=("content", i))
    body = values.get(str(sort))
    media = body if isinstance(body, Mapping) else {"url": body}
    if sort == "image_url":
        return Piece("image", str(media.get("url") or ""), ("content", i), name=str(media.get("detail") or ""))
    if sort == "input_audio":
        return Piece("audio", str(media.get("data") or ""), ("content", i))
    if sort == "file":
        return Piece("file", str(media.get("file_data") or ""), ("content", i))
    return opaque(part, ("content", i), place)


def _calls(values: Mapping[str, Any], index: int) -> list[Piece]:
    pieces = []
    old = values.get("function_call")
    if isinstance(old, Mapping):
        name = text_at(old, "name", f"messages[{index}] function_call")
        at = ("function_call", "arguments")
        pieces.append(Piece("call", str(old.get("arguments") or ""), at, name, name, ("function_call",)))
    calls = values.get("tool_calls")
    if calls is None:
        return pieces
    if not isinstance(calls, list | tuple):
        raise InvalidType(f"messages[{index}] tool_calls", calls, "a list of calls")
    place = f"messages[{index}] tool_calls"
    return pieces + [_call(call, i, f"{place}[{i}]") for i, call in enumerate(calls)]


def _call(call: Any, i: int, place: str) -> Piece:
    fields = mapping_at(call, place)
    own, inner = ("custom", "input") if fields.get("type") == "custom" else ("function", "arguments")
    id_ = text_at(fields, "id", place)
    body = mapping_at(fields.get(own), f"{place} {own}")
    name = text_at(body, "name", f"{place} {own}")
    said = body.get(inner)
    if said is not None and not isinstance(said, str):
        raise InvalidType(f"{place} {own} {inner}", said, "a text: the arguments as JSON")
    return Piece("call", said or "", ("tool_calls", i, own, inner), id_, name, ("tool_calls", i))
