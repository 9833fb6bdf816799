"""A server that speaks like Gemini and Bedrock, with a hard window: for tests of what stands before one.

It counts every text of a request, refuses what is too long in the provider's own words and what no provider takes, and
answers with a call of a tool until it has made as many as it was told to, then with a text. Streams come as each
provider sends them: events, and Amazon's binary frames.
"""

from __future__ import annotations

import asyncio
import json
import re
import struct
import threading
import zlib
from collections.abc import Iterator
from typing import Any

import brim
from model_server import read, say

_GEMINI = re.compile(r"/v1(?:beta|alpha)?\d*/models/([^/:]+):(generateContent|streamGenerateContent)")
_BEDROCK = re.compile(r"/model/(.+)/(converse|converse-stream)")
_INVALID = (b"x-amzn-errortype", b"ValidationException")
_WORDS = ("The ", "silt ", "comes ", "from ", "the ", "river.")


class ProviderServer:
    """The application, and what it saw."""

    def __init__(self, window: int = 4_000, *, calls: int = 0, ids: bool = True, thinks: bool = True) -> None:
        self.window, self.calls, self.ids, self.thinks = window, calls, ids, thinks
        self.count = brim.meter("o200k_base").count
        self.made = 0
        self.paused: threading.Event | None = None
        """A stream waits for it after its first piece, if it is set."""
        self.events = True
        """Whether the last stream was one of events."""
        self.sizes: list[int] = []
        """Tokens of the requests that were answered."""
        self.refused = 0
        self.illegal: list[str] = []
        self.models: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.bodies: list[bytes] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body = await read(scope, receive, send)
        if body is None:
            return
        gemini, bedrock = _GEMINI.fullmatch(scope["path"]), _BEDROCK.fullmatch(scope["path"])
        found = gemini or bedrock
        if found is None or scope["method"] != "POST":
            await say(send, 404, {"error": {"code": 404, "message": "no such path", "status": "NOT_FOUND"}})
            return
        self.models.append(found[1])
        self.bodies.append(body)
        self.headers.append({name.decode().lower(): value.decode("latin-1") for name, value in scope["headers"]})
        values = json.loads(body)
        self.events = b"alt=sse" in scope["query_string"]
        await (self._gemini if gemini else self._bedrock)(values, send, stream="stream" in found[2])

    def size(self, values: Any) -> int:
        """Return the tokens of all texts of a request, and three for each message."""
        return sum(self.count(text) for text in _texts(values)) + 3 * len(values.get("contents") or values["messages"])

    async def _gemini(self, values: dict[str, Any], send: Any, *, stream: bool) -> None:
        fault, size = gemini_fault(values["contents"]), self.size(values)
        size += (values.get("generationConfig") or {}).get("maxOutputTokens", 0)
        if fault:
            self.illegal.append(fault)
            await say(send, 400, {"error": {"code": 400, "message": fault, "status": "INVALID_ARGUMENT"}})
            return
        if size > self.window:
            self.refused += 1
            told = f"The input token count ({size}) exceeds the maximum number of tokens allowed ({self.window})."
            await say(send, 400, {"error": {"code": 400, "message": told, "status": "INVALID_ARGUMENT"}})
            return
        self.sizes.append(size)
        usage = {"promptTokenCount": size, "candidatesTokenCount": 6, "totalTokenCount": size + 6}
        pieces: list[dict[str, Any]] = [{"text": word} for word in _WORDS]
        if self.made < self.calls:
            self.made += 1
            call = {"name": "look", "args": {"number": self.made}, **({"id": f"f{self.made}"} if self.ids else {})}
            pieces = [{"functionCall": call, "thoughtSignature": "c2lnbmVk"}]
        whole = pieces if stream else [{"text": "".join(_WORDS)} if "text" in pieces[0] else pieces[0]]
        listed = [[piece] for piece in whole]
        answers = [
            {
                "candidates": [{"content": {"role": "model", "parts": parts}, "index": 0}],
                "usageMetadata": usage,
                "modelVersion": "gemini-3-pro",
            }
            for parts in listed
        ]
        answers[-1]["candidates"][0]["finishReason"] = "STOP"
        if not stream:
            await say(send, 200, answers[0])
            return
        if self.events:
            pieces_sent = [b"data: " + json.dumps(each).encode() + b"\r\n\r\n" for each in answers]
        else:
            pieces_sent = [b"[,"[at > 0 : 1 + (at > 0)] + json.dumps(each).encode() for at, each in enumerate(answers)]
            pieces_sent.append(b"]")
        await self._send(send, "text/event-stream" if self.events else "application/json", iter(pieces_sent))

    async def _bedrock(self, values: dict[str, Any], send: Any, *, stream: bool) -> None:
        fault, size = bedrock_fault(values["messages"], self.thinks), self.size(values)
        size += (values.get("inferenceConfig") or {}).get("maxTokens", 0)
        if fault:
            self.illegal.append(fault)
            await say(send, 400, {"message": fault}, [_INVALID])
            return
        if size > self.window:
            self.refused += 1
            told = {"message": "Input is too long for requested model."}
            await say(send, 400, told, [_INVALID])
            return
        self.sizes.append(size)
        usage = {"inputTokens": size, "outputTokens": 6, "totalTokens": size + 6}
        content: list[dict[str, Any]] = [{"text": "".join(_WORDS)}]
        if self.made < self.calls:
            self.made += 1
            content = [{"toolUse": {"toolUseId": f"t{self.made}", "name": "look", "input": {"number": self.made}}}]
            if self.thinks:
                thought = {"text": f"look at {self.made}", "signature": f"signed {self.made}"}
                content.insert(0, {"reasoningContent": {"reasoningText": thought}})
        stop = "tool_use" if "toolUse" in content[-1] else "end_turn"
        if not stream:
            output = {"message": {"role": "assistant", "content": content}}
            await say(send, 200, {"output": output, "stopReason": stop, "usage": usage, "metrics": {"latencyMs": 5}})
            return
        await self._send(send, "application/vnd.amazon.eventstream", _frames(content, stop, usage))

    async def _send(self, send: Any, kind: str, pieces: Iterator[bytes]) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", kind.encode())]})
        for piece in pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
            while self.paused is not None and not self.paused.is_set():
                await asyncio.sleep(0.01)
        await send({"type": "http.response.body", "body": b""})


def _texts(values: Any) -> Iterator[str]:
    """Yield every text of a request, without ids, signatures and the like."""
    if isinstance(values, dict):
        for key, value in values.items():
            if key not in ("id", "toolUseId", "role", "thoughtSignature", "signature", "modelId", "type"):
                yield from _texts(value)
    elif isinstance(values, list):
        for value in values:
            yield from _texts(value)
    elif isinstance(values, str):
        yield values


def gemini_fault(contents: list[dict[str, Any]]) -> str:
    """Return why Gemini would refuse contents, or an empty text."""
    waiting: list[dict[str, Any]] = []
    for i, content in enumerate(contents):
        role, parts = content.get("role", "user"), content.get("parts")
        if role not in ("user", "model", "function", "tool"):
            return "Please use a valid role: user, model."
        if not parts or any(part.get("text") == "" for part in parts):
            return f"contents[{i}].parts must not be empty"
        calls = [part["functionCall"] for part in parts if "functionCall" in part]
        answers = [part["functionResponse"] for part in parts if "functionResponse" in part]
        if i == 0 and role == "model":
            return "Please ensure that function call turn comes immediately after a user turn."
        if len(answers) != len(waiting):
            return "Please ensure that the number of function response parts is equal to that of function call parts."
        for call, answer in zip(waiting, answers, strict=True):
            if call["name"] != answer["name"] or ("id" in call and answer.get("id", call["id"]) != call["id"]):
                return f"contents[{i}] answers {answer['name']}, and {call['name']} waits"
            if not isinstance(answer["response"], dict):
                return f"contents[{i}] has a response that is no object"
        first = next((part for part in parts if "functionCall" in part), {})
        if calls and (not isinstance(calls[0].get("args"), dict) or "thoughtSignature" not in first):
            return "Function call is missing a thought_signature in functionCall parts."
        waiting = calls
    return "a function call has no response" if waiting else ""


def bedrock_fault(messages: list[dict[str, Any]], thinks: bool) -> str:
    """Return why Bedrock would refuse messages, or an empty text."""
    waiting: set[str] = set()
    if [m["role"] for m in messages] != [("user", "assistant")[i % 2] for i in range(len(messages))]:
        return "A conversation must alternate between user and assistant roles, and start with a user message."
    last = max((i for i, m in enumerate(messages) if m["role"] == "assistant"), default=-1)
    for i, message in enumerate(messages):
        content = message["content"]
        if not content or any("text" in block and not block["text"].strip() for block in content):
            return f"The content field in the Message object at messages.{i} is empty, or a text is blank."
        results = {block["toolResult"]["toolUseId"] for block in content if "toolResult" in block}
        if results != waiting:
            return f"Expected toolResult blocks at messages.{i}.content for the following Ids: {sorted(waiting)}"
        waiting = {block["toolUse"]["toolUseId"] for block in content if "toolUse" in block}
        if thinks and i == last and waiting and "reasoningContent" not in content[0]:
            return "Expected `thinking` or `redacted_thinking`, but found `tool_use`."
    return f"toolUse ids without toolResult: {sorted(waiting)}" if waiting else ""


def frame(kind: str, values: Any) -> bytes:
    """Return one event in Amazon's binary encoding."""
    head = b""
    for name, value in ((":event-type", kind), (":content-type", "application/json"), (":message-type", "event")):
        head += bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
    payload = json.dumps(values).encode()
    prelude = struct.pack(">II", 16 + len(head) + len(payload), len(head))
    made = prelude + struct.pack(">I", zlib.crc32(prelude)) + head + payload
    return made + struct.pack(">I", zlib.crc32(made))


def _frames(content: list[dict[str, Any]], stop: str, usage: dict[str, int]) -> Iterator[bytes]:
    yield frame("messageStart", {"role": "assistant"})
    for at, block in enumerate(content):
        here = {"contentBlockIndex": at}
        if "toolUse" in block:
            named = {key: block["toolUse"][key] for key in ("toolUseId", "name")}
            yield frame("contentBlockStart", {**here, "start": {"toolUse": named}})
            deltas: list[Any] = [{"toolUse": {"input": json.dumps(block["toolUse"]["input"])}}]
        elif "reasoningContent" in block:
            thought = block["reasoningContent"]["reasoningText"]
            deltas = [{"reasoningContent": {key: thought[key]}} for key in ("text", "signature")]
        else:
            deltas = [{"text": word} for word in _WORDS]
        for delta in deltas:
            yield frame("contentBlockDelta", {**here, "delta": delta})
        yield frame("contentBlockStop", here)
    yield frame("messageStop", {"stopReason": stop})
    yield frame("metadata", {"usage": usage, "metrics": {"latencyMs": 5}})
