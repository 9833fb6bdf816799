"""The Messages API of Anthropic, scripted: a hard window, strict rules, a prompt cache with breakpoints, streams."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from scripts.agents.cache import PromptPart
from scripts.agents.count import CLAUDE, content_tokens, tool_tokens
from scripts.agents.illegal import signature
from scripts.agents.messages_rules import blocks_of, check_messages
from scripts.agents.script import ScriptedAnswer, Seen
from scripts.agents.server import ApiReply
from scripts.agents.upstream import Decided, ReadRequest, Upstream, compared, pieces, text_of


class MessagesApi:
    """Answers `/v1/messages` and `/v1/messages/count_tokens`."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream

    def get(self, path: str, headers: Mapping[str, str]) -> ApiReply:  # noqa: ARG002 - the shape of an API
        """List the models."""
        if not path.startswith("/v1/models"):
            return _error(404, "not_found_error", "Not found")
        model = {"type": "model", "id": "claude-sonnet-4-5-20250929", "display_name": "Claude Sonnet 4.5"}
        listed = [{**model, "created_at": "2025-09-29T00:00:00Z"}]
        return ApiReply(value={"data": listed, "has_more": False, "first_id": model["id"], "last_id": model["id"]})

    def post(self, path: str, request: dict[str, Any], headers: Mapping[str, str]) -> ApiReply:
        """Answer or refuse a request."""
        path = path.partition("?")[0]
        if path not in ("/v1/messages", "/v1/messages/count_tokens"):
            return _error(404, "not_found_error", "Not found")
        read = _read(path, request, headers)
        if path.endswith("count_tokens"):
            return ApiReply(value={"input_tokens": read.tokens})
        decided = self._upstream.decide(read)
        if decided.illegal is not None:
            return _error(400, "invalid_request_error", str(decided.illegal), decided.request_id)
        if decided.answer is None:
            return _error(400, "invalid_request_error", self._overflow(decided, read.asked), decided.request_id)
        message = _message(decided, decided.answer, str(request.get("model")))
        if request.get("stream"):
            return ApiReply(events=_events(message), request_id=decided.request_id)
        return ApiReply(value=message, request_id=decided.request_id)

    def _overflow(self, decided: Decided, asked: int) -> str:
        window = self._upstream.window
        if decided.tokens > window:
            return f"prompt is too long: {decided.tokens} tokens > {window} maximum"
        return (
            f"input length and `max_tokens` exceed context limit: {decided.tokens} + {asked} > {window}, "
            "decrease input length or `max_tokens` and try again"
        )


def _read(path: str, request: dict[str, Any], headers: Mapping[str, str]) -> ReadRequest:
    fixed = [
        PromptPart(compared(tool), tool_tokens(tool, CLAUDE), "cache_control" in tool)
        for tool in request.get("tools") or []
    ]
    fixed += [_part("system", block) for block in blocks_of(request.get("system"))]
    messages = request.get("messages") or []
    parts = [_part(message["role"], block) for message in messages for block in blocks_of(message["content"])]
    return ReadRequest(
        body=request,
        seen=_seen(request, messages),
        fixed=fixed,
        messages=parts,
        asked=request.get("max_tokens") or 0,
        check=lambda: check_messages(request),
        path=path,
        client=headers.get("user-agent", ""),
    )


def _part(role: str, block: dict[str, Any]) -> PromptPart:
    return PromptPart(role + compared(block), content_tokens(block, CLAUDE), "cache_control" in block)


def _seen(request: Mapping[str, Any], messages: list[dict[str, Any]]) -> Seen:
    last = max((i for i, message in enumerate(messages) if message["role"] == "assistant"), default=-1)
    tail = [block for message in messages[last + 1 :] for block in blocks_of(message["content"])]
    return Seen(
        text=text_of(messages),
        tail=[block["text"] for block in tail if block["type"] == "text"],
        results=[block["tool_use_id"] for block in tail if block["type"] == "tool_result"],
        tools={tool["name"]: tool.get("input_schema") or {} for tool in request.get("tools") or []},
        system=text_of(request.get("system")),
        thinks=(request.get("thinking") or {}).get("type") in ("enabled", "adaptive"),
    )


def _message(decided: Decided, answer: ScriptedAnswer, model: str) -> dict[str, Any]:
    content: list[dict[str, Any]] = []
    if answer.thinking:
        content.append({"type": "thinking", "thinking": answer.thinking, "signature": signature(answer.thinking)})
    if answer.text:
        content.append({"type": "text", "text": answer.text})
    content += [
        {"type": "tool_use", "id": each.id, "name": each.name, "input": each.arguments} for each in answer.calls
    ]
    usage = {
        "input_tokens": decided.tokens - decided.use.read - decided.use.written,
        "cache_creation_input_tokens": decided.use.written,
        "cache_read_input_tokens": decided.use.read,
        "output_tokens": sum(content_tokens(block, CLAUDE) for block in content),
    }
    return {
        "id": f"msg_{decided.number:05d}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": "tool_use" if answer.calls else "end_turn",
        "stop_sequence": None,
        "usage": usage,
    }


def _events(message: dict[str, Any]) -> Iterator[str]:
    usage = message["usage"]
    start = {**message, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    yield _event("message_start", message=start)
    yield _event("ping")
    for i, block in enumerate(message["content"]):
        empty, deltas = _deltas(block)
        yield _event("content_block_start", index=i, content_block=empty)
        for delta in deltas:
            yield _event("content_block_delta", index=i, delta=delta)
        yield _event("content_block_stop", index=i)
    end = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield _event("message_delta", delta=end, usage={"output_tokens": usage["output_tokens"]})
    yield _event("message_stop")


def _deltas(block: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the empty block with which a stream begins a block, and what follows."""
    if block["type"] == "thinking":
        thought = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(block["thinking"])]
        signed = {"type": "signature_delta", "signature": block["signature"]}
        return {"type": "thinking", "thinking": "", "signature": ""}, [*thought, signed]
    if block["type"] == "text":
        return {"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in pieces(block["text"])]
    arguments = pieces(json.dumps(block["input"]))
    return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": piece} for piece in arguments]


def _event(kind: str, **values: Any) -> str:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **values}, ensure_ascii=False)}\n\n"


def _error(status: int, kind: str, message: str, request_id: str = "req_none") -> ApiReply:
    value = {"type": "error", "error": {"type": kind, "message": message}, "request_id": request_id}
    return ApiReply(status=status, value=value, request_id=request_id)
