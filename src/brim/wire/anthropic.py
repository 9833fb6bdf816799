"""Anthropic Messages: a separate system prompt, content in blocks, results inside user messages."""

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
    unmarked,
)
from brim.wire.message import MEDIA, Message, Path, Piece, message_of
from brim.wire.values import json_of, plain

ROLES = {"user": "user", "assistant": "assistant", "system": "system"}
BLOCKS = {
    *("image", "tool_use", "tool_result", "thinking", "redacted_thinking", "document", "search_result"),
    *("server_tool_use", "container_upload", "compaction"),
}
"""Types of blocks that occur only in this format."""
_TOP = 2
"""The length of the path to a top-level block: the content key and the index."""
_PRINTED = {
    "code_execution_result": ("stdout", "stderr"),
    "bash_code_execution_result": ("stdout", "stderr"),
    "text_editor_code_execution_view_result": ("content",),
}
"""The texts in results of tools that the provider runs. Encrypted results cannot be shortened."""


class Anthropic(Wire):
    """The format of the Messages API."""

    name = "anthropic"
    system_key = "system"
    provider = "anthropic"
    pairs = True
    binds = True
    objects = True
    joins = False
    blank = False

    def parse(self, raw: Any, index: int) -> Message:
        """Return a caller's object as a message, without fields that the format does not know.

        Raises:
            InvalidValue: it is invalid; the error names its index and the problem.
        """
        values = fields_of(raw, index)
        role = role_of(values, index, ROLES)
        pieces = _contents(values.get("content"), ("content",), "text", f"messages[{index}]")
        return message_of(role, _paired(ordered(_since_compaction(pieces))), raw)


WIRE = Anthropic()


def _contents(content: Any, at: Path, kind: str, place: str) -> list[Piece]:
    """Return the pieces of the content of a message or of a result."""
    if isinstance(content, str):
        return [Piece(kind, content, at)]
    return parts_of(content, at, f"{place} content", partial(_block, kind), "a text or a list of blocks")


def _block(kind: str, block: Any, at: Path, place: str) -> list[Piece]:
    """Return the pieces of a block; a result is followed by its own pieces."""
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
        answered = text_at(values, "tool_use_id", place)
        outputs = _contents(values.get("content"), (*at, "content"), "output", place)
        return [Piece("result", "", (*at, "content"), answered, place=at), *outputs]
    if sort == "thinking":
        return [Piece("thinking", text_at(values, "thinking", place), at)]
    if sort == "compaction" and len(at) == _TOP:
        return [_compaction(values, at, place)]
    if sort == "redacted_thinking":
        return [Piece("thinking", str(values.get("data") or ""), at, name="sealed")]
    source = plain(values.get("source"))
    if sort in ("image", "document") and not _is_text(source):
        source = source if isinstance(source, Mapping) else {}
        where = next((source[key] for key in ("data", "url", "file_id") if isinstance(source.get(key), str)), "")
        return [Piece("image" if sort == "image" else "file", where, at)]
    call = next((values[key] for key in ("tool_use_id", "id") if isinstance(values.get(key), str)), "")
    inner = [piece for piece in _texts(values, at, place) if piece.kind in MEDIA or not is_cited(values)]
    pieces = framed(block, at, inner, place) if inner else [opaque(unmarked(block), at, place)]
    return [*pieces[:-1], pieces[-1]._replace(id=call)]


def _compaction(values: Mapping[str, Any], at: Path, place: str) -> Piece:
    """Return a compaction; without content it has failed, and the provider ignores it."""
    content, changes = values.get("content"), plain(values.get("tool_changes"))
    if not isinstance(content, str) or not content:
        return Piece("unread", "", at)
    return Piece("compaction", f"{content}{json_of(changes, place)}" if changes else content, at)


def _since_compaction(pieces: list[Piece]) -> list[Piece]:
    """Return the pieces of a message; the provider does not read blocks before the last compaction in it."""
    found = [i for i, piece in enumerate(pieces) if piece.kind == "compaction"]
    if not found:
        return pieces
    blocks = dict.fromkeys(piece.at[:2] for piece in pieces[: found[-1]])
    return [*(Piece("unread", "", at) for at in blocks), *pieces[found[-1] :]]


def _is_text(source: Any) -> bool:
    """Return whether a document's source is plain text inside the message."""
    return isinstance(source, Mapping) and source.get("type") in ("text", "content")


def _texts(values: Mapping[str, Any], at: Path, place: str) -> list[Piece]:
    """Return the editable texts and the images of a document or of a provider's result."""
    sort, content = values.get("type"), plain(values.get("content"))
    if sort == "document":
        source = plain(values["source"])
        return _listed(source, "data" if source["type"] == "text" else "content", (*at, "source"), place)
    if sort in ("search_result", "mcp_tool_result"):
        return _listed(values, "content", at, place)
    if not isinstance(content, Mapping):
        return []
    inner = (*at, "content")
    if sort == "web_fetch_tool_result" and isinstance(plain(content.get("content")), Mapping):
        page = _block("output", content["content"], (*inner, "content"), place)
        return page if all(piece.kind != "opaque" for piece in page) else []
    texts = {key: content.get(key) for key in _PRINTED.get(str(content.get("type")), ())}
    return [Piece("output", said, (*inner, key)) for key, said in texts.items() if said and isinstance(said, str)]


def _listed(values: Mapping[str, Any], key: str, at: Path, place: str) -> list[Piece]:
    """Return the pieces of a field with a text or a list of blocks; none for anything else."""
    content = values.get(key)
    return _contents(content, (*at, key), "output", place) if isinstance(content, str | list | tuple) else []


def _paired(pieces: tuple[Piece, ...]) -> tuple[Piece, ...]:
    """Return the pieces of a message; a provider's call becomes a remainder if the texts of its result can be cut.

    Such a result always stays, so its call must stay too.
    """
    if not pieces or pieces[-1].kind != "remainder":
        return pieces
    kept = {piece.id for piece in pieces if piece.kind == "remainder" and piece.id}
    calls = [piece.kind == "opaque" and piece.id in kept for piece in pieces]
    found = [piece._replace(kind="remainder") if call else piece for call, piece in zip(calls, pieces, strict=True)]
    return ordered(found)
