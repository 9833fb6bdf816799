"""The rules of the Messages API: what Anthropic refuses whatever its length.

Roles must alternate: the first-party API merges messages of one role, other hosts of the same models refuse them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from scripts.agents.illegal import IllegalRequest, signature

_THINKING = ("thinking", "redacted_thinking")
_MOST_MARKS = 4
_MID_SYSTEM = ("claude-opus-4-8", "claude-sonnet-5", "claude-opus-5", "claude-fable-5")
"""The models that take system messages after the first message."""


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
