"""The tool `brim_recall` in requests and answers of each format: how it is offered, called and answered.

The client does not see it. The gateway answers the calls of the model and sends the request again, until an answer is
for the client.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from brim.files.json_body import body_of
from brim.gateway.body import json_value
from brim.gateway.problem import CHAT, MESSAGES, RESPONSES
from brim.gateway.server_event import events_of
from brim.sessions.recall_tool import NAME, tool
from brim.wire.base import MESSAGE_KEYS

ROUTES = (CHAT, RESPONSES, MESSAGES)
"""Routes whose models may recall what was dropped."""
MOST_ROUNDS = 4
"""How often a request is sent again after a call of the tool."""
_ITEM_DONE = "response.output_item.done"


class RecallCall(NamedTuple):
    """One call of the tool."""

    id: str
    arguments: Any


def offered(text: str, format: str) -> str:
    """Return the body of a request with the tool among its tools."""
    body = body_of(text, "the request", MESSAGE_KEYS)
    definition = json.dumps(tool(format))
    tools, at = body.values.get("tools"), body.starts.get("tools")
    if at is None:
        at = text.index("{") + 1
        return f'{text[:at]}"tools":[{definition}],{text[at:]}'
    if isinstance(tools, list):
        return f"{text[: at + 1]}{definition}{',' if tools else ''}{text[at + 1 :]}"
    return f"{text[:at]}[{definition}]{text[at:].removeprefix('null')}"


def calls(route: str, answer: Any) -> tuple[list[RecallCall], bool]:
    """Return the calls of the tool, and whether the client has to see the answer, for other calls or choices."""
    answer = _mapping(answer)
    several = route == CHAT and len(_list(answer.get("choices"))) > 1
    items = _message(answer).get("tool_calls") if route == CHAT else answer.get(_content_key(route))
    found = [_call(route, item) for item in _list(items)]
    others = any(call and name != NAME for name, call in found)
    return [call for name, call in found if call and name == NAME], several or others


def _call(route: str, item: Any) -> tuple[str, RecallCall | None]:
    """Return the name and the call of one item of an answer; without a call if it is none."""
    item = _mapping(item)
    kind = str(item.get("type"))
    if route == CHAT:
        function = _mapping(item.get("function") or item.get("custom"))
        return str(function.get("name")), RecallCall(str(item.get("id")), function.get("arguments"))
    if route == MESSAGES and kind == "tool_use":
        return str(item.get("name")), RecallCall(str(item.get("id")), item.get("input"))
    if kind.endswith("_call") and "call_id" in item:  # Calls that the provider runs itself have none.
        return str(item.get("name")), RecallCall(str(item["call_id"]), item.get("arguments"))
    return "", None


def continued(route: str, body: bytes, answer: Mapping[str, Any], results: Mapping[str, str]) -> bytes:
    """Return a request with the calls of the model and their results at its end; `results` are by id of the call."""
    values = json.loads(body)
    key = next(key for key in MESSAGE_KEYS if key in values)
    messages = values[key] if isinstance(values[key], list) else [{"role": "user", "content": values[key]}]
    pairs = results.items()
    if route == CHAT:
        tail = [_message(answer), *({"role": "tool", "tool_call_id": id_, "content": text} for id_, text in pairs)]
    elif route == MESSAGES:
        blocks = [{"type": "tool_result", "tool_use_id": id_, "content": text} for id_, text in pairs]
        tail = [{"role": "assistant", "content": answer["content"]}, {"role": "user", "content": blocks}]
    else:
        outputs = ({"type": "function_call_output", "call_id": id_, "output": text} for id_, text in pairs)
        tail = [*answer["output"], *outputs]
    return json.dumps({**values, key: [*messages, *tail]}, ensure_ascii=False).encode("utf-8", "replace")


def assembled(route: str, stream: bytes) -> dict[str, Any]:
    """Return the answer that a stream of events adds up to, as far as its calls need it."""
    events = [event for event in events_of(stream) if isinstance(event, dict)]
    if route == CHAT:
        return _chat(events)
    if route == MESSAGES:
        return _messages(events)
    return _responses(events)


def _chat(events: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    content, listed, several = "", dict[int, dict[str, Any]](), False
    for event in events:
        choice = _first_choice(event)
        several = several or bool(index_of(choice))
        delta = _mapping(choice.get("delta"))
        content += _text(delta, "content")
        for part in _list(delta.get("tool_calls")):
            if isinstance(part, dict):
                new = {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
                call = listed.setdefault(index_of(part), new)
                call["id"] = _text(part, "id") or call["id"]
                for key in ("name", "arguments"):
                    call["function"][key] += _text(part.get("function"), key)
    message: dict[str, Any] = {"role": "assistant", "content": content or None}
    if listed:
        message["tool_calls"] = [listed[at] for at in sorted(listed)]
    return {"choices": [{"index": at, "message": message} for at in range(1 + several)]}


def _messages(events: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    blocks, partial = dict[int, dict[str, Any]](), dict[int, str]()
    for event in events:
        at, block, delta = index_of(event), event.get("content_block"), _mapping(event.get("delta"))
        if event.get("type") == "content_block_start" and isinstance(block, dict):
            blocks[at] = dict(block)
        elif event.get("type") == "content_block_delta" and at in blocks:
            if "partial_json" in delta:
                partial[at] = partial.get(at, "") + _text(delta, "partial_json")
            for key in ("text", "thinking", "signature"):
                if key in delta:
                    blocks[at][key] = _text(blocks[at], key) + _text(delta, key)
    for at, text in partial.items():
        blocks[at]["input"] = json_value(text or "{}") or {}
    return {"content": [blocks[at] for at in sorted(blocks)]}


def _responses(events: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    done = [event.get("response") for event in events if event.get("type") == "response.completed"]
    if not done or not isinstance(done[-1], dict):  # What is not complete is not continued.
        return {}
    if done[-1].get("output"):
        return done[-1]
    return {**done[-1], "output": [event.get("item") for event in events if event.get("type") == _ITEM_DONE]}


def _content_key(route: str) -> str:
    return "content" if route == MESSAGES else "output"


def _message(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the message of an answer of Chat Completions."""
    return _mapping(_first_choice(answer).get("message"))


def _first_choice(values: Mapping[str, Any]) -> Mapping[str, Any]:
    return _mapping(next(iter(_list(values.get("choices"))), None))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(values: Any, key: str) -> str:
    found = _mapping(values).get(key)
    return found if isinstance(found, str) else ""


def index_of(values: Mapping[str, Any]) -> int:
    """Return the index of a block, a call or a choice; 0 if it has none."""
    found = values.get("index")
    return found if isinstance(found, int) else 0
