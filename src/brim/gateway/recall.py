"""Answers the calls of the tool `brim_recall`, in three formats.

The formats are Chat Completions, Messages and Responses. The gateway answers these calls and sends the request again,
until an answer has none; the client sees only that one. If an answer also calls tools of the client, the model is told
that they were not run, and calls them again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from brim.errors import DoesNotFit
from brim.gateway.client.body import json_value
from brim.gateway.client.parsed import parse
from brim.gateway.fit import FittedBody, Planned, fit, too_long, written
from brim.gateway.http.problem import CHAT, MESSAGES, RESPONSES
from brim.history.history import fit_messages
from brim.sessions.conversations import Conversations
from brim.sessions.conversations.request import FittedRequest
from brim.sessions.recall_tool import NAME, answered
from brim.wire.base import MESSAGE_KEYS

MOST_ROUNDS = 4
"""How often a request is sent again after calls of the tool."""
_LEAST, _SHARE = 64, 4
"""A recall may return a quarter of the budget, but at least 64 tokens."""
_LAST = "\n[This was the last recall. Continue without another one.]"
"""The end of the results in the last round."""
_NOT_RUN = f"Not run, because {NAME} was called in the same answer. Call it again if it is still needed."
"""The result of any other call in the same answer."""
_ITEM_DONE = "response.output_item.done"
_OUTPUTS = {"function_call": "function_call_output", "custom_tool_call": "custom_tool_call_output"}
"""Calls of Responses whose result is a text, and the type of the result."""


def again(
    engine: Conversations, last: FittedBody, answer: Mapping[str, Any], calls: Sequence[ModelCall], *, ends: bool
) -> FittedBody:
    """Return the request with the recalled texts at its end, fitted again; `ends` marks the last round.

    Raises:
        HttpProblem: the parts that must stay are too long.
    """
    planned = last.planned
    assert planned is not None
    assert last.request is not None
    dropped = last.request.dropped
    assert dropped is not None
    limit = max(_LEAST, (last.budget or 0) // _SHARE)
    results = [
        (call, answered(call.arguments, dropped, limit, planned.scale) + _LAST * ends if call.recalls else _NOT_RUN)
        for call in calls
    ]
    parsed = last.parsed
    body = continued(parsed.route, last.body, answer, results)
    parsed = parse(parsed.admitted, parsed.route, body, parsed.keys)
    planned = replace(planned, parsed=parsed, given=parsed.input(owner=planned.given.owner))
    size, given, room = engine.count(planned.given, planned.engine), planned.given, planned.room
    made = FittedRequest(messages=[*given.messages], places=[], input=given, before=size.tokens, exact=size.exact)
    made.room = room
    if (room is not None and size.tokens > room.fits) or planned.engine.lowered(made) is not None:
        made = _shortened(planned, made, last.budget or size.tokens)
    found = written(planned, made)
    recalled = [planned.scale.count(text) for call, text in results if call.recalls]
    engine.charge(last.request, recalled)
    made.dropped, made.conversation, made.learn = dropped, last.request.conversation, last.request.learn
    made.regret = len(recalled), sum(recalled)
    return replace(found, recalls=True, before=last.before, edits=last.edits, budget=last.budget)


def without_recall(engine: Conversations, first: FittedBody) -> FittedBody:
    """Return a request as it was first sent, without the tool.

    Raises:
        HttpProblem: the parts that must stay are too long.
    """
    assert first.planned is not None
    return fit(replace(first.planned, given=replace(first.planned.given, recall=False)), engine)


def _shortened(planned: Planned, made: FittedRequest, target: int) -> FittedRequest:
    """Return a request cut to `target` tokens that continues no conversation.

    Raises:
        HttpProblem: the parts that must stay are too long, or the body can be read in two ways.
    """
    messages, given = planned.parsed.strict().messages, planned.given
    try:
        fitted = fit_messages(
            messages,
            target,
            meter=planned.scale,
            tools=given.tools,
            system=given.system,
            fields=given.fields,
            format=given.format,
        )
    except DoesNotFit as error:
        raise too_long(planned, error.needed, error.available, error.parts) from error
    at = {id(raw): index for index, raw in enumerate(messages)}
    places = [at.get(id(raw)) for raw in fitted.messages]
    return replace(made, messages=fitted.messages, places=places, changed=True, fitted=fitted)


class ModelCall(NamedTuple):
    """One call in an answer."""

    id: str
    name: str
    arguments: Any
    kind: str = ""
    """Its type, in Responses."""

    @property
    def recalls(self) -> bool:
        """Whether it calls the tool."""
        return self.name == NAME


def calls(route: str, answer: Any) -> list[ModelCall]:
    """Return the calls in an answer that the gateway or the client must run."""
    return [call for item in _items(route, _mapping(answer)) if (call := _call(route, _mapping(item))) is not None]


def _items(route: str, answer: Mapping[str, Any]) -> list[Any]:
    """Return the items of an answer that may be calls."""
    if route == CHAT:
        return _list(_message(answer).get("tool_calls"))
    return _list(answer.get("content" if route == MESSAGES else "output"))


def _call(route: str, item: Mapping[str, Any]) -> ModelCall | None:
    """Return the call in an item of an answer; `None` if it is not a call."""
    kind = str(item.get("type"))
    if route == CHAT:
        function = _mapping(item.get("function") or item.get("custom"))
        return ModelCall(str(item.get("id")), str(function.get("name")), function.get("arguments"))
    if route == MESSAGES and kind == "tool_use":
        return ModelCall(str(item.get("id")), str(item.get("name")), item.get("input"))
    if route == RESPONSES and kind.endswith("_call") and "call_id" in item:  # Calls that the provider runs have none.
        return ModelCall(str(item["call_id"]), str(item.get("name")), item.get("arguments"), kind)
    return None


def continued(route: str, body: bytes, answer: Mapping[str, Any], results: Sequence[tuple[ModelCall, str]]) -> bytes:
    """Return a request with an answer and the results of its calls at the end."""
    values = json.loads(body)
    key = next(key for key in MESSAGE_KEYS if key in values)
    messages = values[key] if isinstance(values[key], list) else [{"role": "user", "content": values[key]}]
    tail = [*messages, *_tail(route, answer, results)]
    return json.dumps({**values, key: tail}, ensure_ascii=False).encode("utf-8", "replace")


def _tail(route: str, answer: Mapping[str, Any], results: Sequence[tuple[ModelCall, str]]) -> list[Any]:
    """Return the messages with an answer and the results of its calls."""
    if route == CHAT:
        told = ({"role": "tool", "tool_call_id": call.id, "content": text} for call, text in results)
        return [_message(answer), *told]
    if route == MESSAGES:
        blocks = [{"type": "tool_result", "tool_use_id": call.id, "content": text} for call, text in results]
        return [{"role": "assistant", "content": answer["content"]}, {"role": "user", "content": blocks}]
    # A call whose result is not a text is left out; the model repeats it.
    kept = [item for item in answer["output"] if not _is_unanswerable(_mapping(item))]
    answers = [(call, text) for call, text in results if call.kind in _OUTPUTS]
    return [*kept, *({"type": _OUTPUTS[call.kind], "call_id": call.id, "output": text} for call, text in answers)]


def _is_unanswerable(item: Mapping[str, Any]) -> bool:
    call = _call(RESPONSES, item)
    return call is not None and call.kind not in _OUTPUTS


def assembled(route: str, stream: bytes) -> dict[str, Any]:
    """Return the complete answer from a stream of events, without fields that recall does not need."""
    values = [json_value(line[5:]) for line in stream.splitlines() if line.startswith(b"data:")]
    events = [event for event in values if isinstance(event, dict)]
    if route == CHAT:
        return _chat(events)
    if route == MESSAGES:
        return _messages(events)
    return _responses(events)


def _chat(events: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    content, listed, ids = "", dict[tuple[int, str], dict[str, Any]](), dict[int, str]()
    for event in events:
        delta = _mapping(_first(event, "choices").get("delta"))
        content += _text(delta, "content")
        for part in _list(delta.get("tool_calls")):
            if isinstance(part, dict):
                at = _index(part)
                ids[at] = _text(part, "id") or ids.get(at, "")  # Some servers give one index to all calls.
                new = {"id": ids[at], "type": "function", "function": {"name": "", "arguments": ""}}
                call = listed.setdefault((at, ids[at]), new)
                for key in ("name", "arguments"):
                    call["function"][key] += _text(part.get("function"), key)
    message: dict[str, Any] = {"role": "assistant", "content": content or None}
    if listed:
        message["tool_calls"] = [*listed.values()]
    return {"choices": [{"index": 0, "message": message}]}


def _messages(events: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    blocks, partial = dict[int, dict[str, Any]](), dict[int, str]()
    for event in events:
        at, block, delta = _index(event), event.get("content_block"), _mapping(event.get("delta"))
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


def _responses(events: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    done = [event.get("response") for event in events if event.get("type") == "response.completed"]
    if not done or not isinstance(done[-1], dict):  # An incomplete answer is not continued.
        return {}
    if done[-1].get("output"):
        return done[-1]
    return {**done[-1], "output": [event.get("item") for event in events if event.get("type") == _ITEM_DONE]}


def _message(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the message of an answer with choices."""
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


def _index(values: Mapping[str, Any]) -> int:
    """Return the index of a block, a call or a choice; 0 if it has none."""
    found = values.get("index")
    return found if isinstance(found, int) else 0
