"""Messages in the words of tracing tools, turned into those of OpenAI chat.

Tracers write messages down in words of their own: LangChain's classes, the parts of OpenTelemetry, numbered
attributes. What is counted and what legality depends on carries over: who speaks, texts, calls and their results.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

_ROLES = {
    "human": "user",
    "humanmessage": "user",
    "humanmessagechunk": "user",
    "user": "user",
    "ai": "assistant",
    "aimessage": "assistant",
    "aimessagechunk": "assistant",
    "assistant": "assistant",
    "model": "assistant",
    "system": "system",
    "systemmessage": "system",
    "developer": "system",
    "tool": "tool",
    "toolmessage": "tool",
    "function": "tool",
    "functionmessage": "tool",
}
_TEXTS = ("text", "input_text", "output_text")
_THOUGHTS = ("reasoning", "thinking")


def chats(said: Any) -> list[Any] | None:
    """Return a tracer's messages as chat messages, or nothing where they are none.

    A text is one message of the user's; a list that holds one list is that list, as LangChain writes batches.
    """
    if isinstance(said, str):
        parsed = loaded(said)
        return [{"role": "user", "content": said}] if isinstance(parsed, str) else chats(parsed)
    if isinstance(said, Mapping):
        if isinstance(said.get("messages"), list | str):
            return chats(said["messages"])
        one = chat(said)
        return None if one is None else one
    if not isinstance(said, list) or not said:
        return None
    if isinstance(said[0], list):
        return chats(said[0])
    made: list[Any] = []
    for raw in said:
        found = chat(raw)
        if found is None:
            return None
        made += found
    return made


def chat(raw: Any) -> list[Any] | None:
    """Return the chat messages of one message: several where it holds several results."""
    if isinstance(raw, str):
        return [{"role": "user", "content": raw}]
    if isinstance(raw, list | tuple) and len(raw) == 2 and isinstance(raw[0], str):
        raw = {"role": raw[0], "content": raw[1]}
    if not isinstance(raw, Mapping):
        return None
    values = _unwrapped(raw)
    role = _ROLES.get(str(values.get("role") or values.get("type") or "").lower())
    if role is None:
        return None
    parts = values.get("parts")
    return _of_parts(role, parts) if isinstance(parts, list) else [_of_fields(role, values)]


def _unwrapped(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fields of a message that stand below the name of its class."""
    held = raw.get("kwargs")
    named = raw.get("id")
    if isinstance(held, Mapping) and isinstance(named, list) and named:
        return {"type": str(named[-1]), **{key: value for key, value in held.items() if key != "type"}}
    inner = raw.get("data")
    if isinstance(inner, Mapping) and "content" in inner:
        return {**inner, "type": raw.get("type"), "role": None}
    own = raw.get("message")
    if isinstance(own, Mapping) and "role" in own:
        return own
    return raw


def _of_fields(role: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the message of LangChain's fields, or of OpenAI's own."""
    made: dict[str, Any] = {"role": role, "content": _content(values.get("content"))}
    more = values.get("additional_kwargs")
    listed = values.get("tool_calls") or (more.get("tool_calls") if isinstance(more, Mapping) else None)
    if role == "assistant" and isinstance(listed, list) and listed:
        made["tool_calls"] = [_call(each, i) for i, each in enumerate(listed) if isinstance(each, Mapping)]
    if role == "tool":
        made["tool_call_id"] = str(values.get("tool_call_id") or values.get("id") or values.get("name") or "")
        made["content"] = _flat(values.get("content"))
    elif isinstance(values.get("name"), str) and values["name"]:
        made["name"] = values["name"]
    return made


def _call(values: Mapping[str, Any], at: int) -> dict[str, Any]:
    body = values.get("function")
    held: Mapping[str, Any] = body if isinstance(body, Mapping) else values
    said = held.get("arguments", held.get("args"))
    name = str(held.get("name") or "")
    function = {"name": name, "arguments": said if isinstance(said, str) else _flat(said or {})}
    return {"id": str(values.get("id") or f"{name}:{at}"), "type": "function", "function": function}


def _of_parts(role: str, parts: list[Any]) -> list[Any]:
    """Return the messages of OpenTelemetry's parts: calls in one, each result in one of its own."""
    texts: list[Any] = []
    calls: list[Any] = []
    results: list[Any] = []
    for i, part in enumerate(parts):
        if not isinstance(part, Mapping):
            continue
        kind = str(part.get("type") or "")
        if kind == "tool_call":
            calls.append(_call(part, i))
        elif kind == "tool_call_response":
            said = part.get("response", part.get("result", part.get("content")))
            results.append({"role": "tool", "tool_call_id": str(part.get("id") or ""), "content": _flat(said)})
        elif kind not in _THOUGHTS:
            texts.append(_part(part))
    if not texts and not calls:
        return results
    plain = "".join(each["text"] for each in texts) if all(each["type"] == "text" for each in texts) else texts
    made: dict[str, Any] = {"role": "assistant" if calls else "user" if role == "tool" else role, "content": plain}
    if calls:
        made["tool_calls"] = calls
    return [made, *results]


def _part(part: Mapping[str, Any]) -> dict[str, Any]:
    if part.get("type") in _TEXTS:
        return {"type": "text", "text": str(part.get("text", part.get("content")) or "")}
    link = part.get("uri") or part.get("url")
    if isinstance(link, str) and "image" in f"{part.get('modality')} {part.get('type')} {part.get('mime_type')}":
        return {"type": "image_url", "image_url": {"url": link}}
    return dict(part)


def _content(content: Any) -> Any:
    """Return the content of a message as chat has it."""
    if content is None or isinstance(content, str):
        return content
    if not isinstance(content, list):
        return _flat(content)
    parts: list[Any] = []
    for part in content:
        if isinstance(part, str):
            parts.append({"type": "text", "text": part})
        elif isinstance(part, Mapping) and part.get("type") not in ("tool_use", *_THOUGHTS):
            parts.append(_part(part) if part.get("type") in _TEXTS else dict(part))
    return parts


def _flat(value: Any) -> str:
    """Return a value as one text."""
    if value is None or isinstance(value, str):
        return value or ""
    if (
        isinstance(value, list)
        and value
        and all(isinstance(p, Mapping) and isinstance(p.get("text"), str) for p in value)
    ):
        return "\n".join(part["text"] for part in value)
    return json.dumps(value, ensure_ascii=False, default=str)


def loaded(value: Any) -> Any:
    """Return what a text holds as JSON; the text itself where it holds none."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def tools_of(listed: Any) -> list[Any] | None:
    """Return the tools that a tracer wrote down, each as a definition of OpenAI's."""
    found = loaded(listed)
    if not isinstance(found, list):
        return None
    made: list[Any] = []
    for each in map(loaded, found):
        if isinstance(each, Mapping) and isinstance(each.get("function"), Mapping):
            made.append({"type": "function", "function": each["function"]})
        elif isinstance(each, Mapping) and isinstance(each.get("name"), str):
            schema = each.get("parameters") or each.get("input_schema") or {"type": "object", "properties": {}}
            function = {"name": each["name"], "description": str(each.get("description") or ""), "parameters": schema}
            made.append({"type": "function", "function": function})
    return made or None
