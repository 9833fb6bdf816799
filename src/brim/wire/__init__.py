"""The message formats of the providers, one file each, and how to detect them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from brim.errors import InvalidType, InvalidValue
from brim.wire import anthropic, chat, responses
from brim.wire.base import Format, Wire, plain

__all__ = ["FORMATS", "Format", "Wire", "format_of", "plain", "wire"]

FORMATS: dict[str, Wire] = {"openai": chat.WIRE, "responses": responses.WIRE, "anthropic": anthropic.WIRE}
"""The formats by name: Chat Completions, Responses items, Anthropic Messages."""


def wire(name: str) -> Wire:
    """Return the format of a name.

    Raises:
        InvalidValue: there is no such format.
    """
    if not isinstance(name, str) or name not in FORMATS:
        raise InvalidValue("format", name, f"one of {', '.join(map(repr, FORMATS))}")
    return FORMATS[name]


def format_of(messages: Sequence[Any]) -> Format | None:
    """Return the only format that the messages can have, or `None` if they fit any.

    Raises:
        InvalidType: `messages` is not a list.
    """
    if isinstance(messages, str | bytes | dict) or not isinstance(messages, Sequence):
        raise InvalidType("messages", messages, "a list of messages")
    for raw in messages:
        if type(raw) is dict and len(raw) == 2 and isinstance(raw.get("content"), str):
            if raw.get("role") == "tool":
                return "openai"
            continue
        values = plain(raw)
        if isinstance(values, dict) and (found := _format(values)):
            return found
    return None


def _format(values: dict[str, Any]) -> Format | None:
    """Return the only format that a message can have."""
    if anthropic.is_message(values):
        return "anthropic"
    if responses.is_item(values):
        return "responses"
    return "openai" if chat.is_chat(values) else None
