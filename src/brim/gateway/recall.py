"""The tool by which a model brings back what left its prompt, offered and answered on the way.

The client knows nothing of it: what the model asks of it is answered here, and the model is asked again, until it says
something that is for the client.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from brim.files.json_body import body_of
from brim.gateway.problems import CHAT, MESSAGES
from brim.gateway.relay import events_of
from brim.history.request_body import LISTS
from brim.sessions.recall import NAME, tool

__all__ = ["NAME", "RecallCall", "assembled", "calls", "continued", "offered", "tool", "without"]

MOST_ROUNDS = 4
"""How often the model is asked again for one request."""


class RecallCall(NamedTuple):
    """One call of the tool."""

    id: str
    arguments: Any


def offered(text: str, format: str) -> str:
    """Return the body with the tool among its own."""
    body = body_of(text, "the request", LISTS)
    said = json.dumps(tool(format))
    listed = body.values.get("tools")
    if isinstance(listed, list):
        at = body.starts["tools"] + 1
        return text[:at] + said + ("," if listed else "") + text[at:]
    if "tools" in body.values:  # null
        at = body.starts["tools"]
        return text[:at] + f"[{said}]" + text[at:].removeprefix("null")
    at = text.index("{") + 1
    return text[:at] + f'"tools":[{said}],' + text[at:]


def calls(route: str, answer: Any) -> tuple[list[RecallCall], bool]:
    """Return the calls of the tool in an answer, and whether it has calls of others as well."""
    found, others = [], False
    for item in _items(route, answer):
        name, each = _call(route, item)
        if each is None:
            continue
        if name == NAME:
            found.append(each)
        else:
            others = True
    return found, others


def _items(route: str, answer: Any) -> Sequence[Any]:
    """Return the parts of an answer among which its calls are."""
    if not isinstance(answer, Mapping):
        return []
    listed = answer.get("content" if route == MESSAGES else "output")
    if route == CHAT:
        listed = _message(answer).get("tool_calls")
    return [item for item in listed if isinstance(item, Mapping)] if isinstance(listed, list) else []


def _message(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the message of an answer of Chat Completions."""
    choices = answer.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, Mapping) else None
    return message if isinstance(message, Mapping) else {}


def _call(route: str, item: Mapping[str, Any]) -> tuple[str, RecallCall | None]:
    """Return the name and the call of a part of an answer, if it is one."""
    if route == CHAT:
        named = item.get("function")
        if isinstance(named, Mapping) and isinstance(item.get("id"), str):
            return str(named.get("name")), RecallCall(item["id"], named.get("arguments"))
    elif route == MESSAGES and item.get("type") == "tool_use":
        return str(item.get("name")), RecallCall(str(item.get("id")), item.get("input"))
    elif item.get("type") == "function_call":
        return str(item.get("name")), RecallCall(str(item.get("call_id")), item.get("arguments"))
    return "", None


def continued(route: str, body: bytes, answer: Mapping[str, Any], results: Mapping[str, str]) -> bytes:
    """Return the request with the model's calls and their results at its end."""
    values = json.loads(body)
    key = next(key for key in LISTS if key in values)
    said = values[key] if isinstance(values[key], list) else [{"role": "user", "content": values[key]}]
    if route == CHAT:
        more = [
            dict(_message(answer)),
            *({"role": "tool", "tool_call_id": i, "content": t} for i, t in results.items()),
        ]
    elif route == MESSAGES:
        told = [{"type": "tool_result", "tool_use_id": i, "content": t} for i, t in results.items()]
        more = [{"role": "assistant", "content": answer["content"]}, {"role": "user", "content": told}]
    else:
        told = [{"type": "function_call_output", "call_id": i, "output": t} for i, t in results.items()]
        more = [*answer["output"], *told]
    return json.dumps({**values, key: [*said, *more]}, ensure_ascii=False).encode("utf-8", "replace")


def without(route: str, answer: dict[str, Any]) -> dict[str, Any]:
    """Return an answer without its calls of the tool, for a client that has others to answer."""
    if route == CHAT:
        message = dict(_message(answer))
        message["tool_calls"] = [item for item in message["tool_calls"] if _call(route, item)[0] != NAME]
        return {**answer, "choices": [{**answer["choices"][0], "message": message}, *answer["choices"][1:]]}
    key = "content" if route == MESSAGES else "output"
    return {**answer, key: [item for item in answer[key] if _call(route, item)[0] != NAME]}


def assembled(route: str, stream: bytes) -> dict[str, Any]:
    """Return the answer that a stream of events adds up to, as far as its calls have to be known."""
    if route == CHAT:
        return _chat(stream)
    if route == MESSAGES:
        return _messages(stream)
    done = [event.get("response") for event in events_of(stream) if _is(event, "response.completed")]
    return done[-1] if done and isinstance(done[-1], dict) else {}


def _chat(stream: bytes) -> dict[str, Any]:
    content, listed = "", dict[int, dict[str, Any]]()
    for event in events_of(stream):
        choices = event.get("choices") if isinstance(event, dict) else None
        first = choices[0] if isinstance(choices, list) and choices else None
        delta = first.get("delta") if isinstance(first, dict) else None
        if not isinstance(delta, dict):
            continue
        content += _text(delta, "content")
        parts = delta.get("tool_calls")
        for part in parts if isinstance(parts, list) else ():
            if isinstance(part, dict):
                known = listed.setdefault(
                    _index(part), {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
                )
                known["id"] = _text(part, "id") or known["id"]
                for key in ("name", "arguments"):
                    known["function"][key] += _text(part.get("function"), key)
    message: dict[str, Any] = {"role": "assistant", "content": content or None}
    if listed:
        message["tool_calls"] = [listed[at] for at in sorted(listed)]
    return {"choices": [{"index": 0, "message": message}]}


def _messages(stream: bytes) -> dict[str, Any]:
    blocks, partial = dict[int, dict[str, Any]](), dict[int, str]()
    for event in events_of(stream):
        if not isinstance(event, dict):
            continue
        at, begun, delta = _index(event), event.get("content_block"), event.get("delta")
        if _is(event, "content_block_start") and isinstance(begun, dict):
            blocks[at] = dict(begun)
        elif _is(event, "content_block_delta") and at in blocks and isinstance(delta, dict):
            if "partial_json" in delta:
                partial[at] = partial.get(at, "") + _text(delta, "partial_json")
            for key in ("text", "thinking", "signature"):
                if key in delta:
                    blocks[at][key] = _text(blocks[at], key) + _text(delta, key)
    for at, said in partial.items():
        try:
            blocks[at]["input"] = json.loads(said or "{}")
        except (ValueError, RecursionError):
            blocks[at]["input"] = {}
    return {"content": [blocks[at] for at in sorted(blocks)]}


def _is(event: Any, kind: str) -> bool:
    return isinstance(event, dict) and event.get("type") == kind


def _text(values: Any, key: str) -> str:
    """Return a text of an event; an empty one where there is none."""
    found = values.get(key) if isinstance(values, dict) else None
    return found if isinstance(found, str) else ""


def _index(values: Mapping[str, Any]) -> int:
    found = values.get("index")
    return found if isinstance(found, int) else 0
