"""What LlamaIndex's messages are made of, and copies of them in which parts say something else."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from io import IOBase
from pathlib import Path
from typing import Any

from brim.integrations import missing
from brim.integrations.parts import MessagePart, Spoken
from brim.wire import plain

try:
    from llama_index.core.base.llms.types import TextBlock, ToolCallBlock
except ImportError as error:
    raise missing("llama-index") from error

_ROLES = {
    "system": "system",
    "developer": "system",
    "assistant": "assistant",
    "chatbot": "assistant",
    "model": "assistant",
    "tool": "tool",
    "function": "tool",
}
_MEDIA = {
    "image": ("image", "image"),
    "audio": ("audio", "audio"),
    "video": ("file", "video"),
    "document": ("file", "data"),
}
"""The kind of each block of media, and the field that has its bytes."""


def spoken(messages: Sequence[Any]) -> list[Spoken]:
    """Return what messages are made of. Calls may come without an id: a result is then of the first that waits."""
    made, waiting = [], list[str]()
    for place, message in enumerate(messages):
        role, answers = _ROLES.get(message.role.value, "user"), ""
        parts = _parts(message, place)
        if role == "tool":
            told = message.additional_kwargs.get("tool_call_id")
            answers = told if told in waiting or not waiting else waiting[0]
            waiting = [call for call in waiting if call != answers]
        waiting += [part.id for part in parts if part.kind == "call"]
        made.append(Spoken(role, tuple(parts), answers or ""))
    return made


def _parts(message: Any, place: int = 0) -> list[MessagePart]:
    """Return a part for each block, and one for each call that is no block."""
    parts = [_part(block, f"{place}.{at}") for at, block in enumerate(message.blocks)]
    shown = {part.id for part in parts if part.kind == "call"}
    for call in _calls(message):
        said = call.get("function") or {}
        if call.get("id") not in shown:
            parts.append(MessagePart("call", said.get("arguments") or "", call.get("id") or "", said.get("name") or ""))
    return parts


def _calls(message: Any) -> list[Any]:
    """Return the calls that an older integration of a model keeps beside the blocks."""
    return [plain(call) for call in message.additional_kwargs.get("tool_calls") or ()]


def _part(block: Any, key: str) -> MessagePart:
    kind = block.block_type
    if kind == "text":
        return MessagePart("text", block.text)
    if kind == "thinking":
        return MessagePart("thinking", block.content or "")
    if kind == "tool_call":
        said = block.tool_kwargs
        said = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False, default=str)
        return MessagePart("call", said, block.tool_call_id or key, block.tool_name)
    if kind in _MEDIA:
        named, field = _MEDIA[kind]
        detail = getattr(block, "detail", None) or "" if kind == "image" else ""
        return MessagePart(named, _where(block, getattr(block, field)), name=detail)
    return MessagePart("other", block.model_dump_json(exclude_none=True))


def _where(block: Any, data: Any) -> str:
    """Return the address of media, or their data as one."""
    if block.url:
        return str(block.url)
    if isinstance(data, IOBase):
        data.seek(0)
        data = base64.b64encode(data.read())
    if not data and block.path:
        data = base64.b64encode(Path(block.path).read_bytes())
    return f"data:application/octet-stream;base64,{(data or b'').decode()}"


def changed(message: Any, texts: Sequence[str | None]) -> Any:
    """Return a copy of a message in which its parts say what they are told to; all else stays."""
    parts, count = _parts(message), len(message.blocks)
    blocks = [
        block if text == part.text else _told(block, text)
        for block, part, text in zip(message.blocks, parts, texts, strict=False)
        if text is not None
    ]
    update: dict[str, Any] = {"blocks": blocks}
    if len(parts) > count:
        said = {part.id: text for part, text in zip(parts[count:], texts[count:], strict=True)}
        calls = [
            {**call, "function": {**call["function"], "arguments": said.get(call["id"])}} for call in _calls(message)
        ]
        calls = [call for call in calls if call["function"]["arguments"] is not None]
        update["additional_kwargs"] = {**message.additional_kwargs, "tool_calls": calls}
    return message.model_copy(update=update)


def _told(block: Any, text: str) -> Any:
    """Return a block that says something else; a text in the place of one that cannot."""
    if isinstance(block, ToolCallBlock):
        return block.model_copy(
            update={"tool_kwargs": text if isinstance(block.tool_kwargs, str) else json.loads(text)}
        )
    return block.model_copy(update={"text": text}) if isinstance(block, TextBlock) else TextBlock(text=text)
