"""The shapes in which messages come, one file per vendor's shape, and how to tell them apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from brim.errors import InvalidType, InvalidValue
from brim.wire import anthropic, chat, responses
from brim.wire.base import Format, Wire, plain

__all__ = ["FORMATS", "Format", "Wire", "format_of", "plain", "wire"]

FORMATS: dict[str, Wire] = {"openai": chat.WIRE, "responses": responses.WIRE, "anthropic": anthropic.WIRE}
"""The shapes by name: Chat Completions, Responses items, Anthropic Messages."""


def wire(name: str) -> Wire:
    """Return the wire shape of a name.

    Raises:
        InvalidValue: there is none.
    """
    if not isinstance(name, str) or name not in FORMATS:
        raise InvalidValue("format", name, f"one of {', '.join(map(repr, FORMATS))}")
    return FORMATS[name]


def format_of(messages: Sequence[Any]) -> Format | None:
    """Return the shape that the messages can only be in, or `None` where they could be in any.

    Raises:
        InvalidType: there are no messages to look at, but something else.
    """
    if isinstance(messages, str | bytes | dict) or not isinstance(messages, Sequence):
        raise InvalidType("messages", messages, "a list of messages")
    for raw in messages:
        if type(raw) is dict and len(raw) == 2 and isinstance(raw.get("content"), str):
            if raw.get("role") == "tool":
                return "openai"
            continue
        values = plain(raw)
        if isinstance(values, dict) and (told := _told(values)):
            return told
    return None


def _told(values: dict[str, Any]) -> Format | None:
    """Return the one shape that a message can be in."""
    if anthropic.is_message(values):
        return "anthropic"
    if responses.is_item(values):
        return "responses"
    return "openai" if chat.is_chat(values) else None
