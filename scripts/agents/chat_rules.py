"""The rules of Chat Completions: what OpenAI, or the chat template of a local server, refuses whatever its length."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scripts.agents.illegal import IllegalRequest

_ROLES = ("system", "developer", "user", "assistant", "tool")


def check_chat(request: Mapping[str, Any]) -> None:
    """Check a request.

    Raises:
        IllegalRequest: the provider would refuse it.
    """
    messages = request.get("messages")
    if not messages:
        raise IllegalRequest(
            "Invalid 'messages': empty array. Expected at least one message.", "messages", "empty_array"
        )
    if request.get("tools") == []:
        raise IllegalRequest("[] is too short - 'tools'", "tools", "empty_array")
    waiting: list[str] = []
    for i, message in enumerate(messages):
        if message.get("role") == "tool":
            if message.get("tool_call_id") not in waiting:
                raise IllegalRequest(
                    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with "
                    "'tool_calls'.",
                    f"messages.[{i}].role",
                )
            waiting.remove(message["tool_call_id"])
            continue
        if waiting:
            raise _unanswered(waiting)
        waiting = _check_message(i, message)
    if waiting:
        raise _unanswered(waiting)
    if not any(message["role"] == "user" for message in messages):
        raise IllegalRequest("No user query found in messages.", "messages")


def _check_message(i: int, message: Mapping[str, Any]) -> list[str]:
    """Check one message by itself, and return the ids of the calls that it makes."""
    if message.get("role") not in _ROLES:
        raise IllegalRequest(f"Invalid value: '{message.get('role')}'.", f"messages[{i}].role", "invalid_value")
    calls = message.get("tool_calls")
    if calls == []:
        raise IllegalRequest(
            f"Invalid 'messages[{i}].tool_calls': empty array.", f"messages[{i}].tool_calls", "empty_array"
        )
    if calls:
        return [call["id"] for call in calls]
    if message.get("content") is None and not message.get("refusal"):
        raise IllegalRequest("Invalid value for 'content': expected a string, got null.", f"messages.[{i}].content")
    return []


def _unanswered(calls: list[str]) -> IllegalRequest:
    return IllegalRequest(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
        f"The following tool_call_ids did not have response messages: {', '.join(calls)}",
        "messages",
    )
