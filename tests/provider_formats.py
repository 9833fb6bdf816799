"""Histories in Gemini's and Bedrock's formats: written from Anthropic messages, and read back as such.

The checks of generated histories judge messages in one form. Nothing here shares code with brim.
"""

from __future__ import annotations

import json
import random
from typing import Any

_SIGNATURE = "c2lnbmVk"


def compact(value: Any) -> str:
    """Return a value as JSON without blanks."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _blocks(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


# --- Bedrock


def to_bedrock(messages: list[Any], rng: random.Random) -> list[Any]:
    """Return Anthropic messages as Bedrock writes them."""
    made = []
    for m in messages:
        content = [_to_converse(block, rng) for block in _blocks(m["content"])]
        if rng.random() < 0.1 and m["role"] == "user":
            content.append({"cachePoint": {"type": "default"}})
        made.append({"role": m["role"], "content": content})
    return made


def _to_converse(block: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    kind = block["type"]
    if kind == "text":
        return {"text": block["text"]}
    if kind == "image":
        return {"image": {"format": "png", "source": {"bytes": block["source"]["data"]}}}
    if kind == "thinking":
        return {"reasoningContent": {"reasoningText": {"text": block["thinking"], "signature": block["signature"]}}}
    if kind == "redacted_thinking":
        return {"reasoningContent": {"redactedContent": block["data"]}}
    if kind == "tool_use":
        return {"toolUse": {"toolUseId": block["id"], "name": block["name"], "input": block["input"]}}
    content = [_to_converse(each, rng) for each in _blocks(block["content"])]
    if rng.random() < 0.3:
        content = [{"json": {"rows": [each["text"], 1, None]}} if "text" in each else each for each in content]
    return {"toolResult": {"toolUseId": block["tool_use_id"], "content": content}}


def _of_converse(block: dict[str, Any]) -> dict[str, Any]:
    if "text" in block:
        return {"type": "text", "text": block["text"]}
    if "json" in block:
        return {"type": "text", "text": compact(block["json"])}
    if "image" in block:
        return {"type": "image"}
    if "cachePoint" in block:
        return {"type": "cache_point"}
    if "reasoningContent" in block:
        thought = block["reasoningContent"]
        if "reasoningText" in thought:
            return {"type": "thinking", "thinking": thought["reasoningText"]["text"]}
        return {"type": "redacted_thinking", "data": thought["redactedContent"]}
    if "toolUse" in block:
        use = block["toolUse"]
        return {"type": "tool_use", "id": use["toolUseId"], "name": use["name"], "input": use["input"]}
    result = block["toolResult"]
    content = [_of_converse(each) for each in result["content"]]
    return {"type": "tool_result", "tool_use_id": result["toolUseId"], "content": content}


# --- Gemini


def to_gemini(messages: list[Any], rng: random.Random, *, mixed: bool = False) -> list[Any]:
    """Return Anthropic messages as Gemini writes them, in either spelling, with ids or without.

    With `mixed`, some results have no id although their calls have one; of a broken history, nobody could tell whose.
    """
    ids, snake, mixed = rng.random() < 0.5, rng.random() < 0.2, mixed and rng.random() < 0.3
    role = rng.choice(("user", "user", "tool", "function"))
    names: dict[str, str] = {}
    made = []
    for m in messages:
        if m["role"] == "system":
            continue
        parts = []
        for block in _blocks(m["content"]):
            if block["type"] == "tool_use":
                names[block["id"]] = block["name"]
            first = not any("functionCall" in part or "function_call" in part for part in parts)
            parts.append(_to_part(block, names, rng, ids=ids, mixed=mixed, first=first, snake=snake))
        results = any("functionResponse" in part or "function_response" in part for part in parts)
        said = {"user": role if results and len(parts) == 1 else "user", "assistant": "model"}[m["role"]]
        made.append({"role": said, "parts": parts})
    return made


def _to_part(
    block: dict[str, Any],
    names: dict[str, str],
    rng: random.Random,
    *,
    ids: bool,
    mixed: bool,
    first: bool,
    snake: bool,
) -> dict[str, Any]:
    kind = block["type"]
    if kind == "text":
        return {"text": block["text"]}
    if kind == "image":
        data = {"mime_type": "image/png"} if snake else {"mimeType": "image/png"}
        return {"inline_data" if snake else "inlineData": {**data, "data": block["source"]["data"]}}
    if kind in ("thinking", "redacted_thinking"):
        return {"text": block.get("thinking", "hm"), "thought": True}
    if kind == "tool_use":
        call = {"name": block["name"], "args": block["input"], **({"id": block["id"]} if ids else {})}
        signed = {"thought_signature" if snake else "thoughtSignature": _SIGNATURE} if first else {}
        return {"function_call" if snake else "functionCall": call, **signed}
    texts = [each["text"] for each in _blocks(block["content"]) if each["type"] == "text"]
    answer: dict[str, Any] = {"name": names.get(block["tool_use_id"], "read"), "response": {"result": texts[0]}}
    if rng.random() < 0.3:
        answer["response"] = {"rows": texts, "count": 1}
    if ids and not (mixed and rng.random() < 0.5):
        answer["id"] = block["tool_use_id"]
    return {"function_response" if snake else "functionResponse": answer}


def _of_part(part: dict[str, Any]) -> dict[str, Any]:
    call = part.get("functionCall") or part.get("function_call")
    if call:
        signed = part.get("thoughtSignature") or part.get("thought_signature")
        named = {"id": call.get("id") or call["name"], "name": call["name"], "input": call.get("args") or {}}
        return {"type": "tool_use", **named, "signed": signed == _SIGNATURE}
    answer = part.get("functionResponse") or part.get("function_response")
    if answer:
        response = answer["response"]
        (first, *more) = response.values()
        plain = not more and isinstance(first, str) and next(iter(response)) in ("result", "output")
        content = [{"type": "text", "text": first if plain else compact(response)}]
        told = {"tool_use_id": answer.get("id") or answer["name"], "name": answer["name"]}
        return {"type": "tool_result", **told, "content": content, "unnamed": "id" not in answer}
    if "text" in part:
        if part.get("thought"):
            return {"type": "thinking", "thinking": part["text"]}
        return {"type": "text", "text": part["text"]}
    return {"type": "image"}


def neutral(m: dict[str, Any]) -> dict[str, Any]:
    """Return a message in Anthropic's form; one of another format is returned as it is."""
    if "parts" in m:
        return {"role": "assistant" if m["role"] == "model" else "user", "content": [*map(_of_part, m["parts"])]}
    content = m.get("content")
    if isinstance(content, list) and content and "type" not in content[0]:
        return {"role": m["role"], "content": [*map(_of_converse, content)]}
    return m


class Reader:
    """Reads histories as Anthropic messages: the same object for the same message, so that they can be compared."""

    def __init__(self) -> None:
        self._read: dict[int, tuple[Any, Any]] = {}

    def __call__(self, messages: list[Any]) -> list[Any]:
        """Return the messages of a history; a result without an id has that of the first call of its name."""
        waiting: list[dict[str, Any]] = []
        out = []
        for m in messages:
            known = self._read.get(id(m))
            read = known[1] if known else neutral(m)
            blocks = read.get("content") if isinstance(read.get("content"), list) else []
            waiting += [block for block in blocks if block.get("type") == "tool_use"]
            results = [block for block in blocks if block.get("type") == "tool_result"]
            for block in sorted(results, key=lambda block: bool(block.get("unnamed"))):
                self._answer(block, waiting)
            self._read[id(m)] = m, read
            out.append(read)
        return out

    @staticmethod
    def _answer(block: dict[str, Any], waiting: list[dict[str, Any]]) -> None:
        exact = [call for call in waiting if call["id"] == block["tool_use_id"]]
        named = [call for call in waiting if block.get("unnamed") and call["name"] == block["name"]]
        call = next(iter([*exact, *named]), None)
        if call is not None:
            waiting.remove(call)
            block["tool_use_id"] = call["id"]
