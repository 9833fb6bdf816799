"""An answer without its calls of `brim_recall`, which the client does not know: what is left is a legal answer.

A model may call the tool together with tools of the client, or once more after the last round. If no call is left, the
answer is one that ended; if nothing is left, it says so in a text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from brim.gateway.body import json_value
from brim.gateway.problem import BEDROCK, CHAT, GEMINI, MESSAGES
from brim.sessions.recall.recall_tool import NAME

EMPTY = "The model asked for earlier text of this conversation only, and gave no answer."
"""The text of an answer of which nothing is left."""
_CALLED = ("tool_calls", "tool_use", "function_call")
"""Reasons to stop that announce a call."""
_UNSAID = {"text", "reasoningContent"}
"""Blocks of Bedrock that are nothing for the client, if a text is empty."""


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
    if route == GEMINI:
        listed = answer.get("candidates")
        return {**answer, "candidates": [*map(candidate, listed)]} if isinstance(listed, list) else dict(answer)
    return _converse(answer) if route == BEDROCK else response(answer)


def is_recall(item: Any) -> bool:
    """Return whether an item of an answer or of its tools is the tool, or a call of it."""
    if not isinstance(item, Mapping):
        return False
    inner = (item.get(key) for key in ("function", "functionCall", "toolUse"))
    return NAME in (item.get("name"), *(each.get("name") for each in inner if isinstance(each, Mapping)))


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


def candidate(choice: Any) -> Any:
    """Return a candidate of Gemini, whole; the reason to stop announces no calls there."""
    content = choice.get("content") if isinstance(choice, Mapping) else None
    if not isinstance(content, Mapping):
        return choice
    parts = _list(content.get("parts"))
    kept, _ = kept_parts(parts)
    if len(kept) == len(parts):
        return choice
    if not any(is_part(part) for part in kept):
        kept.append({"text": EMPTY})
    return {**choice, "content": {**content, "parts": kept}}


def kept_parts(parts: Sequence[Any], signature: Any = None) -> tuple[list[Any], Any]:
    """Return the parts of Gemini that are for the client, and a signature that is still without a call.

    Only the first of several calls is signed, and a call without a signature is refused when it comes back. So the
    signature of a call that is left out goes to the next one.
    """
    kept = list[Any]()
    for part in parts:
        if is_recall(part):
            signature = part.get("thoughtSignature", signature)
        elif signature is not None and isinstance(part, Mapping) and "functionCall" in part:
            kept.append({"thoughtSignature": signature, **part})
            signature = None
        else:
            kept.append(part)
    return kept, signature


def is_part(part: Any) -> bool:
    """Return whether a part of Gemini is something for the client: neither a thought nor an empty text."""
    if not isinstance(part, Mapping) or part.get("thought"):
        return False
    return bool(part.get("text") or part.keys() - {"text", "thoughtSignature"})


def _converse(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return an answer of Bedrock."""
    output = answer.get("output")
    message = output.get("message") if isinstance(output, Mapping) else None
    if not isinstance(output, Mapping) or not isinstance(message, Mapping):
        return dict(answer)
    blocks = _list(message.get("content"))
    kept = [block for block in blocks if not is_recall(block)]
    if len(kept) == len(blocks):
        return dict(answer)
    if not any(isinstance(block, Mapping) and (block.get("text") or block.keys() - _UNSAID) for block in kept):
        kept.append({"text": EMPTY})
    calls = any(isinstance(block, Mapping) and "toolUse" in block for block in kept)
    ended = reason(answer.get("stopReason"), calls=calls, ended="end_turn")
    return {**answer, "output": {**output, "message": {**message, "content": kept}}, "stopReason": ended}


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
