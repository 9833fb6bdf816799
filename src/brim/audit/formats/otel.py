"""Spans of OpenTelemetry's GenAI conventions: OTLP as JSON, or one flat span a line.

The conventions have moved the messages about: into one attribute (`gen_ai.input.messages`), from numbered ones
(`gen_ai.prompt.0.content`), from events of the span (`gen_ai.user.message`). All three are read, the newest first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from brim.audit.said import chats, loaded, tools_of
from brim.audit.trace import RecordedRequest, TraceItem, moment, number, text
from brim.wire.overflow import is_overflow

NAME = "opentelemetry"
_PREFIX = "gen_ai."
_INPUT = "gen_ai.input.messages"
_CONVERSATION = "gen_ai.conversation.id"
_MODEL = ("gen_ai.request.model", "gen_ai.response.model")
_TOKENS = ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens")
_CACHED = ("gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens")
_TRACE = ("traceId", "trace_id", "trace.id")
_START = ("startTimeUnixNano", "start_time", "startTime", "timeUnixNano", "timestamp")
_PROMPT = re.compile(r"gen_ai\.prompt\.(\d+)\.(role|content|tool_call_id)$")
_PROMPT_CALL = re.compile(r"gen_ai\.prompt\.(\d+)\.tool_calls\.(\d+)\.(id|name|arguments)$")
_FUNCTION = re.compile(r"llm\.request\.functions\.(\d+)\.(name|description|parameters)$")
_SAID = {f"gen_ai.{role}.message": role for role in ("system", "user", "assistant", "tool")}
_LISTS = (("resourceSpans", "scopeSpans", "spans"), ("resourceLogs", "scopeLogs", "logRecords"))


def claims(record: Any) -> bool:
    """Return whether a record holds spans, or is one."""
    if not isinstance(record, Mapping):
        return False
    if any(isinstance(record.get(names[0]), list) for names in _LISTS):
        return True
    held = record.get("attributes")
    if isinstance(held, list):
        return any(isinstance(each, Mapping) and str(each.get("key")).startswith(_PREFIX) for each in held)
    return any(str(key).startswith(_PREFIX) for key in (held if isinstance(held, Mapping) else record))


def items(record: Mapping[str, Any]) -> list[TraceItem]:
    """Return the requests among the spans of a record: those that hold what was sent."""
    found = []
    for span in _spans(record):
        told = _attributes(span)
        if _asks(told, span):
            key = text(told.get(_CONVERSATION)) or text(_first(span, _TRACE)) or text(_context(span).get("trace_id"))
            when = moment(_first(span, _START))
            found.append(TraceItem(key=f"otel {key}" if key else "", when=when, make=partial(_ask, told, span)))
    return found


def _spans(record: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for outer, middle, inner in _LISTS:
        for resource in _rows(record.get(outer)):
            for scope in _rows(resource.get(middle)):
                yield from _rows(scope.get(inner))
    if not any(names[0] in record for names in _LISTS):
        yield record


def _rows(value: Any) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def _attributes(span: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the attributes of a span or an event by their names, in Python's values."""
    held = span.get("attributes")
    if isinstance(held, list):
        return {str(each.get("key")): _value(each.get("value")) for each in _rows(held)}
    return held if isinstance(held, Mapping) else span


def _value(value: Any) -> Any:
    """Return what OTLP wraps into the name of its kind."""
    if not isinstance(value, Mapping):
        return value
    if "arrayValue" in value:
        return [_value(each) for each in _rows((value["arrayValue"] or {}).get("values"))]
    if "kvlistValue" in value:
        return {
            str(each.get("key")): _value(each.get("value"))
            for each in _rows((value["kvlistValue"] or {}).get("values"))
        }
    if "intValue" in value:
        told = str(value["intValue"])
        return int(told) if re.fullmatch(r"-?\d{1,19}", told) else None
    return next((value[key] for key in ("stringValue", "doubleValue", "boolValue") if key in value), None)


def _asks(told: Mapping[str, Any], span: Mapping[str, Any]) -> bool:
    """Return whether a span holds what was sent to a model."""
    if told.get("gen_ai.operation.name") in ("embeddings", "execute_tool", "invoke_agent", "create_agent"):
        return False
    return _INPUT in told or "gen_ai.prompt.0.content" in told or "gen_ai.prompt.0.role" in told or bool(_events(span))


def _events(span: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the events that hold messages."""
    found = []
    for event in _rows(span.get("events")):
        name, told = str(event.get("name")), _attributes(event)
        if name in _SAID or _INPUT in told or "gen_ai.prompt" in told:
            found.append((name, told))
    return found


def _ask(told: Mapping[str, Any], span: Mapping[str, Any]) -> RecordedRequest:
    system = chats([{"role": "system", "parts": parts}]) if (parts := _parts(told)) else None
    return RecordedRequest(
        messages=[*(system or ()), *_messages(told, span)],
        format="openai",
        model=text(_first(told, _MODEL)),
        tools=tools_of(told.get("gen_ai.tool.definitions")) or _functions(told),
        answer=number(told.get("gen_ai.request.max_tokens")) or 0,
        reported=number(_first(told, _TOKENS)),
        cached=number(_first(told, _CACHED)),
        overflowed=is_overflow(_problem(told, span)) is not None,
    )


def _parts(told: Mapping[str, Any]) -> list[Any] | None:
    held = loaded(told.get("gen_ai.system_instructions"))
    if isinstance(held, str):
        return [{"type": "text", "content": held}]
    return held if isinstance(held, list) else None


def _messages(told: Mapping[str, Any], span: Mapping[str, Any]) -> list[Any]:
    if _INPUT in told:
        return chats(loaded(told[_INPUT])) or []
    if numbered := _numbered(told):
        return chats(numbered) or []
    said: list[Any] = []
    for name, values in _events(span):
        held = values.get(_INPUT, values.get("gen_ai.prompt"))
        if held is not None:
            said += chats(loaded(held)) or []
        else:
            calls = loaded(values.get("tool_calls"))
            fields = {"tool_call_id": values.get("id"), "tool_calls": calls, "content": loaded(values.get("content"))}
            said += chats([{"role": values.get("role") or _SAID[name], **fields}]) or []
    return said


def _numbered(told: Mapping[str, Any]) -> list[Any]:
    """Return the messages of numbered attributes."""
    rows: dict[int, dict[str, Any]] = {}
    calls: dict[int, dict[int, dict[str, Any]]] = {}
    for key, value in told.items():
        if found := _PROMPT.match(key):
            rows.setdefault(int(found[1]), {})[found[2]] = loaded(value) if found[2] == "content" else value
        elif found := _PROMPT_CALL.match(key):
            calls.setdefault(int(found[1]), {}).setdefault(int(found[2]), {})[found[3]] = value
    for at, own in calls.items():
        rows.setdefault(at, {"role": "assistant"})["tool_calls"] = [own[i] for i in sorted(own)]
    return [rows[at] for at in sorted(rows)]


def _functions(told: Mapping[str, Any]) -> list[Any] | None:
    rows: dict[int, dict[str, Any]] = {}
    for key, value in told.items():
        if found := _FUNCTION.match(key):
            rows.setdefault(int(found[1]), {})[found[2]] = loaded(value)
    return tools_of([rows[at] for at in sorted(rows)]) if rows else None


def _problem(told: Mapping[str, Any], span: Mapping[str, Any]) -> str:
    """Return what went wrong, in the words of the span's status and of its exceptions."""
    status = span.get("status")
    said = [told.get("error.message"), status.get("message") if isinstance(status, Mapping) else None]
    said += [_attributes(event).get("exception.message") for event in _rows(span.get("events"))]
    return "\n".join(each for each in said if isinstance(each, str))


def _context(span: Mapping[str, Any]) -> Mapping[str, Any]:
    held = span.get("context")
    return held if isinstance(held, Mapping) else {}


def _first(values: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((values[name] for name in names if values.get(name) is not None), None)
