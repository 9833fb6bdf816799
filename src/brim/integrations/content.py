"""The blocks that the content of a message is made of, in any provider's shape, as the parts that a fit counts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from brim.integrations.parts import MessagePart

_CALLS = {"tool_use": "input", "tool_call": "args", "function_call": "arguments"}
"""Blocks that are a call of a tool, and where their arguments stand."""
_THOUGHTS = ("thinking", "reasoning", "redacted_thinking", "reasoning_content")
_MEDIA = {"image": "image", "audio": "audio", "file": "file", "document": "file", "input_file": "file", "video": "file"}


def part_of(block: Any, calls: Mapping[str, Any]) -> MessagePart:
    """Return the part of one block of a content.

    Args:
        block: a text, or a block in the shape of Chat Completions, Responses, Anthropic or LangChain.
        calls: the calls of the message by their ids, each with its `name` and `args`; a block that is none of them is
            counted as it stands.
    """
    if isinstance(block, str):
        return MessagePart("text", block)
    kind = str(block.get("type"))
    if isinstance(block.get("text"), str) and kind.endswith("text"):
        return MessagePart("text", block["text"])
    name = str(block.get("call_id") or block.get("id") or "")
    if kind in _CALLS and name in calls:
        return MessagePart("call", arguments(calls[name]["args"]), name, calls[name]["name"] or "")
    if kind == "redacted_thinking":
        return MessagePart("thinking", str(block.get("data") or ""), name="sealed")
    if kind in _THOUGHTS:
        said = block.get("thinking") or block.get("reasoning")
        return MessagePart("thinking", said if isinstance(said, str) else _json({**block, "type": ""}))
    if kind == "image_url":
        told = block.get("image_url")
        told = told if isinstance(told, dict) else {"url": told}
        return MessagePart("image", str(told.get("url") or ""), name=str(told.get("detail") or ""))
    if kind == "input_audio" and isinstance(block.get("input_audio"), dict):
        return MessagePart("audio", str(block["input_audio"].get("data") or ""))
    if kind in _MEDIA and (where := _where(block)):
        return MessagePart(_MEDIA[kind], where)
    return MessagePart("other", _json(block))


def _where(block: dict[str, Any]) -> str:
    """Return the address of media, or their data as one."""
    inner = next((block[key] for key in ("source", "file") if isinstance(block.get(key), dict)), block)
    where = next((inner[key] for key in ("url", "file_url", "file_id") if isinstance(inner.get(key), str)), "")
    data = next((inner[key] for key in ("base64", "data", "file_data") if isinstance(inner.get(key), str)), "")
    kind = inner.get("mime_type") or inner.get("media_type") or "application/octet-stream"
    return data if data.startswith("data:") else f"data:{kind};base64,{data}" if data else where


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def arguments(said: Any) -> str:
    """Return the arguments of a call as JSON."""
    return said if isinstance(said, str) else json.dumps({} if said is None else said, ensure_ascii=False)


def told(block: Any, part: MessagePart, text: str) -> Any:
    """Return a copy of a block that says something else; what is no text becomes one."""
    if part.kind == "text":
        return text if isinstance(block, str) else {**block, "text": text}
    if part.kind == "call":
        key = _CALLS[block["type"]]
        return {**block, key: text if key == "arguments" else json.loads(text)}
    return {"type": "text", "text": text}
