"""OpenAI Responses items: messages, calls, outputs and reasoning, each a separate item."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from brim.errors import InvalidType
from brim.wire.base import Wire, fields_of, framed, mapping_at, opaque, parts_of, role_of, text_at
from brim.wire.message import Message, Path, Piece, message_of
from brim.wire.remainder import LABEL
from brim.wire.values import json_of, plain

ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
PART_TYPES = {"input_text", "output_text", "input_image", "input_file"}
"""Types of parts that occur only in this format."""
COMPACTIONS = ("compaction", "compaction_summary", "context_compaction")
"""Types of compaction items; the last two come from Codex."""
TRIGGER = "compaction_trigger"
"""The type of an item that requests a compaction; it must be the last item."""
ITEM_TYPES = {"message", "reasoning", "item_reference", TRIGGER, *COMPACTIONS}
"""Types of items, besides all kinds of calls and their outputs."""
_CALL_TEXTS = ("arguments", "input")
_FREE_OUTPUTS = ("function_call_output", "custom_tool_call_output")
_OUTPUT_SUFFIX = "_output"
_TEXTS: dict[str, tuple[tuple[str, ...], ...]] = {
    "shell_call_output": (("output", "stdout"), ("output", "stderr")),
    "file_search_call": (("results", "text"),),
    "code_interpreter_call": (("outputs", "logs"),),
    "mcp_call": (("output",), ("error",), ("error", "message")),
}
"""The editable texts of results, by the type of the item: the keys to each, also inside lists.

`web_search_call` has none; the texts of `tool_search_output` and `mcp_list_tools` are tool definitions.
"""
_LABELS = ("type", "call_id", "id", "status")


class Responses(Wire):
    """The format of the input items of the Responses API."""

    name = "responses"
    system_key = "instructions"
    list_key = "input"
    text_type = "input_text"
    batches = True
    adjacent = False

    def parse(self, raw: Any, index: int) -> Message:
        """Return one item as a message, without fields that the format does not know.

        Raises:
            InvalidValue: it is invalid; the error names its index and the problem.
        """
        values = fields_of(raw, index)
        place = f"messages[{index}]"
        kind = values.get("type") or "message"
        if not isinstance(kind, str):
            raise InvalidType(f"{place} type", kind, "a string")
        if kind == "message":
            role = role_of(values, index, ROLES)
            return message_of(role, _contents(values.get("content"), "content", "text", place), raw)
        if kind == "reasoning":
            return message_of("assistant", _reasoning(values, place), raw)
        if kind in COMPACTIONS:
            return message_of("assistant", [_compaction(values)], raw)
        if kind == TRIGGER:
            return message_of("system", [Piece("unread", "", ())], raw)
        if kind.endswith(_OUTPUT_SUFFIX) and (answered := _answered(values, kind, place)):
            return message_of("tool", _result(values, kind, answered, place), raw)
        if kind not in _TEXTS and (kind == "function_call" or values.get("call_id") is not None):
            call = text_at(values, "call_id", place)
            return message_of("assistant", [_call(values, call, place)], raw)
        role = ROLES.get(str(values.get("role")), "assistant")
        if kind == "image_generation_call":
            return message_of(role, [Piece("image", str(values.get("result") or ""), ())], raw)
        texts = _texts(values, kind)
        return message_of(role, framed(values, (), texts, place) if texts else [opaque(values, (), place)], raw)

    def say(self, text: str) -> Any:
        """Return a user message with this text."""
        return {"type": "message", "role": "user", "content": text}


WIRE = Responses()


def _compaction(values: Mapping[str, Any]) -> Piece:
    """Return a compaction; an empty one is meaningless."""
    sealed = values.get("encrypted_content")
    if not isinstance(sealed, str) or not sealed:
        return Piece("unread", "", ())
    return Piece("compaction", sealed, (), name="sealed")


def _answered(values: Mapping[str, Any], kind: str, place: str) -> str:
    """Return the id of the call that an output answers, or an empty string; a local shell may have it in `id`."""
    key = "id" if kind == "local_shell_call_output" and values.get("call_id") is None else "call_id"
    return text_at(values, key, place) if values.get(key) is not None else ""


def _result(values: Mapping[str, Any], kind: str, call: str, place: str) -> tuple[Piece, ...]:
    """Return the pieces of an output. Only the output of a function or a custom tool can be replaced by a text."""
    said = values.get("output")
    if isinstance(said, str) or kind in _FREE_OUTPUTS:
        return Piece("result", "", ("output",), call, place=()), *_contents(said, "output", "output", place)
    result = Piece("result", "", (), call, place=())
    if isinstance(said, Mapping) and said.get("type") == "computer_screenshot":
        return result, Piece("image", str(said.get("image_url") or ""), ())
    if texts := _texts(values, kind):
        return result, *framed(_rest(values), (), texts, place)
    return result, Piece("opaque", json_of(_rest(values), place), ())


def _texts(values: Mapping[str, Any], kind: str) -> list[Piece]:
    """Return the editable texts of an item in order."""
    texts = (piece for keys in _TEXTS.get(kind, ()) for piece in _texts_at(values, keys, ()))
    return sorted(texts, key=lambda piece: piece.at[:2])


def _texts_at(value: Any, keys: tuple[str, ...], at: Path) -> Iterator[Piece]:
    """Yield the texts at a path of keys; for a list on the way, those in each entry."""
    value = plain(value)
    if isinstance(value, list | tuple):
        for i, each in enumerate(value):
            yield from _texts_at(each, keys, (*at, i))
    elif keys and isinstance(value, Mapping):
        yield from _texts_at(value.get(keys[0]), keys[1:], (*at, keys[0]))
    elif not keys and isinstance(value, str) and value:
        yield Piece("output", value, at)


def _rest(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an item, except a type, ids and a status no longer than a label."""
    return {key: value for key, value in values.items() if key not in _LABELS or len(str(value)) > LABEL}


def _contents(content: Any, key: str, kind: str, place: str) -> list[Piece]:
    if isinstance(content, str):
        return [Piece(kind, content, (key,))]
    return parts_of(content, (key,), f"{place} {key}", partial(_part, kind), "a text or a list of parts")


def _part(kind: str, part: Any, at: Path, place: str) -> list[Piece]:
    values = mapping_at(part, place)
    sort = values.get("type")
    for field in ("text", "refusal"):
        if isinstance(values.get(field), str):
            return [Piece(kind, values[field], (*at, field), place=at)]
    if sort in ("input_image", "computer_screenshot"):
        return [Piece("image", str(values.get("image_url") or ""), at, name=str(values.get("detail") or ""))]
    if sort == "input_file":
        return [Piece("file", str(values.get("file_data") or values.get("file_url") or ""), at)]
    if sort == "input_audio":
        return [Piece("audio", str(values.get("data") or ""), at)]
    return [opaque(part, at, place)]


def _call(values: Mapping[str, Any], call: str, place: str) -> Piece:
    name = values.get("name")
    label = name if isinstance(name, str) else str(values.get("type"))
    key = next((key for key in _CALL_TEXTS if isinstance(values.get(key), str)), None)
    if key is not None:
        return Piece("call", values[key], (key,), call, label, ())
    odd = next((key for key in _CALL_TEXTS if key in values), None)
    if odd is not None:
        json_of(values[odd], f"{place} {odd}")  # The error has the key.
    return Piece("call", json_of(_rest(values), place), (), call, label, ())


def _reasoning(values: Mapping[str, Any], place: str) -> list[Piece]:
    """Return the pieces of a reasoning item; encrypted text is assumed to be as long as plain text."""
    parts = [part for key in ("summary", "content") for part in _contents(values.get(key), key, "thinking", place)]
    pieces = [part._replace(at=(), place=()) for part in parts]
    sealed = values.get("encrypted_content")
    if isinstance(sealed, str):
        pieces.append(Piece("thinking", sealed, (), name="sealed"))
    return pieces or [Piece("thinking", "", ())]
