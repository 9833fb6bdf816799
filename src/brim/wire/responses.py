"""OpenAI Responses items: messages, calls, outputs and reasoning, each a separate item."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from brim.errors import InvalidType
from brim.wire.base import Wire, fields_of, json_of, kinds_of, mapping_at, opaque, role_of, text_at
from brim.wire.message import Message, Piece

ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
_PART_TYPES = ("input_text", "output_text", "input_image", "input_file")
_CALL_TEXTS = ("arguments", "input")
_FREE_OUTPUTS = ("function_call_output", "custom_tool_call_output")
_OUTPUT_SUFFIX = "_output"


def is_item(values: Mapping[str, Any]) -> bool:
    """Return whether a mapping can only be in this format."""
    kind = values.get("type")
    if isinstance(kind, str) and (kind in ("message", "reasoning", "item_reference", "compaction") or "_call" in kind):
        return True
    return any(kind in _PART_TYPES for kind in kinds_of(values.get("content")))


class Responses(Wire):
    """The format of the input items of the Responses API."""

    name = "responses"
    system_key = "instructions"
    list_key = "input"
    text_type = "input_text"
    batches = True
    adjacent = False

    def read(self, raw: Any, index: int) -> Message:
        """Return the message of one item.

        Raises:
            InvalidValue: it is invalid; the error names its index and the problem.
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
        if kind.endswith(_OUTPUT_SUFFIX) and (answered := _answered(values, kind, place)):
            return Message("tool", _result(values, kind, answered, place), raw, results=(answered,))
        if kind == "function_call" or values.get("call_id") is not None:
            call = text_at(values, "call_id", place)
            return Message("assistant", (_call(values, call, place),), raw, calls=(call,))
        role = ROLES.get(str(values.get("role")), "assistant")
        if kind == "image_generation_call":
            return Message(role, (Piece("image", str(values.get("result") or ""), ()),), raw)
        return Message(role, (opaque(values, (), place),), raw)

    def say(self, text: str) -> Any:
        """Return a user message with this text."""
        return {"type": "message", "role": "user", "content": text}


WIRE = Responses()


def _answered(values: Mapping[str, Any], kind: str, place: str) -> str:
    """Return the id of the call that an output answers, or an empty text; the local shell has it as `id`."""
    key = "id" if kind == "local_shell_call_output" else "call_id"
    return text_at(values, key, place) if values.get(key) is not None else ""


def _result(values: Mapping[str, Any], kind: str, call: str, place: str) -> tuple[Piece, ...]:
    """Return the pieces of an output. Only that of a function or a custom tool can be replaced by a text."""
    said = values.get("output")
    if isinstance(said, str) or kind in _FREE_OUTPUTS:
        return Piece("result", "", ("output",), call, place=()), *_contents(said, "output", "output", place)
    result = Piece("result", "", (), call, place=())
    if isinstance(said, Mapping) and said.get("type") == "computer_screenshot":
        return result, Piece("image", str(said.get("image_url") or ""), ())
    return result, Piece("opaque", json_of(_rest(values), place), ())


def _rest(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an item without its type, ids and status."""
    return {key: value for key, value in values.items() if key not in ("type", "call_id", "id", "status")}


def _contents(content: Any, key: str, kind: str, place: str) -> list[Piece]:
    if content is None:
        return []
    if isinstance(content, str):
        return [Piece(kind, content, (key,))]
    if not isinstance(content, list | tuple):
        raise InvalidType(f"{place} {key}", content, "a text or a list of parts")
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
    key = next((key for key in _CALL_TEXTS if isinstance(values.get(key), str)), None)
    if key is not None:
        return Piece("call", values[key], (key,), call, label, ())
    odd = next((key for key in _CALL_TEXTS if key in values), None)
    said = json_of(_rest(values), place) if odd is None else json_of(values[odd], f"{place} {odd}")
    return Piece("call", said, (), call, label, ())


def _reasoning(values: Mapping[str, Any], place: str) -> list[Piece]:
    """Return the pieces of a reasoning item; encrypted text is about as long as the original."""
    parts = [part for key in ("summary", "content") for part in _contents(values.get(key), key, "thinking", place)]
    pieces = [part._replace(at=(), place=()) for part in parts]
    sealed = values.get("encrypted_content")
    if isinstance(sealed, str):
        pieces.append(Piece("thinking", sealed, (), name="sealed"))
    return pieces or [Piece("thinking", "", ())]
