"""The Responses API, scripted: reasoning items, and an overflow inside the stream, without numbers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

from scripts.agents.cache import PromptPart
from scripts.agents.chat_api import error
from scripts.agents.count import OPENAI, content_tokens, tool_tokens
from scripts.agents.illegal import sealed
from scripts.agents.responses_rules import OUTPUTS, REASONED, check_responses
from scripts.agents.script import ScriptedAnswer, Seen
from scripts.agents.server import ApiReply
from scripts.agents.upstream import Decided, ReadRequest, Upstream, compared, pieces, text_of

_OVERFLOW = "Your input exceeds the context window of this model. Please adjust your input and try again."
_CODE = "context_length_exceeded"


class ResponsesApi:
    """Answers `/v1/responses`."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream

    def post(self, path: str, request: dict[str, Any], headers: Mapping[str, str]) -> ApiReply:
        """Answer or refuse a request."""
        decided = self._upstream.decide(_read(path, request, headers))
        if (illegal := decided.illegal) is not None:
            return error(400, str(illegal), illegal.param, illegal.code, decided.request_id)
        response = _response(decided, request)
        if request.get("stream"):
            events = _failed(response) if decided.answer is None else _events(response)
            return ApiReply(events=events, request_id=decided.request_id)
        if decided.answer is None:
            return error(400, _OVERFLOW, "input", _CODE, decided.request_id)
        return ApiReply(value=response, request_id=decided.request_id)


def _read(path: str, request: dict[str, Any], headers: Mapping[str, str]) -> ReadRequest:
    items = request.get("input") or []
    if isinstance(items, str):
        items = [{"type": "message", "role": "user", "content": items}]
    tools = request.get("tools") or []
    last = max((i for i, item in enumerate(items) if _is_answer(item)), default=-1)
    tail = items[last + 1 :]
    fixed = [PromptPart(compared(tool), tool_tokens(tool, OPENAI)) for tool in tools]
    if instructions := request.get("instructions"):
        fixed.append(PromptPart(instructions, content_tokens(instructions, OPENAI)))
    hidden = [item["encrypted_content"][5:-64] for item in items if item.get("type") == "compaction"]
    return ReadRequest(
        body=request,
        seen=Seen(
            text=text_of([*hidden, *items]),
            tail=[text_of(item) for item in tail if item.get("role") == "user"],
            results=[item["call_id"] for item in tail if "call_id" in item],
            tools={tool["name"]: tool.get("parameters") or {} for tool in tools if tool.get("type") == "function"},
            system=instructions or "",
            thinks=bool(request.get("reasoning")),
            summarizes=any(item.get("type") == "compaction_trigger" for item in tail),
        ),
        fixed=fixed,
        messages=[PromptPart(compared(item), content_tokens(item, OPENAI)) for item in items],
        asked=request.get("max_output_tokens") or 0,
        check=lambda: check_responses(request),
        path=path,
        client=headers.get("user-agent", ""),
    )


def _is_answer(item: Mapping[str, Any]) -> bool:
    return item.get("role") == "assistant" or item.get("type") in (*OUTPUTS, "reasoning")


def _response(decided: Decided, request: Mapping[str, Any]) -> dict[str, Any]:
    output = [] if decided.answer is None else list(_output(decided.number, decided.answer, request))
    out = sum(content_tokens(item, OPENAI) for item in output)
    return {
        "id": f"resp_{decided.number:05d}",
        "object": "response",
        "created_at": 1_763_000_000,
        "model": request.get("model"),
        "status": "completed",
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": request.get("tools") or [],
        "metadata": {},
        "error": None,
        "incomplete_details": None,
        "output": output,
        "usage": {
            "input_tokens": decided.tokens,
            "input_tokens_details": {"cached_tokens": decided.use.read},
            "output_tokens": out,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": decided.tokens + out,
        },
    }


def _output(number: int, answer: ScriptedAnswer, request: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    items = request.get("input")
    if isinstance(items, list) and any(item.get("type") == "compaction_trigger" for item in items):
        yield {"id": f"cmp_{number}", "type": "compaction", "encrypted_content": sealed(answer.text)}
        return
    if answer.thinking:
        summary = [{"type": "summary_text", "text": f"step {answer.step} is next"}]
        yield {
            "id": f"rs_{number}",
            "type": "reasoning",
            "summary": summary,
            "encrypted_content": sealed(answer.thinking),
        }
    if answer.text:
        content = [{"type": "output_text", "text": answer.text, "annotations": []}]
        message = {"id": f"msg_{number}", "type": "message", "status": "completed", "role": "assistant"}
        yield {**message, "content": content}
    for n, call in enumerate(answer.calls):
        prefix = REASONED if answer.thinking else "call_plain_"
        yield {
            "id": f"fc_{number}_{n}",
            "type": "function_call",
            "status": "completed",
            "call_id": prefix + call.id,
            "name": call.name,
            "arguments": json.dumps(call.arguments),
        }


def _started(response: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    begun = {**response, "status": "in_progress", "output": [], "usage": None}
    yield "response.created", {"response": begun}
    yield "response.in_progress", {"response": begun}


def _failed(response: dict[str, Any]) -> Iterator[str]:
    """Yield a stream that is accepted and fails inside, as the provider's does."""
    failure = {"code": _CODE, "message": _OVERFLOW}
    ended = {**response, "status": "failed", "usage": None, "error": failure}
    events = [
        *_started(response),
        ("error", {"error": {"type": "invalid_request_error", **failure, "param": "input"}}),
        ("response.failed", {"response": ended}),
    ]
    return _numbered(iter(events))


def _events(response: dict[str, Any]) -> Iterator[str]:
    def events() -> Iterator[tuple[str, dict[str, Any]]]:
        yield from _started(response)
        for i, item in enumerate(response["output"]):
            for kind, values in _item_events(item):
                yield kind, {"output_index": i, **values}
        yield "response.completed", {"response": response}

    return _numbered(events())


def _item_events(item: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    name = {"item_id": item["id"]}
    if item["type"] == "message":
        part, text = {"content_index": 0, **name}, item["content"][0]
        yield "response.output_item.added", {"item": {**item, "status": "in_progress", "content": []}}
        yield "response.content_part.added", {**part, "part": {**text, "text": ""}}
        for piece in pieces(text["text"]):
            yield "response.output_text.delta", {**part, "delta": piece}
        yield "response.output_text.done", {**part, "text": text["text"]}
        yield "response.content_part.done", {**part, "part": text}
    elif item["type"] == "function_call":
        yield "response.output_item.added", {"item": {**item, "status": "in_progress", "arguments": ""}}
        for piece in pieces(item["arguments"]):
            yield "response.function_call_arguments.delta", {**name, "delta": piece}
        yield "response.function_call_arguments.done", {**name, "arguments": item["arguments"]}
    else:
        yield "response.output_item.added", {"item": {**item, "summary": []} if "summary" in item else item}
    yield "response.output_item.done", {"item": item}


def _numbered(events: Iterator[tuple[str, dict[str, Any]]]) -> Iterator[str]:
    for number, (kind, values) in zip(count(), events, strict=False):
        value = {"type": kind, "sequence_number": number, **values}
        yield f"event: {kind}\ndata: {json.dumps(value, ensure_ascii=False)}\n\n"
