"""The calls of the tool `brim_recall` in answers of each format, and the requests that answer them.

The client does not see it. The gateway answers the calls of the model and sends the request again, until an answer is
for the client.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from brim.gateway.body import json_value
from brim.gateway.problem import BEDROCK, CHAT, GEMINI, MESSAGES
from brim.gateway.server_event import events_of
from brim.sessions.recall.recall_tool import NAME
from brim.wire.base import MESSAGE_KEYS

MOST_ROUNDS = 4
"""How often a request is sent again after a call of the tool."""
_ITEM_DONE = "response.output_item.done"


class RecallCall(NamedTuple):
    """One call of the tool."""

    id: str
    arguments: Any


def calls(route: str, answer: Any) -> tuple[list[RecallCall], bool]:
    """Return the calls of the tool, and whether the client has to see the answer, for other calls or choices."""
    answer = _mapping(answer)
    several = max(len(_list(answer.get(key))) for key in ("choices", "candidates")) > 1
    found = [_call(route, _mapping(item)) for item in _items(route, answer)]
    others = any(call and name != NAME for name, call in found)
    return [call for name, call in found if call and name == NAME], several or others


def _items(route: str, answer: Mapping[str, Any]) -> list[Any]:
    """Return the items of an answer among which its calls are."""
    if route == CHAT:
        return _list(_message(route, answer).get("tool_calls"))
    if route == GEMINI:
        return _list(_message(route, answer).get("parts"))
    if route == BEDROCK:
        return _list(_message(route, answer).get("content"))
    return _list(answer.get("content" if route == MESSAGES else "output"))


def _call(route: str, item: Mapping[str, Any]) -> tuple[str, RecallCall | None]:
    """Return the name and the call of one item of an answer; without a call if it is none."""
    kind = str(item.get("type"))
    if route == CHAT:
        function = _mapping(item.get("function") or item.get("custom"))
        return str(function.get("name")), RecallCall(str(item.get("id")), function.get("arguments"))
    if route == GEMINI and "functionCall" in item:
        function = _mapping(item["functionCall"])
        return str(function.get("name")), RecallCall(_text(function, "id"), function.get("args"))
    if route == BEDROCK and "toolUse" in item:
        function = _mapping(item["toolUse"])
        return str(function.get("name")), RecallCall(str(function.get("toolUseId")), function.get("input"))
    if route == MESSAGES and kind == "tool_use":
        return str(item.get("name")), RecallCall(str(item.get("id")), item.get("input"))
    if kind.endswith("_call") and "call_id" in item:  # Calls that the provider runs itself have none.
        return str(item.get("name")), RecallCall(str(item["call_id"]), item.get("arguments"))
    return "", None


def continued(route: str, body: bytes, answer: Mapping[str, Any], results: Sequence[tuple[str, str]]) -> bytes:
    """Return a request with the calls of the model and their results at its end; a result has the id of its call."""
    values = json.loads(body)
    key = next(key for key in MESSAGE_KEYS if key in values)
    messages = values[key] if isinstance(values[key], list) else [{"role": "user", "content": values[key]}]
    tail = [*messages, *_tail(route, answer, results)]
    return json.dumps({**values, key: tail}, ensure_ascii=False).encode("utf-8", "replace")


def _tail(route: str, answer: Mapping[str, Any], results: Sequence[tuple[str, str]]) -> list[Any]:
    """Return the messages of an answer and of the results of its calls."""
    if route == CHAT:
        told = ({"role": "tool", "tool_call_id": id_, "content": text} for id_, text in results)
        return [_message(route, answer), *told]
    if route == MESSAGES:
        blocks = [{"type": "tool_result", "tool_use_id": id_, "content": text} for id_, text in results]
        return [{"role": "assistant", "content": answer["content"]}, {"role": "user", "content": blocks}]
    if route == GEMINI:
        given = [{**({"id": id_} if id_ else {}), "name": NAME, "response": {"output": text}} for id_, text in results]
        parts = [{"functionResponse": each} for each in given]
        return [{"role": "model", "parts": _items(route, answer)}, {"role": "user", "parts": parts}]
    if route == BEDROCK:
        texts = [{"toolUseId": id_, "content": [{"text": text}]} for id_, text in results]
        return [_message(route, answer), {"role": "user", "content": [{"toolResult": each} for each in texts]}]
    outputs = ({"type": "function_call_output", "call_id": id_, "output": text} for id_, text in results)
    return [*answer["output"], *outputs]


def assembled(route: str, stream: bytes) -> dict[str, Any]:
    """Return the answer that a stream of events adds up to, as far as its calls need it."""
    events = [event for event in events_of(stream) if isinstance(event, dict)]
    if route == CHAT:
        return _chat(events)
    if route == MESSAGES:
        return _messages(events)
    if route == GEMINI:
        return _gemini(events)
    return _responses(events)


def _chat(events: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    content, listed, several = "", dict[int, dict[str, Any]](), False
    for event in events:
        choice = _first(event, "choices")
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
        blocks[at]["input"] = json_value((text or "{}").encode()) or {}
    return {"content": [blocks[at] for at in sorted(blocks)]}


def _gemini(events: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    parts, several = list[dict[str, Any]](), False
    for event in events:
        candidates = _list(event.get("candidates"))
        several = several or len(candidates) > 1 or any(index_of(_mapping(each)) for each in candidates)
        for part in _items(GEMINI, event):
            text = part.get("text") if isinstance(part, dict) else None
            if isinstance(text, str) and len(part) == 1 + ("thought" in part):  # The pieces of one text.
                if parts and parts[-1].keys() == part.keys() and parts[-1].get("thought") == part.get("thought"):
                    parts[-1] = {**part, "text": _text(parts[-1], "text") + text}
                elif text:
                    parts.append(part)
            elif isinstance(part, dict):
                parts.append(part)
    return {"candidates": [{"content": {"role": "model", "parts": parts}} for _ in range(1 + several)]}


def _responses(events: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    done = [event.get("response") for event in events if event.get("type") == "response.completed"]
    if not done or not isinstance(done[-1], dict):  # What is not complete is not continued.
        return {}
    if done[-1].get("output"):
        return done[-1]
    return {**done[-1], "output": [event.get("item") for event in events if event.get("type") == _ITEM_DONE]}


def _message(route: str, answer: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the message of an answer that is one of several choices, or an output."""
    if route == GEMINI:
        return _mapping(_first(answer, "candidates").get("content"))
    if route == BEDROCK:
        return _mapping(_mapping(answer.get("output")).get("message"))
    return _mapping(_first(answer, "choices").get("message"))


def _first(values: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    return _mapping(next(iter(_list(values.get(key))), None))


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
