"""Chat Completions, scripted."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from scripts.agents.cache import PromptPart
from scripts.agents.chat_rules import check_chat
from scripts.agents.count import OPENAI, content_tokens, tool_tokens
from scripts.agents.script import ScriptedAnswer, Seen
from scripts.agents.server import ApiReply
from scripts.agents.upstream import Decided, ReadRequest, Upstream, compared, pieces, text_of


class ChatApi:
    """Answers `/v1/chat/completions`."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream

    def post(self, path: str, request: dict[str, Any], headers: Mapping[str, str]) -> ApiReply:
        """Answer or refuse a request."""
        read = _read(path, request, headers)
        decided = self._upstream.decide(read)
        if (illegal := decided.illegal) is not None:
            return error(400, str(illegal), illegal.param, illegal.code, decided.request_id)
        if decided.answer is None:
            said = self._overflow(decided.tokens, read.asked)
            return error(400, said, "messages", "context_length_exceeded", decided.request_id)
        completion = _completion(decided, decided.answer, request.get("model"))
        if request.get("stream"):
            return ApiReply(events=_events(completion, usage=read.reports), request_id=decided.request_id)
        return ApiReply(value=completion, request_id=decided.request_id)

    def _overflow(self, tokens: int, asked: int) -> str:
        said = f"This model's maximum context length is {self._upstream.window} tokens. However, "
        if tokens > self._upstream.window:
            return f"{said}your messages resulted in {tokens} tokens. Please reduce the length of the messages."
        return (
            f"{said}you requested {tokens + asked} tokens ({tokens} in the messages, {asked} in the completion). "
            "Please reduce the length of the messages or completion."
        )


def error(status: int, said: str, param: str | None, code: str | None, request_id: str = "req_none") -> ApiReply:
    """Return an error as OpenAI sends it."""
    value = {"error": {"message": said, "type": "invalid_request_error", "param": param, "code": code}}
    return ApiReply(status=status, value=value, request_id=request_id)


def _read(path: str, request: dict[str, Any], headers: Mapping[str, str]) -> ReadRequest:
    messages = request.get("messages") or []
    tools = request.get("tools") or []
    last = max((i for i, message in enumerate(messages) if message["role"] == "assistant"), default=-1)
    tail = messages[last + 1 :]
    return ReadRequest(
        body=request,
        seen=Seen(
            text=text_of(messages),
            tail=[text_of(message) for message in tail if message["role"] == "user"],
            results=[message["tool_call_id"] for message in tail if message["role"] == "tool"],
            tools={each["name"]: each.get("parameters") or {} for tool in tools if (each := tool.get("function"))},
            system=text_of([message for message in messages if message["role"] in ("system", "developer")]),
        ),
        fixed=[PromptPart(compared(tool), tool_tokens(tool[tool["type"]], OPENAI)) for tool in tools],
        messages=[PromptPart(compared(message), content_tokens(message, OPENAI)) for message in messages],
        asked=request.get("max_completion_tokens") or request.get("max_tokens") or 0,
        check=lambda: check_chat(request),
        reports=not request.get("stream") or bool((request.get("stream_options") or {}).get("include_usage")),
        path=path,
        client=headers.get("user-agent", ""),
    )


def _completion(decided: Decided, answer: ScriptedAnswer, model: Any) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": answer.text or None, "refusal": None}
    if answer.calls:
        message["tool_calls"] = [
            {
                "id": each.id,
                "type": "function",
                "function": {"name": each.name, "arguments": json.dumps(each.arguments)},
            }
            for each in answer.calls
        ]
    finish, out = "tool_calls" if answer.calls else "stop", content_tokens(message, OPENAI)
    return {
        "id": f"chatcmpl-{decided.number:05d}",
        "object": "chat.completion",
        "created": 1_763_000_000,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}],
        "usage": {
            "prompt_tokens": decided.tokens,
            "completion_tokens": out,
            "total_tokens": decided.tokens + out,
            "prompt_tokens_details": {"cached_tokens": decided.use.read},
            "completion_tokens_details": {"reasoning_tokens": 0},
        },
    }


def _events(completion: dict[str, Any], *, usage: bool) -> Iterator[str]:
    head = {name: completion[name] for name in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
    choice = completion["choices"][0]
    for delta in _deltas(choice["message"]):
        yield _event(head, delta)
    yield _event(head, {}, choice["finish_reason"])
    if usage:
        yield f"data: {json.dumps({**head, 'choices': [], 'usage': completion['usage']})}\n\n"
    yield "data: [DONE]\n\n"


def _event(head: dict[str, Any], delta: dict[str, Any], finish: str | None = None) -> str:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return f"data: {json.dumps({**head, 'choices': [choice]}, ensure_ascii=False)}\n\n"


def _deltas(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"role": "assistant", "content": None if message["content"] is None else ""}
    for piece in pieces(message["content"] or ""):
        yield {"content": piece}
    for n, call in enumerate(message.get("tool_calls", [])):
        function = call["function"]
        yield {"tool_calls": [{"index": n, **call, "function": {"name": function["name"], "arguments": ""}}]}
        for piece in pieces(function["arguments"]):
            yield {"tool_calls": [{"index": n, "function": {"arguments": piece}}]}
