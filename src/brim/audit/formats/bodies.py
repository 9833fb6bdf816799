"""Bodies of requests to OpenAI and Anthropic, one a line: alone, or in a log beside the answer and its usage.

A body that names a model is one request. A list of messages that names none is a conversation to its end, as datasets
and transcripts have it: each answer in it was a request.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from brim.audit.trace import IDS, RecordedRequest, TraceItem, beginning, format_for, number, replies, text
from brim.wire import plain
from brim.wire.overflow import is_overflow
from brim.wire.stateful import is_stateful

NAME = "bodies"
_BODIES = ("request", "body", "request_body", "requestBody", "params", "kwargs")
"""Where a log keeps what was sent."""
_ANSWERS = ("response", "completion", "output", "response_body", "responseBody", "result")
"""Where it keeps what came back."""
_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
_OF_ANTHROPIC = ("anthropic_version", "stop_sequences", "top_k")


def claims(record: Any) -> bool:
    """Return whether a record is a body, a log of one, or a conversation."""
    return body_in(record) is not None


def items(record: Any) -> list[TraceItem]:
    """Return the one request or conversation of a record."""
    body = body_in(record)
    assert body is not None
    ask = ask_of(body, record if isinstance(record, Mapping) else {})
    if ask.whole:
        named = next((text(record.get(key)) for key in IDS if isinstance(record, Mapping) and record.get(key)), None)
        return [TraceItem(key=f"talk {named}" if named else "", make=lambda: ask)]
    named = _id(record, body)
    return [TraceItem(key=f"id {named}" if named else f"start {beginning(ask)}", make=lambda: ask)]


def body_in(record: Any) -> Mapping[str, Any] | None:
    """Return the body that a record is or holds: a mapping with a list of messages, or such a list."""
    if isinstance(record, list):
        return {"messages": record} if record and all(map(_is_message, record)) else None
    if not isinstance(record, Mapping):
        return None
    if _has_messages(record):
        return record
    for key in _BODIES:
        held = _parsed(record.get(key))
        if isinstance(held, Mapping):
            if _has_messages(held):
                return held
            inner = _parsed(held.get("body"))
            if isinstance(inner, Mapping) and _has_messages(inner):
                return inner
    return None


def ask_of(body: Mapping[str, Any], log: Mapping[str, Any]) -> RecordedRequest:
    """Return the request of a body, with what the log has beside it."""
    own = "input" if "messages" not in body else "messages"
    said = body.get(own)
    messages = [{"role": "user", "content": said}] if isinstance(said, str) else list(said or ())
    system = body.get("instructions" if own == "input" else "system")
    answer = _answer(log)
    model = text(body.get("model")) or text(log.get("model"))
    usage = usage_of(answer) or usage_of(log)
    error = log.get("error") or (answer.get("error") if isinstance(answer, Mapping) else None)
    return RecordedRequest(
        messages=messages,
        format=_format(body, own, messages),
        model=model,
        tools=_tools(body),
        system=system if isinstance(system, str | list) else None,
        answer=max((count for key in _LIMITS if (count := number(body.get(key)))), default=0),
        reported=usage[0] if usage else None,
        cached=usage[1] if usage else None,
        overflowed=bool(error) and is_overflow(error) is not None,
        partial=is_stateful(body),
        whole=text(body.get("model")) is None and answer is None and bool(replies(messages)),
    )


def usage_of(holder: Any) -> tuple[int, int] | None:
    """Return the tokens of input that a provider counted, those from its cache included, and how many those were.

    OpenAI's count of input holds the cached ones, Anthropic's does not.
    """
    usage = plain(holder.get("usage")) if isinstance(holder, Mapping) else None
    if not isinstance(usage, Mapping):
        return None
    read, written = number(usage.get("cache_read_input_tokens")), number(usage.get("cache_creation_input_tokens"))
    told = number(usage.get("input_tokens"))
    if told is not None and (read is not None or written is not None):
        return told + (read or 0) + (written or 0), read or 0
    if told is None:
        told = number(usage.get("prompt_tokens"))
    if told is None:
        return None
    details = usage.get("input_tokens_details") or usage.get("prompt_tokens_details")
    cached = number(details.get("cached_tokens")) if isinstance(details, Mapping) else None
    return told, cached or 0


def _is_message(raw: Any) -> bool:
    return isinstance(raw, Mapping) and ("role" in raw or (isinstance(raw.get("type"), str) and "_call" in raw["type"]))


def _has_messages(values: Mapping[str, Any]) -> bool:
    said = values.get("messages")
    if isinstance(said, list) and said:
        return isinstance(said[0], Mapping) and "role" in said[0]
    said = values.get("input")
    if isinstance(said, str):
        return "model" in values
    return isinstance(said, list) and bool(said) and isinstance(said[0], Mapping) and _item(said[0])


def _item(raw: Mapping[str, Any]) -> bool:
    return isinstance(raw.get("role"), str) or isinstance(raw.get("type"), str)


def _parsed(value: Any) -> Any:
    """Return what a log holds as text, as the JSON that it is."""
    if isinstance(value, str) and value.startswith("{"):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return None
    return value


def _answer(log: Mapping[str, Any]) -> Any | None:
    for key in _ANSWERS:
        held = _parsed(log.get(key))
        if isinstance(held, Mapping):
            inner = _parsed(held.get("body"))
            return inner if isinstance(inner, Mapping) else held
        if held:
            return held
    return None


def _format(body: Mapping[str, Any], own: str, messages: list[Any]) -> str | None:
    if own == "input":
        return "responses"
    told = format_for(messages)
    if told is not None:
        return told
    schemas = [tool for tool in body.get("tools") or () if isinstance(tool, Mapping) and "input_schema" in tool]
    if schemas or isinstance(body.get("system"), str | list) or any(key in body for key in _OF_ANTHROPIC):
        return "anthropic"
    return "anthropic" if "claude" in str(body.get("model")) and "max_tokens" in body else None


def _tools(body: Mapping[str, Any]) -> list[Any] | None:
    tools, old = body.get("tools"), body.get("functions")
    found = [tool for tool in tools if isinstance(tool, Mapping)] if isinstance(tools, list) else []
    if isinstance(old, list):
        found += [{"type": "function", "function": each} for each in old if isinstance(each, Mapping)]
    return found or None


def _id(record: Any, body: Mapping[str, Any]) -> str | None:
    """Return the name of the conversation, where the log or the body's metadata has one."""
    held = body.get("metadata")
    for holder in (record, body, held if isinstance(held, Mapping) else {}):
        if isinstance(holder, Mapping):
            for key in IDS:
                if named := text(holder.get(key)):
                    return named
    return None
