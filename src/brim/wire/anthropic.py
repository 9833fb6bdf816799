"""Anthropic Messages: a separate system prompt, content in blocks, results inside user messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from brim.errors import InvalidType
from brim.wire.base import changed, fields_of, json_of, kinds_of, mapping_at, opaque, role_of, text_at
from brim.wire.message import Message, Path, Piece

ROLES = {"user": "user", "assistant": "assistant", "system": "system"}
_BLOCKS = (
    "image",
    "tool_use",
    "tool_result",
    "thinking",
    "redacted_thinking",
    "document",
    "search_result",
    "server_tool_use",
    "container_upload",
    "compaction",
)


def is_message(values: Mapping[str, Any]) -> bool:
    """Return whether a message can only be in this format."""
    kinds = kinds_of(values.get("content"))
    # The client's own answer has the type `message`, like an item of OpenAI, but other types of text.
    return any(kind in _BLOCKS for kind in kinds) or (values.get("type") == "message" and "text" in kinds)


class Anthropic:
    """The format of the Messages API."""

    name = "anthropic"
    provider = "anthropic"
    pairs = True
    batches = False
    adjacent = True
    binds = True

    def read(self, raw: Any, index: int) -> Message:
        """Return the message of a caller's object.

        Raises:
            InvalidValue: it is invalid; the error names its index and the problem.
        """
        values = fields_of(raw, index)
        role = role_of(values, index, ROLES)
        content = values.get("content")
        if isinstance(content, str):
            return Message(role, (Piece("text", content, ("content",)),), raw)
        if content is None:
            return Message(role, (), raw)
        if not isinstance(content, list | tuple):
            raise InvalidType(f"messages[{index}] content", content, "a text or a list of blocks")
        pieces: list[Piece] = []
        for i, block in enumerate(content):
            pieces += _block(block, ("content", i), "text", f"messages[{index}] content[{i}]")
        calls = tuple(piece.id for piece in pieces if piece.kind == "call" and piece.id)
        results = tuple(piece.id for piece in pieces if piece.kind == "result")
        return Message(role, tuple(pieces), raw, "", calls, results)

    def say(self, text: str) -> Any:
        """Return a user message with this text."""
        return {"role": "user", "content": text}

    def append(self, raw: Any, text: str) -> Any:
        """Return a copy of a message with this text added at its end."""
        content = fields_of(raw, 0).get("content")
        blocks: list[Any] = list(content or [])
        if isinstance(content, str):
            blocks = [{"type": "text", "text": content}] if content else []
        return changed(raw, {("content",): [*blocks, {"type": "text", "text": text}]})


WIRE = Anthropic()


def _block(block: Any, at: Path, kind: str, place: str) -> list[Piece]:
    """Return the pieces of one block; those of a result come after it."""
    if isinstance(block, str):
        return [Piece(kind, block, at)]
    values = mapping_at(block, place)
    sort = values.get("type")
    if sort == "text":
        return [Piece(kind, text_at(values, "text", place), (*at, "text"), place=at)]
    if sort == "tool_use":
        said = json_of(values.get("input"), f"{place} input")
        return [Piece("call", said, (*at, "input"), text_at(values, "id", place), text_at(values, "name", place), at)]
    if sort == "tool_result":
        return _result(values, at, place)
    if sort == "thinking":
        return [Piece("thinking", text_at(values, "thinking", place), at)]
    if sort == "redacted_thinking":
        return [Piece("thinking", str(values.get("data") or ""), at, name="sealed")]
    if sort in ("image", "document"):
        source = values.get("source")
        source = source if isinstance(source, Mapping) else {}
        where = next((source[key] for key in ("data", "url", "file_id") if isinstance(source.get(key), str)), "")
        if source.get("type") in ("text", "content"):
            return [opaque(block, at, place)]
        return [Piece("image" if sort == "image" else "file", where, at)]
    return [opaque(block, at, place)]


def _result(values: Mapping[str, Any], at: Path, place: str) -> list[Piece]:
    pieces = [Piece("result", "", (*at, "content"), text_at(values, "tool_use_id", place), place=at)]
    content = values.get("content")
    if isinstance(content, str):
        pieces.append(Piece("output", content, (*at, "content")))
    elif isinstance(content, list | tuple):
        for i, block in enumerate(content):
            pieces += _block(block, (*at, "content", i), "output", f"{place} content[{i}]")
    elif content is not None:
        raise InvalidType(f"{place} content", content, "a text or a list of blocks")
    return pieces
