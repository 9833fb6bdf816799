"""Spans of OpenTelemetry's GenAI conventions: OTLP as JSON, or one flat span per line.

Versions of the conventions keep the messages in different places: in one attribute (`gen_ai.input.messages`), in
numbered attributes (`gen_ai.prompt.0.content`), or in events of the span (`gen_ai.user.message`). All three are read,
the newest first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from brim.audit.fields import first, loaded, mapping, number, rows, text, usage_in
from brim.audit.formats.tracer import TracedCall, chat_messages, tool_definitions, traced_items
from brim.audit.trace import RecordedRequest, TraceItem, refused

NAME = "opentelemetry"
_PREFIX = "gen_ai."
_INPUT = "gen_ai.input.messages"
_MODEL = ("gen_ai.request.model", "gen_ai.response.model")
_TOKENS = ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens")
_CACHED = ("gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens")
_TRACE = ("traceId", "trace_id", "trace.id")
_START = ("startTimeUnixNano", "start_time", "startTime", "timeUnixNano", "timestamp")
_EVENT_ROLES = {f"gen_ai.{role}.message": role for role in ("system", "user", "assistant", "tool")}
_LISTS = (("resourceSpans", "scopeSpans", "spans"), ("resourceLogs", "scopeLogs", "logRecords"))
_OTHER_OPERATIONS = ("embeddings", "execute_tool", "invoke_agent", "create_agent")


def items(record: Any) -> list[TraceItem] | None:
    """Return the requests of the spans of a record."""
    return traced_items(NAME, _calls(record)) if _claims(record) else None


def _claims(record: Any) -> bool:
    """Return whether a record holds spans, or is one."""
    if not isinstance(record, Mapping):
        return False
    if any(isinstance(record.get(names[0]), list) for names in _LISTS):
        return True
    held = record.get("attributes")
    if isinstance(held, list):
        return any(str(each.get("key")).startswith(_PREFIX) for each in rows(held))
    return any(str(key).startswith(_PREFIX) for key in (held if isinstance(held, Mapping) else record))


def _calls(record: Mapping[str, Any]) -> Iterator[TracedCall]:
    for span in _spans(record):
        attributes = _attributes(span)
        trace = text(first(span, _TRACE)) or text(mapping(span.get("context")).get("trace_id"))
        named = text(attributes.get("gen_ai.conversation.id")) or trace
        yield _request(attributes, span), named, first(span, _START)


def _spans(record: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for outer, middle, inner in _LISTS:
        for resource in rows(record.get(outer)):
            for scope in rows(resource.get(middle)):
                yield from rows(scope.get(inner))
    if not any(names[0] in record for names in _LISTS):
        yield record


def _attributes(span: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the attributes of a span or an event by name, as Python values."""
    held = span.get("attributes")
    if isinstance(held, list):
        return _pairs(held)
    return held if isinstance(held, Mapping) else span


def _pairs(listed: Any) -> dict[str, Any]:
    return {str(each.get("key")): _value(each.get("value")) for each in rows(listed)}


def _value(value: Any) -> Any:
    """Return the value that OTLP wraps in a mapping with the name of its type."""
    if not isinstance(value, Mapping):
        return value
    if "arrayValue" in value:
        return [_value(each) for each in rows((value["arrayValue"] or {}).get("values"))]
    if "kvlistValue" in value:
        return _pairs((value["kvlistValue"] or {}).get("values"))
    if "intValue" in value:
        digits = str(value["intValue"])
        return int(digits) if re.fullmatch(r"-?\d{1,19}", digits) else None
    return first(value, ("stringValue", "doubleValue", "boolValue"))


def _request(attributes: Mapping[str, Any], span: Mapping[str, Any]) -> RecordedRequest | None:
    """Return the request of a span, or `None` if the span holds no messages to a model."""
    events = _events(span)
    kept = any(name in attributes for name in (_INPUT, "gen_ai.prompt.0.content", "gen_ai.prompt.0.role"))
    if attributes.get("gen_ai.operation.name") in _OTHER_OPERATIONS or not (kept or events):
        return None
    return RecordedRequest(
        messages=[*_system(attributes), *_messages(attributes, events)],
        format="openai",
        model=text(first(attributes, _MODEL)),
        tools=tool_definitions(attributes.get("gen_ai.tool.definitions"))
        or tool_definitions(_numbered(attributes, "llm.request.functions.")),
        answer=number(attributes.get("gen_ai.request.max_tokens")) or 0,
        usage=usage_in(attributes, _TOKENS, _CACHED),
        overflowed=refused(_problem(attributes, span)),
    )


def _events(span: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the names and attributes of the events that hold messages."""
    named = [(str(event.get("name")), _attributes(event)) for event in rows(span.get("events"))]
    return [each for each in named if each[0] in _EVENT_ROLES or _INPUT in each[1] or "gen_ai.prompt" in each[1]]


def _system(attributes: Mapping[str, Any]) -> list[Any]:
    held = loaded(attributes.get("gen_ai.system_instructions"))
    parts = [{"type": "text", "content": held}] if isinstance(held, str) else held
    return chat_messages([{"role": "system", "parts": parts}]) or [] if parts and isinstance(parts, list) else []


def _messages(attributes: Mapping[str, Any], events: list[tuple[str, Mapping[str, Any]]]) -> list[Any]:
    if _INPUT in attributes:
        return chat_messages(loaded(attributes[_INPUT])) or []
    if numbered := _prompt(attributes):
        return chat_messages(numbered) or []
    messages: list[Any] = []
    for name, values in events:
        held = values.get(_INPUT, values.get("gen_ai.prompt"))
        if held is None:
            calls = loaded(values.get("tool_calls"))
            fields = {"tool_call_id": values.get("id"), "tool_calls": calls, "content": loaded(values.get("content"))}
            held = [{"role": values.get("role") or _EVENT_ROLES[name], **fields}]
        messages += chat_messages(loaded(held)) or []
    return messages


def _numbered(attributes: Mapping[str, Any], prefix: str) -> list[dict[str, Any]]:
    """Return the list that numbered attributes such as `gen_ai.prompt.0.content` describe."""
    table: dict[int, dict[str, Any]] = {}
    for key, value in attributes.items():
        at, _, name = key.removeprefix(prefix).partition(".")
        if key.startswith(prefix) and at.isdecimal():
            table.setdefault(int(at), {})[name] = value
    return [table[at] for at in sorted(table)]


def _prompt(attributes: Mapping[str, Any]) -> list[Any]:
    """Return the messages of numbered attributes."""
    messages = _numbered(attributes, "gen_ai.prompt.")
    for message in messages:
        message["content"] = loaded(message.get("content"))
        if calls := _numbered(message, "tool_calls."):
            message |= {"role": message.get("role") or "assistant", "tool_calls": calls}
    return messages


def _problem(attributes: Mapping[str, Any], span: Mapping[str, Any]) -> str:
    """Return the messages of the error, of the span's status and of its exceptions."""
    texts = [attributes.get("error.message"), mapping(span.get("status")).get("message")]
    texts += [_attributes(event).get("exception.message") for event in rows(span.get("events"))]
    return "\n".join(each for each in texts if isinstance(each, str))
