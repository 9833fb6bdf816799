"""The Messages API of Anthropic, scripted: a hard window, a prompt cache with breakpoints, streams, and strict rules.

It counts by another vocabulary than the one that brim estimates Claude with, so brim has to learn from the usage that
is reported. Roles must alternate: the first-party API merges messages of one role, other hosts of the same models
refuse them.
"""

# ruff: noqa: D102 - what each call does is said on the base

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

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
    signature,
    text_of,
)

_THINKING = ("thinking", "redacted_thinking")
_MOST_MARKS = 4
_MID_SYSTEM = ("claude-opus-4-8", "claude-sonnet-5", "claude-opus-5", "claude-fable-5")
"""The models that take system messages after the first message."""


class MessagesApi(ProviderApi):
    """Answers `/v1/messages` and `/v1/messages/count_tokens`."""

    paths = re.compile(r"^/v1/messages(/count_tokens)?$")
    vocabulary = "cl100k_base"

    def get(self, path: str, headers: Mapping[str, str]) -> ApiReply:
        """List the models."""
        if not path.startswith("/v1/models"):
            return super().get(path, headers)
        model = {"type": "model", "id": "claude-sonnet-4-5-20250929", "display_name": "Claude Sonnet 4.5"}
        listed = [{**model, "created_at": "2025-09-29T00:00:00Z"}]
        return ApiReply(value={"data": listed, "has_more": False, "first_id": model["id"], "last_id": model["id"]})

    def read(self, request: dict[str, Any]) -> ReadRequest:
        messages, tools = request.get("messages") or [], request.get("tools") or []
        answered = after_answer(messages, lambda message: message["role"] == "assistant")
        tail = [block for message in answered for block in blocks_of(message["content"])]
        seen = Seen(
            text=text_of(messages),
            tail=[block["text"] for block in tail if block["type"] == "text"],
            results=[block["tool_use_id"] for block in tail if block["type"] == "tool_result"],
            tools={tool["name"]: tool.get("input_schema") or {} for tool in tools},
            system=text_of(request.get("system")),
            thinks=(request.get("thinking") or {}).get("type") in ("enabled", "adaptive"),
        )
        system = [self.part(block, "system") for block in blocks_of(request.get("system"))]
        parts = [self.part(block, each["role"]) for each in messages for block in blocks_of(each["content"])]
        fixed = [*map(self.tool, tools), *system]
        return ReadRequest(seen=seen, fixed=fixed, messages=parts, check=lambda: check_messages(request))

    def answer(self, decided: Decided, answer: ScriptedAnswer, request: Mapping[str, Any]) -> dict[str, Any]:
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
            "output_tokens": sum(map(self.tokens, content)),
        }
        stop = {"stop_reason": "tool_use" if answer.calls else "end_turn", "stop_sequence": None}
        head = {"id": f"msg_{decided.number:05d}", "type": "message", "role": "assistant"}
        return {**head, "model": str(request.get("model")), "content": content, **stop, "usage": usage}

    def events(self, value: dict[str, Any], request: Mapping[str, Any]) -> Iterator[str]:  # noqa: ARG002
        usage = value["usage"]
        start = {**value, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
        yield _event("message_start", message=start)
        yield _event("ping")
        for i, block in enumerate(value["content"]):
            empty, deltas = _deltas(block)
            yield _event("content_block_start", index=i, content_block=empty)
            for delta in deltas:
                yield _event("content_block_delta", index=i, delta=delta)
            yield _event("content_block_stop", index=i)
        end = {"stop_reason": value["stop_reason"], "stop_sequence": None}
        yield _event("message_delta", delta=end, usage={"output_tokens": usage["output_tokens"]})
        yield _event("message_stop")

    def error(self, status: int, said: str, param: str | None = None, code: str | None = None) -> ApiReply:  # noqa: ARG002
        kind = "not_found_error" if status == 404 else "invalid_request_error"
        value = {"type": "error", "error": {"type": kind, "message": said}, "request_id": "req_rig"}
        return ApiReply(status=status, value=value)

    def overflow(self, decided: Decided, request: Mapping[str, Any]) -> ApiReply:  # noqa: ARG002
        return self.error(400, f"prompt is too long: {decided.tokens} tokens > {self.upstream.window} maximum")


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
    return event({"type": kind, **values}, kind)


@dataclass(frozen=True, slots=True)
class _Turn:
    role: str
    blocks: list[dict[str, Any]]
    index: int

    def ids(self, kind: str) -> list[str]:
        field = "id" if kind == "tool_use" else "tool_use_id"
        return [block[field] for block in self.blocks if block["type"] == kind]


def blocks_of(content: Any) -> list[dict[str, Any]]:
    """Return content as a list of blocks."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content or [])


def check_messages(request: Mapping[str, Any]) -> None:
    """Check a request.

    Raises:
        IllegalRequest: the provider would refuse it.
    """
    if not request.get("messages"):
        raise IllegalRequest("messages: at least one message is required")
    turns = list(_turns(request["messages"], str(request.get("model")).startswith(_MID_SYSTEM)))
    if turns[0].role != "user":
        raise IllegalRequest('messages: first message must use the "user" role')
    _check_marks(request)
    _check_pairs(turns)
    if any(turn.ids("tool_use") or turn.ids("tool_result") for turn in turns) and not request.get("tools"):
        raise IllegalRequest("Requests which include `tool_use` or `tool_result` blocks must define tools")
    _check_thinking(request, turns)


def _turns(messages: list[dict[str, Any]], mid_system: bool) -> Iterator[_Turn]:
    """Yield the turns: a system message in the middle belongs to the turn of the user that it stands beside."""
    turn: _Turn | None = None
    before = ""
    for i, message in enumerate(messages):
        role, blocks = str(message.get("role")), blocks_of(message.get("content"))
        _check_blocks(i, role, blocks, last=i == len(messages) - 1)
        if role == "system" and mid_system and i > 0:
            own = "user"
        elif role in ("user", "assistant"):
            own = role
        else:
            raise IllegalRequest(f"messages.{i}.role: Input should be 'user' or 'assistant'")
        if turn is not None and turn.role == own:
            if "system" not in (role, before):
                raise IllegalRequest(
                    f'messages.{i}: roles must alternate between "user" and "assistant", '
                    f'but found multiple "{role}" roles in a row'
                )
            turn.blocks.extend(blocks)
        else:
            if turn is not None:
                yield turn
            turn = _Turn(own, blocks, i)
        before = role
    if turn is not None:
        yield turn


def _check_blocks(i: int, role: str, blocks: list[dict[str, Any]], *, last: bool) -> None:
    """Check one message by itself."""
    if not blocks and not (last and role == "assistant"):
        raise IllegalRequest(
            f"messages.{i}: all messages must have non-empty content except for the optional final assistant message"
        )
    for j, block in enumerate(blocks):
        kind = block["type"]
        if kind == "text" and not block["text"].strip():
            raise IllegalRequest(f"messages.{i}: text content blocks must contain non-whitespace text")
        if kind in _THINKING and "cache_control" in block:
            raise IllegalRequest(f"messages.{i}.content.{j}.{kind}.cache_control: Extra inputs are not permitted")
        if kind == "thinking" and block.get("signature") != signature(block["thinking"]):
            raise IllegalRequest(f"messages.{i}.content.{j}: Invalid `signature` in `thinking` block")


def _check_marks(request: Mapping[str, Any]) -> None:
    """Check how many breakpoints a request sets."""
    parts = [*(request.get("tools") or []), *blocks_of(request.get("system"))]
    for message in request["messages"]:
        parts += blocks_of(message.get("content"))
    if (marks := sum("cache_control" in part for part in parts)) > _MOST_MARKS:
        raise IllegalRequest(f"A maximum of {_MOST_MARKS} blocks with cache_control may be provided. Found {marks}.")


def _check_pairs(turns: list[_Turn]) -> None:
    """Check that each call has its result in the next turn, once, before anything else."""
    seen: set[str] = set()
    for k, turn in enumerate(turns):
        calls, results = turn.ids("tool_use"), turn.ids("tool_result")
        where = f"messages.{turn.index}"
        if turn.role == "user" and calls:
            raise IllegalRequest(f"{where}: `tool_use` blocks can only be in `assistant` messages")
        if turn.role == "assistant" and results:
            raise IllegalRequest(f"{where}: `tool_result` blocks can only be in `user` messages")
        if len(set(calls)) != len(calls) or seen & set(calls):
            raise IllegalRequest(f"{where}: `tool_use` ids must be unique")
        seen.update(calls)
        answered = turns[k + 1].ids("tool_result") if k + 1 < len(turns) else []
        if lost := [call for call in calls if call not in answered]:
            raise IllegalRequest(
                f"{where}: `tool_use` ids were found without `tool_result` blocks immediately after: {', '.join(lost)}"
                ". Each `tool_use` block must have a corresponding `tool_result` block in the next message."
            )
        asked = turns[k - 1].ids("tool_use") if k else []
        if stray := [result for result in results if result not in asked]:
            raise IllegalRequest(
                f"{where}.content.0: unexpected `tool_use_id` found in `tool_result` blocks: {', '.join(stray)}. Each "
                "`tool_result` block must have a corresponding `tool_use` block in the previous message."
            )
        if len(set(results)) != len(results):
            raise IllegalRequest(f"{where}: each tool_use must have a single result")
        if any(block["type"] != "tool_result" for block in turn.blocks[: len(results)]):
            raise IllegalRequest(f"{where}: `tool_result` blocks must come first in the content after `tool_use`")


def _check_thinking(request: Mapping[str, Any], turns: list[_Turn]) -> None:
    """Check the rules for requests that think."""
    thinking = request.get("thinking") or {}
    if thinking.get("type") not in ("enabled", "adaptive"):
        return
    if turns[-1].role == "assistant":
        raise IllegalRequest("messages: final assistant content cannot be a prefill when thinking is enabled")
    if thinking["type"] == "adaptive":
        return
    if thinking.get("budget_tokens", 0) >= request.get("max_tokens", 0):
        raise IllegalRequest("`max_tokens` must be greater than `thinking.budget_tokens`")
    if turns[-1].ids("tool_result"):
        first = turns[-2].blocks[0]["type"]
        if first not in _THINKING:
            raise IllegalRequest(
                f"messages.{turns[-2].index}.content.0.type: Expected `thinking` or `redacted_thinking`, but found "
                f"`{first}`. When `thinking` is enabled, a final `assistant` message must start with a thinking block "
                "(preceeding the lastmost set of `tool_use` and `tool_result` blocks)."
            )
