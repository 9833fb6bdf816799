"""A run in each provider's format: the messages that one message in Anthropic's becomes, in a list of its own.

The lists keep the places at which the model was called, whatever number of messages a format needs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from bench.suite import Message, to_bedrock, to_gemini

Parts = list[list[Message]]
"""For each message of the run its messages in one format."""


def chat(message: Message) -> list[Message]:
    """Return the messages of OpenAI's chat for one message: results first, then what was said with them."""
    text, calls, results = _sorted(message)
    made: list[Message] = [{"role": "tool", "tool_call_id": id, "content": content} for id, content in results]
    if calls:
        functions = [{"name": each["name"], "arguments": json.dumps(each["input"])} for each in calls]
        told = [
            {"id": each["id"], "type": "function", "function": function}
            for each, function in zip(calls, functions, strict=True)
        ]
        return [*made, {"role": "assistant", "content": text or None, "tool_calls": told}]
    return [*made, {"role": message["role"], "content": text}] if text else made


def responses(message: Message) -> list[Message]:
    """Return the items of OpenAI's Responses for one message."""
    text, calls, results = _sorted(message)
    made: list[Message] = [{"type": "function_call_output", "call_id": id, "output": each} for id, each in results]
    if text:
        kind = "output_text" if message["role"] == "assistant" else "input_text"
        made.append({"type": "message", "role": message["role"], "content": [{"type": kind, "text": text}]})
    for each in calls:
        called = {"call_id": each["id"], "name": each["name"], "arguments": json.dumps(each["input"])}
        made.append({"type": "function_call", **called})
    return made


FORMATS: dict[str, Callable[[Sequence[Message], Random], Parts]] = {
    "openai": lambda messages, _: [chat(message) for message in messages],
    "responses": lambda messages, _: [responses(message) for message in messages],
    "anthropic": lambda messages, _: [[message] for message in messages],
    "gemini": lambda messages, random: [[message] for message in to_gemini(list(messages), random)],
    "bedrock": lambda messages, random: [[message] for message in to_bedrock(list(messages), random)],
}
"""What writes a run in each format; Gemini's and Bedrock's have several spellings, of which the seed chooses."""


def texts(value: Any) -> list[str]:
    """Return all texts in messages of any format."""
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return [text for each in inner for text in texts(each)]


def _sorted(message: Message) -> tuple[str, list[dict[str, Any]], list[tuple[str, str]]]:
    """Return the text of a message, its calls, and the ids and texts of its results."""
    content = message["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    text = "\n\n".join(block["text"] for block in blocks if block["type"] == "text")
    calls = [block for block in blocks if block["type"] == "tool_use"]
    return text, calls, [(each["tool_use_id"], each["content"]) for each in blocks if each["type"] == "tool_result"]
