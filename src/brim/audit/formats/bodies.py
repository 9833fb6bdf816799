"""Request bodies of all providers: alone, or in a log with the answer and its usage.

A body that names a model is one request. A list of messages that names none is a complete conversation, as in datasets
and transcripts: each answer in it was a request.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from brim.audit.fields import loaded, mapping, name_in, number, rows, seconds_in, text
from brim.audit.trace import RecordedRequest, TraceItem, fingerprint, refused, replies
from brim.errors import InvalidValue
from brim.sessions.learning.usage import reported, usage_in
from brim.wire import KEY_FORMATS, Format, format_of, wire
from brim.wire.base import MESSAGE_KEYS, answer_limits, is_stateful, value_at
from brim.wire.remainder import shown_fields

NAME = "bodies"
_BODIES = ("request", "body", "request_body", "requestBody", "params", "kwargs")
"""Fields in which a log keeps the request."""
_ANSWERS = ("response", "completion", "output", "response_body", "responseBody", "result")
"""Fields in which it keeps the answer."""
_SHOWN = (
    "response_format",
    "text",
    "output_format",
    "output_config",
    "prediction",
    "tool_choice",
    "web_search_options",
    "generationConfig",
    "additionalModelRequestFields",
)
"""Fields that the model sees. Logs often contain fields of other programs, so no other fields are counted."""
_OF_ANTHROPIC = ("anthropic_version", "stop_sequences", "top_k")


def items(record: Any) -> list[TraceItem] | None:
    """Return the one request or conversation of a record."""
    body = body_in(record)
    if body is None:
        return None
    request = request_of(body, mapping(record))
    if request.whole:
        named = name_in(record)
        return [TraceItem(key=f"talk {named}" if named else "", request=request)]
    named = name_in(record, body, body.get("metadata"))
    at = seconds_in(record, _answer(mapping(record)))
    if named:
        return [TraceItem(key=f"id {named}", named=True, at=at, request=request)]
    return [TraceItem(key=f"start {_start(request)}", at=at, request=request)]


def body_in(record: Any) -> Mapping[str, Any] | None:
    """Return the body that a record is or contains: a mapping with a list of messages, or such a list."""
    if isinstance(record, list):
        key = "contents" if record and "parts" in mapping(record[0]) else "messages"
        return {key: record} if record and all(map(_is_message, record)) else None
    if not isinstance(record, Mapping):
        return None
    outer = [mapping(loaded(record.get(key))) for key in _BODIES]
    held = [each for body in outer for each in (body, mapping(loaded(body.get("body"))))]
    return next((each for each in (record, *held) if _has_messages(each)), None)


def request_of(body: Mapping[str, Any], log: Mapping[str, Any]) -> RecordedRequest:
    """Return the request of a body, with the answer, the usage and the error that the log has."""
    name = next((key for key in MESSAGE_KEYS if key in body), "input")
    content = body.get(name)
    messages = [{"role": "user", "content": content}] if isinstance(content, str) else list(content or ())
    keyed = wire(KEY_FORMATS.get(name, "anthropic"))
    system = value_at(body, (keyed.system_key,))
    answer = _answer(log)
    return RecordedRequest(
        messages=messages,
        format=KEY_FORMATS.get(name) or _format(body, messages),
        model=_model(body) or _model(log),
        tools=_tools(body),
        system=system if isinstance(system, str | list | Mapping) else None,
        fields=shown_fields({key: body[key] for key in _SHOWN if key in body}) or None,
        answer=max((count for limit in answer_limits(body).values() if (count := number(limit))), default=0),
        usage=usage_of(answer) or usage_of(log),
        reply=_reply(mapping(answer)),
        overflowed=refused(log.get("error") or mapping(answer).get("error")),
        partial=is_stateful(body),
        whole=_model(body) is None and answer is None and bool(replies(messages)),
    )


def _model(values: Mapping[str, Any]) -> str | None:
    """Return the model that a body or a log names."""
    return next((named for key in ("model", "modelId", "model_id") if (named := text(values.get(key)))), None)


def usage_of(holder: Any) -> tuple[int, int] | None:
    """Return the reported input tokens of an answer or a log, and how many of them came from the cache."""
    try:
        usage = reported(usage_in(holder))
    except InvalidValue:
        return None
    return None if usage.input is None else (usage.input, usage.cached or 0)


def _start(request: RecordedRequest) -> str:
    """Return a fingerprint of the start of a conversation without a name, up to the first message of the user."""
    first: list[Any] = []
    for raw in request.messages:
        first.append(raw)
        if mapping(raw).get("role") == "user":
            break
    return fingerprint(request.model, request.system, first)


def _is_message(raw: Any) -> bool:
    return isinstance(raw, Mapping) and (
        "role" in raw or "parts" in raw or (isinstance(raw.get("type"), str) and "_call" in raw["type"])
    )


def _has_messages(values: Mapping[str, Any]) -> bool:
    messages = values.get("messages")
    if isinstance(messages, list) and messages:
        return "role" in mapping(messages[0])
    contents = values.get("contents")
    if isinstance(contents, list) and contents:
        return "parts" in mapping(contents[0])
    content = values.get("input")
    if isinstance(content, str):
        return "model" in values
    start = mapping(content[0]) if isinstance(content, list) and content else {}
    return isinstance(start.get("role"), str) or isinstance(start.get("type"), str)


def _reply(answer: Mapping[str, Any]) -> list[Any]:
    """Return an answer as the messages that the next request contains; empty if the format is unknown."""
    choices, candidates = rows(answer.get("choices")), rows(answer.get("candidates"))
    if choices:
        return [choices[0]["message"]] if isinstance(choices[0].get("message"), Mapping) else []
    if candidates:
        return [candidates[0]["content"]] if isinstance(candidates[0].get("content"), Mapping) else []
    if isinstance(answer.get("content"), list) and answer.get("role") == "assistant":
        return [{"role": "assistant", "content": answer["content"]}]
    return list(rows(answer.get("output")))


def _answer(log: Mapping[str, Any]) -> Any | None:
    held = next((each for key in _ANSWERS if (each := loaded(log.get(key))) or isinstance(each, Mapping)), None)
    inner = loaded(mapping(held).get("body"))
    return inner if isinstance(inner, Mapping) else held


def _format(body: Mapping[str, Any], messages: list[Any]) -> Format | None:
    certain = format_of(messages) if all(isinstance(raw, Mapping) for raw in messages) else None
    if certain is not None:
        return certain
    schemas = any("input_schema" in mapping(tool) for tool in body.get("tools") or ())
    if schemas or isinstance(body.get("system"), str | list) or any(key in body for key in _OF_ANTHROPIC):
        return "anthropic"
    return "anthropic" if "claude" in str(body.get("model")) and "max_tokens" in body else None


def _tools(body: Mapping[str, Any]) -> list[Any] | None:
    functions = [{"type": "function", "function": each} for each in rows(body.get("functions"))]
    return [*rows(body.get("tools")), *rows(value_at(body, wire("bedrock").tools_at)), *functions] or None
