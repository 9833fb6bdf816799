"""The API of OpenAI, scripted: Chat Completions, the list of models, and the road to Responses."""

# ruff: noqa: D102 - what each call does is said on the base

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from scripts.agents.responses_api import ResponsesApi
from scripts.agents.script import ScriptedAnswer, Seen
from scripts.agents.server import ApiReply
from scripts.agents.upstream import (
    Decided,
    IllegalRequest,
    ProviderApi,
    ReadRequest,
    after_answer,
    event,
    pieces,
    text_of,
)

_MODELS = ("gpt-5.1-codex", "rig-model")
_ROLES = ("system", "developer", "user", "assistant", "tool")


class OpenAiApi(ProviderApi):
    """Answers the paths of OpenAI; a WebSocket is refused, so that a client falls back to HTTP."""

    paths = re.compile(r"^/v1/chat/completions$")

    def get(self, path: str, headers: Mapping[str, str]) -> ApiReply:
        """List the models."""
        if "upgrade" in headers:
            return self.error(426, "This server has no WebSockets.")
        if path.partition("?")[0] != "/v1/models":
            return super().get(path, headers)
        listed = [{"id": name, "object": "model", "created": 1, "owned_by": "rig"} for name in _MODELS]
        return ApiReply(value={"object": "list", "data": listed})

    def post(self, path: str, request: dict[str, Any]) -> ApiReply:
        """Answer or refuse a request."""
        return ResponsesApi(self.upstream).post(path, request) if "responses" in path else super().post(path, request)

    def read(self, request: dict[str, Any]) -> ReadRequest:
        messages, tools = request.get("messages") or [], request.get("tools") or []
        tail = after_answer(messages, lambda message: message["role"] == "assistant")
        seen = Seen(
            text=text_of(messages),
            tail=[text_of(message) for message in tail if message["role"] == "user"],
            results=[message["tool_call_id"] for message in tail if message["role"] == "tool"],
            tools={each["name"]: each.get("parameters") or {} for tool in tools if (each := tool.get("function"))},
            system=text_of([message for message in messages if message["role"] in ("system", "developer")]),
        )
        fixed, parts = [self.tool(tool[tool["type"]]) for tool in tools], [self.part(each) for each in messages]
        return ReadRequest(seen=seen, fixed=fixed, messages=parts, check=lambda: check_chat(request))

    def answer(self, decided: Decided, answer: ScriptedAnswer, request: Mapping[str, Any]) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": answer.text or None, "refusal": None}
        functions = [{"name": each.name, "arguments": json.dumps(each.arguments)} for each in answer.calls]
        if answer.calls:
            message["tool_calls"] = [
                {"id": each.id, "type": "function", "function": function}
                for each, function in zip(answer.calls, functions, strict=True)
            ]
        finish, out = "tool_calls" if answer.calls else "stop", self.tokens(message)
        return {
            "id": f"chatcmpl-{decided.number:05d}",
            "object": "chat.completion",
            "created": 1_763_000_000,
            "model": request.get("model"),
            "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}],
            "usage": {
                "prompt_tokens": decided.tokens,
                "completion_tokens": out,
                "total_tokens": decided.tokens + out,
                "prompt_tokens_details": {"cached_tokens": decided.use.read},
                "completion_tokens_details": {"reasoning_tokens": 0},
            },
        }

    def events(self, value: dict[str, Any], request: Mapping[str, Any]) -> Iterator[str]:
        head = {name: value[name] for name in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
        choice = {"index": 0, "logprobs": None, "finish_reason": None}
        ended = value["choices"][0]
        for delta in _deltas(ended["message"]):
            yield event({**head, "choices": [{**choice, "delta": delta}]})
        yield event({**head, "choices": [{**choice, "delta": {}, "finish_reason": ended["finish_reason"]}]})
        if (request.get("stream_options") or {}).get("include_usage"):  # Without it, a stream reports no usage.
            yield event({**head, "choices": [], "usage": value["usage"]})
        yield "data: [DONE]\n\n"

    def overflow(self, decided: Decided, request: Mapping[str, Any]) -> ApiReply:  # noqa: ARG002
        said = (
            f"This model's maximum context length is {self.upstream.window} tokens. However, your messages resulted in"
        )
        said = f"{said} {decided.tokens} tokens. Please reduce the length of the messages."
        return self.error(400, said, "messages", "context_length_exceeded")


def _deltas(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"role": "assistant", "content": None if message["content"] is None else ""}
    for piece in pieces(message["content"] or ""):
        yield {"content": piece}
    for n, call in enumerate(message.get("tool_calls", [])):
        function = call["function"]
        yield {"tool_calls": [{"index": n, **call, "function": {"name": function["name"], "arguments": ""}}]}
        for piece in pieces(function["arguments"]):
            yield {"tool_calls": [{"index": n, "function": {"arguments": piece}}]}


def check_chat(request: Mapping[str, Any]) -> None:
    """Check a request.

    Raises:
        IllegalRequest: the provider would refuse it.
    """
    messages = request.get("messages")
    if not messages:
        raise IllegalRequest(
            "Invalid 'messages': empty array. Expected at least one message.", "messages", "empty_array"
        )
    if request.get("tools") == []:
        raise IllegalRequest("[] is too short - 'tools'", "tools", "empty_array")
    waiting: list[str] = []
    for i, message in enumerate(messages):
        if message.get("role") == "tool":
            if message.get("tool_call_id") not in waiting:
                raise IllegalRequest(
                    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with "
                    "'tool_calls'.",
                    f"messages.[{i}].role",
                )
            waiting.remove(message["tool_call_id"])
            continue
        if waiting:
            raise _unanswered(waiting)
        waiting = _check_message(i, message)
    if waiting:
        raise _unanswered(waiting)
    if not any(message["role"] == "user" for message in messages):
        raise IllegalRequest("No user query found in messages.", "messages")


def _check_message(i: int, message: Mapping[str, Any]) -> list[str]:
    """Check one message by itself, and return the ids of the calls that it makes."""
    if message.get("role") not in _ROLES:
        raise IllegalRequest(f"Invalid value: '{message.get('role')}'.", f"messages[{i}].role", "invalid_value")
    calls = message.get("tool_calls")
    if calls == []:
        raise IllegalRequest(
            f"Invalid 'messages[{i}].tool_calls': empty array.", f"messages[{i}].tool_calls", "empty_array"
        )
    if calls:
        return [call["id"] for call in calls]
    if message.get("content") is None and not message.get("refusal"):
        raise IllegalRequest("Invalid value for 'content': expected a string, got null.", f"messages.[{i}].content")
    return []


def _unanswered(calls: list[str]) -> IllegalRequest:
    return IllegalRequest(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
        f"The following tool_call_ids did not have response messages: {', '.join(calls)}",
        "messages",
    )
