"""An answer without its calls of `brim_recall`, which the client does not know: what is left is a legal answer.

A model may call the tool together with tools of the client, or once more after the last round. If no call is left, the
answer is one that ended; if nothing is left, it says so in a text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from brim.gateway.body import json_value
from brim.gateway.problem import CHAT, MESSAGES
from brim.sessions.recall_tool import NAME

EMPTY = "The model asked for earlier text of this conversation only, and gave no answer."
"""The text of an answer of which nothing is left."""
_CALLED = ("tool_calls", "tool_use", "function_call")
"""Reasons to stop that announce a call."""


def stripped(route: str, raw: bytes) -> bytes:
    """Return an answer without its calls of the tool; its own bytes if it has none."""
    answer = json_value(raw) if NAME.encode() in raw else None
    made = without(route, answer) if isinstance(answer, dict) else answer
    return raw if made == answer else json.dumps(made).encode()


def without(route: str, answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return an answer without its calls of the tool; also without its definition, where an answer repeats it."""
    if route == CHAT:
        choices = answer.get("choices")
        return {**answer, "choices": [_choice(each) for each in choices]} if isinstance(choices, list) else dict(answer)
    if route == MESSAGES:
        return _message(answer)
    return response(answer)


def is_recall(item: Any) -> bool:
    """Return whether an item of an answer or of its tools is the tool, or a call of it."""
    if not isinstance(item, Mapping):
        return False
    function = item.get("function")
    return NAME in (item.get("name"), function.get("name") if isinstance(function, Mapping) else None)


def reason(given: Any, *, calls: bool, ended: str) -> Any:
    """Return the reason to stop of an answer that has calls or none left."""
    return ended if given in _CALLED and not calls else given


def _choice(choice: Any) -> Any:
    """Return a choice of Chat Completions."""
    message = choice.get("message") if isinstance(choice, Mapping) else None
    calls = _list(message.get("tool_calls")) if isinstance(message, Mapping) else []
    kept = [call for call in calls if not is_recall(call)]
    if not isinstance(message, Mapping) or len(kept) == len(calls):
        return choice
    message = {**message, "tool_calls": kept}
    if not kept:
        del message["tool_calls"]
        message["content"] = message.get("content") or EMPTY
    ended = reason(choice.get("finish_reason"), calls=bool(kept), ended="stop")
    return {**choice, "message": message, "finish_reason": ended}


def _message(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return an answer of Anthropic."""
    blocks = _list(answer.get("content"))
    kept = [block for block in blocks if not is_recall(block)]
    if len(kept) == len(blocks):
        return dict(answer)
    if not any(is_content(block) for block in kept):
        kept.append({"type": "text", "text": EMPTY})
    calls = any(isinstance(block, Mapping) and block.get("type") == "tool_use" for block in kept)
    ended = reason(answer.get("stop_reason"), calls=calls, ended="end_turn")
    return {**answer, "content": kept, "stop_reason": ended}


def response(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return an answer of Responses, whole or as an event of a stream repeats it."""
    found = dict(answer)
    if isinstance(tools := answer.get("tools"), list):
        found["tools"] = [tool for tool in tools if not is_recall(tool)]
    items = _list(answer.get("output"))
    dropped = dropped_items(items)
    if dropped:
        kept = [item for at, item in enumerate(items) if at not in dropped]
        found["output"] = kept if any(is_content(item) for item in kept) else [*kept, empty_item()]
    return found


def dropped_items(items: Sequence[Any]) -> set[int]:
    """Return the indexes of the items of Responses that are not for the client.

    These are calls of the tool, and the reasoning before them unless it leads to another item, since providers
    refuse reasoning that leads to nothing.
    """
    dropped = {at for at, item in enumerate(items) if is_recall(item)}
    leads, gap = False, False
    for at in reversed(range(len(items))):
        if at in dropped:
            gap = True
        elif _is_reasoning(items[at]) and gap and not leads:
            dropped.add(at)
        else:
            leads, gap = not _is_reasoning(items[at]), False
    return dropped


def is_content(item: Any) -> bool:
    """Return whether a block or an item is something for the client: neither thinking nor an empty text."""
    if not isinstance(item, Mapping):
        return False
    if item.get("type") == "text":
        return bool(item.get("text"))
    return not _is_reasoning(item) and item.get("type") not in ("thinking", "redacted_thinking")


def empty_item() -> dict[str, Any]:
    """Return the item of an answer of Responses of which nothing is left."""
    part = {"type": "output_text", "text": EMPTY, "annotations": []}
    return {"id": "msg_brim", "type": "message", "role": "assistant", "status": "completed", "content": [part]}


def _is_reasoning(item: Any) -> bool:
    return isinstance(item, Mapping) and item.get("type") == "reasoning"


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
