"""A model that calls a tool again and again, behind a window that is hard.

The server counts every request exactly, refuses what is too long in the provider's own words, and what no provider
would take. It answers with a call of a tool until it has made as many as it was told to, and then with a text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from model_server import ModelServer, completion, illegal, say, sse


class AgentServer(ModelServer):
    """The server, and what it saw: `requests`, `sizes`, `refused`, `illegal`.

    Args:
        window: tokens that a request and what it asks for its answer may take together.
        calls: how many answers call the tool before the last one.
        tool: the name of the tool.
        arguments: its arguments, by the number of the call.
        meter: the model whose tokenizer counts.
    """

    def __init__(self, window=4_000, *, calls=0, tool="look", arguments=None, meter="gpt-5") -> None:
        super().__init__(window, meter)
        self.calls, self.tool, self.made = calls, tool, 0
        self.arguments = arguments or (lambda number: {"number": number})
        self.requests: list[dict[str, Any]] = []
        """Requests that were answered, as values."""
        self.sizes: list[int] = []
        """What each of them counts."""
        self.text = "Well done."
        self.url = ""

    async def __call__(self, scope, receive, send) -> None:
        if "path" in scope:  # clouds put the name of the model into it
            scope = {**scope, "path": re.sub(r"/deployments/[^/]+", "", scope["path"])}
        await super().__call__(scope, receive, send)

    async def _answer(self, route, values, receive, send) -> None:
        if self.script:
            told = self.script.pop(0)
            told = told(values) if callable(told) else told
            if told is not None:
                await say(send, *told)
                return
        fault, size = illegal(route, values), self.size(route, values)
        asked = values.get("max_tokens") or values.get("max_completion_tokens") or values.get("max_output_tokens") or 0
        if fault:
            self.illegal.append(fault)
            await say(send, 400, {"error": {"message": fault, "type": "invalid_request_error", "code": None}})
        elif size + asked > self.window:
            self.refused += 1
            await say(send, 400, self.refusal(route, size, asked))
        else:
            self.requests.append(values)
            self.sizes.append(size)
            whole = self._whole(route, values, size)
            if not values.get("stream"):
                await say(send, 200, whole)
                return
            start = {"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]}
            await send(start)
            for event in streamed(route, whole, values):
                await send({"type": "http.response.body", "body": event, "more_body": True})
            await send({"type": "http.response.body", "body": b""})

    def _whole(self, route, values, size) -> dict[str, Any]:
        """Return the next answer: a call, or the last text."""
        made = completion(route, values, size if self.usage else None, self.text)
        if route != "chat":
            made["usage"] = told(route, size)
        if self.made >= self.calls:
            return made
        self.made += 1
        name, given, key = self.tool, self.arguments(self.made), f"call_{self.made}"
        if route == "chat":
            call = {"id": key, "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
            message = {"role": "assistant", "content": None, "tool_calls": [call]}
            made["choices"] = [{"index": 0, "message": message, "finish_reason": "tool_calls"}]
        elif route == "messages":
            made["content"] = [{"type": "tool_use", "id": key, "name": name, "input": given}]
            made["stop_reason"] = "tool_use"
        else:
            call = {"type": "function_call", "id": f"fc_{self.made}", "call_id": key, "name": name}
            made["output"] = [{**call, "arguments": json.dumps(given), "status": "completed"}]
        return made


def told(route, size) -> dict[str, Any]:
    """Return the usage as Anthropic or Responses tell it."""
    usage = {"input_tokens": size, "output_tokens": 3}
    if route == "messages":
        return {**usage, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    return {**usage, **details, "total_tokens": size + 3}


def streamed(route, whole, values) -> Iterator[bytes]:
    """Yield the events that an answer comes in."""
    if route == "chat":
        yield from _chat(whole, values)
    elif route == "messages":
        yield from _messages(whole)
    else:
        yield from _responses(whole)


def _chat(whole, values) -> Iterator[bytes]:
    base = {key: whole[key] for key in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
    choice = whole["choices"][0]
    message = choice["message"]
    delta: dict[str, Any] = {"role": "assistant", "content": message["content"]}
    if message.get("tool_calls"):
        delta["tool_calls"] = [{"index": i, **call} for i, call in enumerate(message["tool_calls"])]
    yield sse({**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    yield sse({**base, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]})
    if whole["usage"] and (values.get("stream_options") or {}).get("include_usage"):
        yield sse({**base, "choices": [], "usage": whole["usage"]})
    yield b"data: [DONE]\n\n"


def _messages(whole) -> Iterator[bytes]:
    start = {**whole, "content": [], "stop_reason": None}
    yield sse({"type": "message_start", "message": start}, "message_start")
    for at, block in enumerate(whole["content"]):
        if block["type"] == "text":
            empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            empty = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        for name, more in (("start", {"content_block": empty}), ("delta", {"delta": delta}), ("stop", {})):
            yield sse({"type": f"content_block_{name}", "index": at, **more}, f"content_block_{name}")
    delta = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield sse({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 3}}, "message_delta")
    yield sse({"type": "message_stop"}, "message_stop")


def _responses(whole) -> Iterator[bytes]:
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": {**whole, "output": [], "status": "in_progress", "usage": None}}
    ]
    for at, item in enumerate(whole["output"]):
        begun = {**item, "content": []} if "content" in item else {**item, "arguments": ""}
        events.append({"type": "response.output_item.added", "output_index": at, "item": begun})
        where = {"item_id": item["id"], "output_index": at}
        if "content" in item:
            part = item["content"][0]
            there = {**where, "content_index": 0}
            events.append({"type": "response.content_part.added", **there, "part": {**part, "text": ""}})
            events.append({"type": "response.output_text.delta", **there, "delta": part["text"], "logprobs": []})
            events.append({"type": "response.output_text.done", **there, "text": part["text"], "logprobs": []})
            events.append({"type": "response.content_part.done", **there, "part": part})
        else:
            said = item["arguments"]
            events.append({"type": "response.function_call_arguments.delta", **where, "delta": said})
            done = {"type": "response.function_call_arguments.done", **where, "arguments": said}
            events.append({**done, "name": item["name"]})
        events.append({"type": "response.output_item.done", "output_index": at, "item": item})
    events.append({"type": "response.completed", "response": whole})
    for number, event in enumerate(events):
        yield sse({**event, "sequence_number": number}, event["type"])
