"""Reads the content blocks of any provider's format as message parts, and writes new texts into them."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

from brim.integrations.messages import KeptPart, MessagePart

_CALLS = {"tool_use": "input", "tool_call": "args", "function_call": "arguments"}
"""Types of blocks that are tool calls, and the key of their arguments."""
_THOUGHTS = ("thinking", "reasoning", "redacted_thinking", "reasoning_content")
_MEDIA = {"image": "image", "audio": "audio", "file": "file", "document": "file", "input_file": "file", "video": "file"}


def read_block(block: Any, calls: Mapping[str, Any]) -> MessagePart:
    """Return the part of one content block.

    Args:
        block: a text, or a block in the format of Chat Completions, Responses, Anthropic or LangChain.
        calls: the calls of the message by their ids, each with its `name` and `args`; the block of an unknown call is
            counted as its JSON.
    """
    if isinstance(block, str):
        return MessagePart("text", block)
    kind = str(block.get("type"))
    if isinstance(block.get("text"), str) and kind.endswith("text"):
        return MessagePart("text", block["text"])
    name = str(block.get("call_id") or block.get("id") or "")
    if kind in _CALLS and name in calls:
        return read_call(calls[name])
    if kind == "redacted_thinking":
        return MessagePart("thinking", str(block.get("data") or ""), name="sealed")
    if kind in _THOUGHTS:
        text = block.get("thinking") or block.get("reasoning")
        return MessagePart("thinking", text if isinstance(text, str) else json_text({**block, "type": ""}))
    if kind == "image_url":
        image = block.get("image_url")
        image = image if isinstance(image, Mapping) else {"url": image}
        return MessagePart("image", str(image.get("url") or ""), name=str(image.get("detail") or ""))
    if kind == "input_audio" and isinstance(block.get("input_audio"), dict):
        return MessagePart("audio", str(block["input_audio"].get("data") or ""))
    if kind in _MEDIA and (address := _address(block)):
        return MessagePart(_MEDIA[kind], address)
    return MessagePart("other", json_text(block))


def read_call(call: Mapping[str, Any]) -> MessagePart:
    """Return the part of a tool call with its `id`, `name` and `args`."""
    arguments = {} if call["args"] is None else call["args"]
    return MessagePart("call", json_text(arguments), call.get("id") or "", call["name"] or "")


def write_block(block: Any, kept: KeptPart) -> Any:
    """Return a copy of a block with its new text; a block that has no text is replaced by one."""
    text = kept.text or ""
    if isinstance(block, str):
        return text
    if block is not None and isinstance(block.get("text"), str) and str(block.get("type")).endswith("text"):
        return {**block, "text": text}
    if block is not None and (key := _CALLS.get(block.get("type"))):
        return {**block, key: text if key == "arguments" else json.loads(text)}
    return {"type": "text", "text": text}


def json_text(value: Any) -> str:
    """Return a value as JSON; a text stays as it is, and objects that JSON does not know become texts."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def data_uri(kind: str | None, data: bytes | None) -> str:
    """Return data as an address."""
    return f"data:{kind or 'application/octet-stream'};base64,{base64.b64encode(data or b'').decode()}"


def _address(block: dict[str, Any]) -> str:
    """Return the address of media, or their data as one."""
    inner = next((block[key] for key in ("source", "file") if isinstance(block.get(key), dict)), block)
    url = next((inner[key] for key in ("url", "file_url", "file_id") if isinstance(inner.get(key), str)), "")
    data = next((inner[key] for key in ("base64", "data", "file_data") if isinstance(inner.get(key), str)), "")
    kind = inner.get("mime_type") or inner.get("media_type") or "application/octet-stream"
    return data if data.startswith("data:") else f"data:{kind};base64,{data}" if data else url
