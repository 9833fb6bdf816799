"""Calls as tracing tools write them, converted to requests in the format of OpenAI chat.

Tracers have message formats of their own: LangChain's classes, the parts of OpenTelemetry. Everything that is counted
or that legality depends on is converted: roles, texts, calls and their results. A request that the tracer kept in the
provider's own format stays in it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from brim.audit.fields import loaded, mapping, number, rows, seconds, text
from brim.audit.formats.bodies import body_in, request_of
from brim.audit.trace import RecordedRequest, TraceItem

_ROLES = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "model": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
}
_TEXTS = ("text", "input_text", "output_text")
_THOUGHTS = ("reasoning", "thinking")
_PROVIDER_ROLES = ("user", "assistant", "system", "developer", "tool")
_TRACER_FIELDS = ("parts", "kwargs", "data", "additional_kwargs")

TracedCall = tuple[RecordedRequest | None, str | None, Any]
"""The request of one call, the name of its conversation, and its start time."""


def traced_items(name: str, calls: Iterable[TracedCall]) -> list[TraceItem]:
    """Return the items of a record; calls without a request are skipped."""
    return [
        TraceItem(key=f"{name} {conversation}" if conversation else "", at=seconds(start), request=request)
        for request, conversation, start in calls
        if request is not None
    ]


def traced_request(
    inputs: Any,
    *,
    model: Any,
    settings: Mapping[str, Any],
    usage: tuple[int, int] | None,
    overflowed: bool,
) -> RecordedRequest | None:
    """Return the request of the input that a tracer kept, or `None` if it holds no messages."""
    held = loaded(inputs)
    body = {"messages": held} if isinstance(held, list) else mapping(held)
    named = text(body.get("model")) or text(model)
    if body_in(body) is not None and _native(body):
        request = request_of({**settings, **body, "model": named or ""}, {})
        return replace(request, model=named, usage=usage, overflowed=overflowed, whole=False)
    messages = chat_messages(held)
    if not messages:
        return None
    return RecordedRequest(
        messages=messages,
        format="openai",
        model=named,
        tools=tool_definitions(body.get("tools") or settings.get("tools") or settings.get("functions")),
        answer=number(settings.get("max_tokens")) or number(settings.get("max_completion_tokens")) or 0,
        usage=usage,
        overflowed=overflowed,
    )


def _native(body: Mapping[str, Any]) -> bool:
    """Return whether the messages are in a provider's own format."""
    messages = body.get("messages") or body.get("input")
    if not isinstance(messages, list):
        return isinstance(messages, str)
    return all(
        isinstance(raw, Mapping)
        and (raw.get("role") in _PROVIDER_ROLES or ("role" not in raw and "type" in raw))
        and not any(key in raw for key in _TRACER_FIELDS)
        for raw in messages
    ) and any("role" in raw for raw in messages)


def chat_messages(held: Any) -> list[Any] | None:
    """Return a tracer's messages as chat messages, or `None` if there are none.

    A text is one message of the user. A list of lists is its first list, as LangChain writes batches.
    """
    if isinstance(held, str):
        parsed = loaded(held)
        return [{"role": "user", "content": held}] if isinstance(parsed, str) else chat_messages(parsed)
    if isinstance(held, Mapping):
        inner = held.get("messages")
        return chat_messages(inner) if isinstance(inner, list | str) else _chat(held)
    if not isinstance(held, list) or not held:
        return None
    if isinstance(held[0], list):
        return chat_messages(held[0])
    converted = [_chat(raw) for raw in held]
    return None if None in converted else [message for each in converted for message in each or ()]


def _chat(raw: Any) -> list[Any] | None:
    """Return the chat messages of one message: several if it holds several results."""
    if isinstance(raw, str):
        return [{"role": "user", "content": raw}]
    if isinstance(raw, list | tuple) and len(raw) == 2 and isinstance(raw[0], str):
        raw = {"role": raw[0], "content": raw[1]}
    if not isinstance(raw, Mapping):
        return None
    values = _unwrapped(raw)
    named = str(values.get("role") or values.get("type") or "").lower()
    role = _ROLES.get(named.removesuffix("chunk").removesuffix("message"))
    if role is None:
        return None
    parts = values.get("parts")
    return _of_parts(role, parts) if isinstance(parts, list) else [_of_fields(role, values)]


def _unwrapped(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fields of a message, without the name of the class around them."""
    fields, named = raw.get("kwargs"), raw.get("id")
    if isinstance(fields, Mapping) and isinstance(named, list) and named:
        return {**fields, "type": str(named[-1])}
    inner = raw.get("data")
    if isinstance(inner, Mapping) and "content" in inner:
        return {**inner, "type": raw.get("type"), "role": None}
    message = mapping(raw.get("message"))
    return message if "role" in message else raw


def _of_fields(role: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the chat message for fields of LangChain or of OpenAI."""
    message: dict[str, Any] = {"role": role, "content": _content(values.get("content"))}
    calls = rows(values.get("tool_calls") or mapping(values.get("additional_kwargs")).get("tool_calls"))
    if role == "assistant" and calls:
        message["tool_calls"] = [_call(each, i) for i, each in enumerate(calls)]
    if role == "tool":
        message["tool_call_id"] = str(values.get("tool_call_id") or values.get("id") or values.get("name") or "")
        message["content"] = _flat(values.get("content"))
    elif isinstance(values.get("name"), str) and values["name"]:
        message["name"] = values["name"]
    return message


def _call(values: Mapping[str, Any], at: int) -> dict[str, Any]:
    held = mapping(values.get("function")) or values
    arguments = held.get("arguments", held.get("args"))
    name = str(held.get("name") or "")
    function = {"name": name, "arguments": arguments if isinstance(arguments, str) else _flat(arguments or {})}
    return {"id": str(values.get("id") or f"{name}:{at}"), "type": "function", "function": function}


def _of_parts(role: str, parts: list[Any]) -> list[Any]:
    """Return the chat messages for OpenTelemetry parts: one with all calls, and one for each result."""
    texts: list[Any] = []
    calls: list[Any] = []
    results: list[Any] = []
    for i, part in enumerate(rows(parts)):
        kind = str(part.get("type") or "")
        if kind == "tool_call":
            calls.append(_call(part, i))
        elif kind == "tool_call_response":
            result = part.get("response", part.get("result", part.get("content")))
            results.append({"role": "tool", "tool_call_id": str(part.get("id") or ""), "content": _flat(result)})
        elif kind not in _THOUGHTS:
            texts.append(_part(part))
    if not texts and not calls:
        return results
    plain = "".join(each["text"] for each in texts) if all(each["type"] == "text" for each in texts) else texts
    message: dict[str, Any] = {"role": "assistant" if calls else "user" if role == "tool" else role, "content": plain}
    if calls:
        message["tool_calls"] = calls
    return [message, *results]


def _part(part: Mapping[str, Any]) -> dict[str, Any]:
    if part.get("type") in _TEXTS:
        return {"type": "text", "text": str(part.get("text", part.get("content")) or "")}
    link = part.get("uri") or part.get("url")
    if isinstance(link, str) and "image" in f"{part.get('modality')} {part.get('type')} {part.get('mime_type')}":
        return {"type": "image_url", "image_url": {"url": link}}
    return dict(part)


def _content(content: Any) -> Any:
    """Return the content of a message in the format of chat."""
    if content is None or isinstance(content, str):
        return content
    if not isinstance(content, list):
        return _flat(content)
    parts = [{"type": "text", "text": part} if isinstance(part, str) else part for part in content]
    kept = [part for part in rows(parts) if part.get("type") not in ("tool_use", *_THOUGHTS)]
    return [_part(part) if part.get("type") in _TEXTS else dict(part) for part in kept]


def _flat(value: Any) -> str:
    """Return a value as one text."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, list) and value and all(isinstance(mapping(part).get("text"), str) for part in value):
        return "\n".join(part["text"] for part in value)
    return json.dumps(value, ensure_ascii=False, default=str)


def tool_definitions(listed: Any) -> list[Any] | None:
    """Return the tools that a tracer wrote, each in OpenAI's format, or `None` if there are none."""
    held = loaded(listed)
    functions: list[Any] = []
    for each in rows([loaded(tool) for tool in held] if isinstance(held, list) else None):
        if isinstance(each.get("function"), Mapping):
            functions.append(each["function"])
        elif isinstance(each.get("name"), str):
            schema = loaded(each.get("parameters") or each.get("input_schema")) or {"type": "object", "properties": {}}
            described = str(each.get("description") or "")
            functions.append({"name": each["name"], "description": described, "parameters": schema})
    return [{"type": "function", "function": each} for each in functions] or None
