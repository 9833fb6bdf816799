"""Gemini contents: a separate system instruction, content in parts, results matched by id or by name.

REST bodies use camel case or snake case, the client library snake case. Both are read, and edits keep the spelling.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from brim.errors import InvalidType
from brim.wire.base import GONE, Wire, changed, fields_of, mapping_at, opaque, parts_of, snake, text_at, whole_message
from brim.wire.message import Message, Path, Piece, message_of
from brim.wire.values import encoded, json_of, object_in, plain

ROLES = {"user": "user", "model": "assistant", "function": "user", "tool": "user"}
_TEXT_KEYS = ("output", "result", "error", "content")
"""The keys that clients use for a text result."""
_LISTED = ("thoughtSignature", "thought_signature", "thought")
_TOOLS = ("googleSearch", "googleSearchRetrieval", "googleMaps", "codeExecution", "urlContext", "computerUse")
_BUILT_IN = {name for tool in (*_TOOLS, "fileSearch", "enterpriseWebSearch") for name in (tool, snake(tool))}
"""The provider's own tools, which are identified by their key."""


class Gemini(Wire):
    """The format of the contents of generateContent."""

    name = "gemini"
    provider = "google"
    pairs = True
    objects = True
    text_type = ""
    content_key = "parts"
    joins = False
    named = True
    list_key = "contents"
    system_key = "systemInstruction"

    def parse(self, raw: Any, index: int) -> Message:
        """Return a caller's object as a message, without fields that the format does not know.

        Raises:
            InvalidValue: it is invalid; the error names its index and the problem.
        """
        values = fields_of(raw, index)
        role = values.get("role")
        known = "user" if role is None or role == "" else ROLES.get(role) if isinstance(role, str) else None
        if known is None:
            raise InvalidType(f"messages[{index}] role", role, f"one of {', '.join(map(repr, ROLES))}")
        return message_of(known, _parts(values.get("parts"), f"messages[{index}]"), raw)

    def instructions(self, system: Any) -> Message:
        """Return a system instruction as a message: a text, a content, or parts."""
        values = plain(system)
        parts = values.get("parts") if isinstance(values, Mapping) and "parts" in values else values
        listed = parts if isinstance(parts, list | tuple) else [parts]
        texts = [{"text": part} if isinstance(part, str) else part for part in listed]
        whole = {**(values if parts is not values else {}), "parts": texts}
        return whole_message(lambda: message_of("system", _parts(texts, "messages[0] content"), whole), whole, 0)

    def prompt(self, text: str) -> Any:
        """Return a separate system prompt with this text."""
        return {"parts": [self.part(text)]}

    def without(self, message: Message, gone: Collection[Piece]) -> Any | None:
        """Return a copy of a message without some of its pieces, or `None` if it would be empty.

        Only the first of several calls has the required signature; if that call is removed, the next one gets it.
        """
        raw, parts = super().without(message, gone), fields_of(message.raw, 0).get("parts") or ()
        lost = [plain(parts[int(piece.whole[1])]) for piece in gone if piece.kind == "call"]
        signed = next((found for part in lost if (found := _field(part, "thoughtSignature"))[1] is not None), None)
        if raw is None or signed is None:
            return raw
        first = next((piece for piece in self.read(raw, 0).pieces if piece.kind == "call"), None)
        return raw if first is None else changed(raw, {(*first.whole, signed[0]): signed[1]})

    def value(self, piece: Piece, text: str) -> Any:
        """Return a text in the form required at the place of a piece; an object stays an object."""
        whole = piece.kind == "output" and piece.at[-1] == "response"
        return (object_in(text) or self.result(text)) if whole else super().value(piece, text)

    def omitted(self, piece: Piece, text: str) -> Any:
        """Return what replaces a part: among the media of a function response, there may be no text."""
        return GONE if len(piece.whole) > len(("parts", 0)) else self.part(text)

    def result(self, text: str) -> Any:
        """Return the response of a function with only this text."""
        return {"output": text}


WIRE = Gemini()


def definitions(tool: Mapping[str, Any]) -> list[Any] | None:
    """Return the functions of a tool of this format in the common form; `None` if the tool has another format."""
    declared = next((tool[key] for key in ("functionDeclarations", "function_declarations") if key in tool), None)
    own = next((key for key in tool if key in _BUILT_IN), None)
    if not isinstance(declared, list | tuple) and own is None:
        return None
    others = {key: value for key, value in tool.items() if value is not declared}
    return [*map(_definition, declared or ()), *([{**others, "type": own or "other"}] if others else [])]


def _definition(function: Any) -> Any:
    values = plain(function)
    if not isinstance(values, Mapping):
        return values
    key = next((key for key in ("parametersJsonSchema", "parameters_json_schema") if values.get(key)), None)
    if key is None:
        return values
    return {**{name: value for name, value in values.items() if name != key}, "parameters": values[key]}


def _field(values: Mapping[str, Any], camel: str) -> tuple[str, Any]:
    """Return the key and the value of a field, in either spelling; an unset one is `None`."""
    key = next((key for key in (camel, snake(camel)) if values.get(key) is not None), camel)
    return key, values.get(key)


def _parts(parts: Any, place: str) -> list[Piece]:
    return parts_of(parts, ("parts",), f"{place} parts", _part, "a list of parts")


def _part(part: Any, at: Path, place: str) -> list[Piece]:
    """Return the pieces of a part; a result is followed by its own pieces."""
    values = mapping_at(part, place)
    key, call = _field(values, "functionCall")
    if call is not None:
        return [_call(mapping_at(call, f"{place} {key}"), (*at, key), at, f"{place} {key}")]
    key, response = _field(values, "functionResponse")
    if response is not None:
        return _result(mapping_at(response, f"{place} {key}"), (*at, key), at, f"{place} {key}")
    if values.get("text") is not None:
        said = text_at(values, "text", place)
        return [Piece("thinking", said, at) if values.get("thought") else Piece("text", said, (*at, "text"), place=at)]
    media = _media(values, at)
    if media is not None:
        return [media]
    # A part may consist of the signature of thinking alone.
    rest = {key: value for key, value in values.items() if key not in _LISTED and value is not None}
    return [opaque(rest, at, place)] if rest else []


def _call(body: Mapping[str, Any], at: Path, place: Path, told: str) -> Piece:
    name = text_at(body, "name", told)
    said = json_of(body.get("args") or {}, f"{told} args")
    return Piece("call", said, (*at, "args"), _id(body, name), name, place)


def _result(body: Mapping[str, Any], at: Path, place: Path, told: str) -> list[Piece]:
    name = text_at(body, "name", told)
    answer = plain(body.get("response"))
    if not isinstance(answer, Mapping | None):
        raise InvalidType(f"{told} response", answer, "an object")
    pieces = [Piece("result", "", (*at, "response"), _id(body, name), name, place)]
    if answer:
        key = next(iter(answer))
        if len(answer) == 1 and key in _TEXT_KEYS and isinstance(answer[key], str):
            pieces.append(Piece("output", answer[key], (*at, "response", key)))
        else:
            pieces.append(Piece("output", json_of(answer, f"{told} response"), (*at, "response")))
    for i, part in enumerate(body.get("parts") or ()):
        values = mapping_at(part, f"{told} parts[{i}]")
        here = (*at, "parts", i)
        pieces.append(_media(values, here) or opaque(values, here, f"{told} parts[{i}]"))
    return pieces


def _id(body: Mapping[str, Any], name: str) -> str:
    """Return the id of a call or a result; without one, the name of the function."""
    found = body.get("id")
    return found if isinstance(found, str) and found else name


def _media(values: Mapping[str, Any], at: Path) -> Piece | None:
    """Return the data or the file reference in a part; `None` if it has neither."""
    for camel, source in (("inlineData", "data"), ("fileData", "fileUri")):
        _, body = _field(values, camel)
        body = plain(body)
        if not isinstance(body, Mapping):
            continue
        mime, where = str(_field(body, "mimeType")[1] or ""), _field(body, source)[1]
        kind = mime.partition("/")[0]
        # The client library writes URL-safe base64.
        data = encoded(where).replace("-", "+").replace("_", "/") if source == "data" else ""
        text = f"data:{mime};base64,{data}" if source == "data" else str(where or "")
        return Piece(kind if kind in ("image", "audio") else "file", text, at)
    return None
