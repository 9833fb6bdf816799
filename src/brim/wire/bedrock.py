"""Bedrock Converse: a separate system prompt, content in blocks without a type, results inside user messages."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from brim.wire.base import (
    Wire,
    fields_of,
    framed,
    is_cited,
    mapping_at,
    opaque,
    ordered,
    parts_of,
    role_of,
    text_at,
)
from brim.wire.message import Message, Path, Piece, message_of
from brim.wire.remainder import LABEL
from brim.wire.values import encoded, json_of, object_in, plain

ROLES = {"user": "user", "assistant": "assistant", "system": "system"}
_MEDIA = {"image": "image", "audio": "audio", "document": "file", "video": "file"}
BLOCKS = {
    *("text", "toolUse", "toolResult", "reasoningContent", "guardContent", "citationsContent", "searchResult"),
    *("cachePoint", *_MEDIA),
}
"""The keys that identify the kind of a block, instead of a type."""


class Bedrock(Wire):
    """The format of the operations Converse and ConverseStream."""

    name = "bedrock"
    provider = "anthropic"  # Most of its models are Anthropic's, which have the strictest rules.
    pairs = True
    binds = True
    objects = True
    text_type = ""
    joins = False
    blank = False
    system_key = "system"
    model_key = "modelId"
    tools_at = ("toolConfig", "tools")

    def parse(self, raw: Any, index: int) -> Message:
        """Return a caller's object as a message, without fields that the format does not know.

        Raises:
            InvalidValue: it is invalid; the error names its index and the problem.
        """
        values = fields_of(raw, index)
        role = role_of(values, index, ROLES)
        pieces = _contents(values.get("content"), ("content",), "text", f"messages[{index}]")
        return message_of(role, ordered(pieces), raw)

    def prompt(self, text: str) -> Any:
        """Return a separate system prompt with this text."""
        return [self.part(text)]

    def instructions(self, system: Any) -> Message:
        """Return a separate system prompt as a message; it may be a text or blocks.

        Raises:
            InvalidValue: it is invalid; the error calls it the content of the first message.
        """
        return super().instructions(self.prompt(system) if isinstance(system, str) else system)

    def value(self, piece: Piece, text: str) -> Any:
        """Return a text in the form required at the place of a piece; an object stays an object."""
        if piece.kind == "output" and piece.at[-1] != "text":
            known = object_in(text)
            return {"text": text} if known is None else {"json": known}
        return super().value(piece, text)

    def result(self, text: str) -> Any:
        """Return the content of a result with only this text."""
        return [self.part(text)]


WIRE = Bedrock()


def definitions(tool: Mapping[str, Any]) -> list[Any] | None:
    """Return a tool of this format in the common form; `None` if the tool has another format."""
    if "cachePoint" in tool and len(tool) == 1:
        return [{**tool, "type": "cachePoint"}] if len(str(tool)) > LABEL else []
    body = tool.get("toolSpec")
    if not isinstance(body, Mapping):
        return None
    schema = body.get("inputSchema")
    inner = schema.get("json") if isinstance(schema, Mapping) else schema
    others = {key: value for key, value in tool.items() if key != "toolSpec"}
    if isinstance(schema, Mapping) and len(schema) > 1:
        others["schema"] = {key: value for key, value in schema.items() if key != "json"}
    return [{**body, **others, **({} if schema is None else {"inputSchema": inner})}]


def _key(block: Mapping[str, Any]) -> str:
    """Return the key that identifies the kind of a block."""
    return next((key for key in block if key in BLOCKS), "")


def _contents(content: Any, at: Path, kind: str, place: str) -> list[Piece]:
    """Return the pieces of the content of a message or of a result."""
    return parts_of(content, at, f"{place} content", partial(_block, kind), "a list of blocks")


def _block(kind: str, block: Any, at: Path, place: str) -> list[Piece]:
    """Return the pieces of a block; a result is followed by its own pieces. A cache mark has none."""
    values = mapping_at(block, place)
    key = "json" if kind == "output" and "json" in values else _key(values)
    body = values.get(key)
    if key == "text":
        return [Piece(kind, text_at(values, "text", place), (*at, "text"), place=at)]
    if key == "json":
        return [Piece(kind, json_of(body if len(values) == 1 else values, f"{place} json"), at)]
    if key == "cachePoint":
        return []
    if key in _MEDIA:
        return _media(key, body, block, at, place)
    if key in ("toolUse", "toolResult", "reasoningContent"):
        inner = mapping_at(body, f"{place} {key}")
        read = {"toolUse": _call, "toolResult": _result, "reasoningContent": _thinking}[key]
        return read(inner, at, f"{place} {key}")
    if key == "searchResult":
        return _framed(block, at, _texts(body, body, (*at, key), place), place)
    return [opaque(block, at, place)]


def _call(body: Mapping[str, Any], at: Path, place: str) -> list[Piece]:
    said = json_of(body.get("input"), f"{place} input")
    id_, name = text_at(body, "toolUseId", place), text_at(body, "name", place)
    return [Piece("call", said, (*at, "toolUse", "input"), id_, name, at)]


def _result(body: Mapping[str, Any], at: Path, place: str) -> list[Piece]:
    inner = (*at, "toolResult", "content")
    outputs = _contents(body.get("content"), inner, "output", place)
    return [Piece("result", "", inner, text_at(body, "toolUseId", place), place=at), *outputs]


def _thinking(body: Mapping[str, Any], at: Path, place: str) -> list[Piece]:
    if "reasoningText" in body:
        said = mapping_at(body["reasoningText"], f"{place} reasoningText")
        return [Piece("thinking", text_at(said, "text", f"{place} reasoningText"), at)]
    return [Piece("thinking", encoded(body.get("redactedContent")), at, name="sealed")]


def _media(key: str, body: Any, block: Any, at: Path, place: str) -> list[Piece]:
    values = mapping_at(body, f"{place} {key}")
    source = plain(values.get("source"))
    source = source if isinstance(source, Mapping) else {}
    if source.keys().isdisjoint(("bytes", "s3Location", "location")):  # Strands calls the address `location`.
        return _framed(block, at, _texts(values, source, (*at, key, "source"), place), place)
    return [Piece(_MEDIA[key], encoded(source.get("bytes")), at)]


def _texts(body: Any, values: Any, at: Path, place: str) -> list[Piece]:
    """Return the texts of a document or a search result that may be cut; `values` is the part of it with the texts."""
    body, values = plain(body), plain(values)
    if not isinstance(values, Mapping) or is_cited(body):
        return []
    if isinstance(values.get("text"), str):
        return [Piece("output", values["text"], (*at, "text"))]
    content = values.get("content")
    return _contents(content, (*at, "content"), "output", place) if isinstance(content, list | tuple) else []


def _framed(block: Any, at: Path, texts: list[Piece], place: str) -> list[Piece]:
    """Return a block as its texts and the rest, or as one piece if it has no texts."""
    return framed(block, at, texts, place) if texts else [opaque(block, at, place)]
