"""The message formats of the providers, one file each, and how to detect them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from brim.errors import InvalidType, InvalidValue
from brim.wire import anthropic, bedrock, chat, gemini, responses
from brim.wire.base import Format, Wire
from brim.wire.message import Message
from brim.wire.values import plain

__all__ = ["FORMATS", "KEY_FORMATS", "Format", "Wire", "definitions", "format_of", "instructions", "plain", "wire"]

FORMATS: dict[str, Wire] = {
    each.name: each for each in (chat.WIRE, responses.WIRE, anthropic.WIRE, gemini.WIRE, bedrock.WIRE)
}
"""The formats by name: Chat Completions, Responses items, Anthropic Messages, Gemini contents, Bedrock Converse."""

KEY_FORMATS: dict[str, Format] = {"input": "responses", "contents": "gemini"}
"""The formats that can be recognised by the key of the messages in a request body."""


def wire(name: str) -> Wire:
    """Return the format of a name.

    Raises:
        InvalidValue: there is no such format.
    """
    if not isinstance(name, str) or name not in FORMATS:
        raise InvalidValue("format", name, f"one of {', '.join(map(repr, FORMATS))}")
    return FORMATS[name]


def format_of(messages: Sequence[Any]) -> Format | None:
    """Return the only format that the messages can have, or `None` if they are valid in any.

    Raises:
        InvalidType: `messages` is not a list.
    """
    if isinstance(messages, str | bytes | dict) or not isinstance(messages, Sequence):
        raise InvalidType("messages", messages, "a list of messages")
    for raw in messages:
        values = plain(raw)
        if isinstance(values, dict) and (found := _format(values)):
            return found
    return None


def transcript(messages: Sequence[Any]) -> str:
    """Return messages as text, each preceded by its role.

    Raises:
        InvalidValue: a message is invalid.
    """
    chosen = wire(format_of(messages) or "openai")
    read = [chosen.read(raw, i) for i, raw in enumerate(messages)]
    return "\n\n".join(f"{message.role}: {message.text()}" for message in read)


def instructions(format: Wire, system: Any) -> Message:
    """Return a separate system prompt as a message; with Chat Completions it may consist of Anthropic's blocks.

    Raises:
        InvalidValue: it is invalid; the error calls it the content of the first message.
    """
    return (format if format.system_key else anthropic.WIRE).instructions(system)


def definitions(tools: Sequence[Any]) -> list[Any]:
    """Return the tools of a request, in any format, as one entry per function."""
    found: list[Any] = []
    for raw in tools:
        tool = plain(raw)
        spread = None
        if isinstance(tool, Mapping) and "name" not in tool and "function" not in tool:
            spread = next((each for read in (gemini, bedrock) if (each := read.definitions(tool)) is not None), None)
        found += [raw] if spread is None else spread
    return found


def _format(values: dict[str, Any]) -> Format | None:
    """Return the only format that a message can have."""
    kind, content = values.get("type"), values.get("content")
    if isinstance(values.get("parts"), list | tuple) and "content" not in values:
        return "gemini"
    parts = [plain(part) for part in content] if isinstance(content, list | tuple) else []
    blocks = [part for part in parts if isinstance(part, Mapping)]
    if any("type" not in block and not bedrock.BLOCKS.isdisjoint(block) for block in blocks):
        return "bedrock"
    kinds = {str(block.get("type")) for block in blocks}
    # The answer of Anthropic's client has the type `message`, like an item of OpenAI, but other types of text.
    if not anthropic.BLOCKS.isdisjoint(kinds) or (kind == "message" and "text" in kinds):
        return "anthropic"
    if isinstance(kind, str) and (kind in responses.ITEM_TYPES or "_call" in kind):
        return "responses"
    if not responses.PART_TYPES.isdisjoint(kinds):
        return "responses"
    own = values.get("role") in ("tool", "function") or not chat.OWN_KEYS.isdisjoint(values)
    return "openai" if own or not chat.PART_TYPES.isdisjoint(kinds) else None
