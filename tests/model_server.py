"""A server that speaks like OpenAI and Anthropic, with a window that is hard: for tests of what stands before one.

It counts every request by a meter of its own, refuses what is too long in the provider's own words, refuses what no
provider would take, and remembers what came. It is a plain ASGI application on a real socket.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

import brim
from talk import refusal

PATHS = {"/v1/chat/completions": "chat", "/v1/messages": "messages", "/v1/responses": "responses"}
FORMATS = {"chat": "openai", "messages": "anthropic", "responses": "responses"}


class ModelServer:
    """The application, and what it saw."""

    def __init__(self, window: int = 1_000, meter: str = "gpt-5") -> None:
        self.window = window
        self.meter = brim.meter(meter)
        self.bodies: list[bytes] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.refused = 0
        self.illegal: list[str] = []
        self.open = 0
        """Streams that are open."""
        self.closed: dict[Any, float] = {}
        """When streams were cut off, by `time.monotonic`, by the seed of the request."""
        self.script: list[Any] = []
        """Answers to give instead of the usual one: a status and a body, or a function of the request."""
        self.pause = 0.0
        """Seconds between the events of a stream."""
        self.tells_numbers = True
        self.words = ""
        """Its refusal, with the fields `window`, `sent`, `answer` and `total`; by default a few words of its own."""
        self.tells_window = False
        self.usage = True
        self.pieces = 5

    async def __call__(self, scope, receive, send) -> None:
        body = await read(scope, receive, send)
        if body is None:
            return
        headers = {name.decode().lower(): value.decode("latin-1") for name, value in scope["headers"]}
        if scope["path"] in PATHS or scope["method"] == "POST":
            self.bodies.append(body)
            self.headers.append(headers)
        self.paths.append(scope["path"])
        route = PATHS.get(scope["path"])
        if route is None:
            await self._other(scope["path"], body, send)
            return
        await self._answer(route, json.loads(body), receive, send)

    async def _other(self, path, body, send) -> None:
        if path == "/v1/models":
            row = {"id": "local-model", "object": "model"}
            if self.tells_window:
                row["max_model_len"] = self.window
            await say(send, 200, {"object": "list", "data": [row]})
        elif path.endswith(("/count_tokens", "/input_tokens")):
            route = "messages" if "count_tokens" in path else "responses"
            await say(send, 200, {"input_tokens": self.size(route, json.loads(body))})
        elif path == "/v1/embeddings":
            await say(send, 200, {"object": "list", "data": [], "echo": body.decode()})
        elif path == "/state":
            await say(send, 200, {"open": self.open, "closed": self.closed})
        elif path == "/v1/away":
            await say(send, 302, {}, [(b"location", b"/v1/stolen")])
        else:
            await say(send, 404, {"error": {"message": "no such path"}})

    def size(self, route, values) -> int:
        messages = values.get("messages", values.get("input"))
        if isinstance(messages, str):
            messages = [{"role": "user", "content": messages}]
        system = values.get("system") if route == "messages" else values.get("instructions")
        history = brim.History(meter=self.meter, format=FORMATS[route])
        history.extend(messages)
        beside, _ = history.extra_units(values.get("tools"), system)
        return sum(beside.values()) + history.turns.fixed + history.turns.total

    async def _answer(self, route, values, receive, send) -> None:
        if self.script:
            told = self.script.pop(0)
            told = told(values) if callable(told) else told
            if told is not None:
                await say(send, *told)
                return
        fault = illegal(route, values)
        if fault:
            self.illegal.append(fault)
            await say(send, 400, {"error": {"message": fault, "type": "invalid_request_error", "code": None}})
            return
        size = self.size(route, values)
        answer = values.get("max_tokens") or values.get("max_completion_tokens") or values.get("max_output_tokens") or 0
        if size + answer > self.window:
            self.refused += 1
            await say(send, 400, self.refusal(route, size, answer))
        elif values.get("stream"):
            await self._stream(route, values, size, receive, send)
        else:
            await say(send, 200, completion(route, values, size if self.usage else None))

    def refusal(self, route, size, answer):
        if not self.tells_numbers:
            return {
                "error": {"message": "too long", "type": "invalid_request_error", "code": "context_length_exceeded"}
            }
        if self.words:
            told = self.words.format(window=self.window, sent=size, answer=answer, total=size + answer)
            return {"error": {"message": told, "type": "invalid_request_error", "param": "messages"}}
        if route == "messages":
            told = f"prompt is too long: {size + answer} tokens > {self.window} maximum"
            return {"type": "error", "error": {"type": "invalid_request_error", "message": told}}
        told = f"This model's maximum context length is {self.window} tokens. However, your messages resulted in {size} tokens."
        return {
            "error": {
                "message": told,
                "type": "invalid_request_error",
                "param": "messages",
                "code": "context_length_exceeded",
            }
        }

    async def _stream(self, route, values, size, receive, send) -> None:
        self.open += 1
        done = False
        ear = asyncio.ensure_future(left(receive))
        try:
            await send(
                {"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]}
            )
            for event in events(route, values, size if self.usage else None, self.pieces):
                if event == "reset":
                    raise RuntimeError("reset")
                if self.pause:
                    await asyncio.wait({ear}, timeout=self.pause)
                if ear.done():
                    return
                await send({"type": "http.response.body", "body": event, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
            done = True
        finally:
            ear.cancel()
            self.open -= 1
            if not done:
                self.closed[values.get("seed")] = time.monotonic()


async def read(scope, receive, send) -> bytes | None:
    """Return the body of a request; `None` at the end of the server's life."""
    if scope["type"] == "lifespan":
        for _ in range(2):
            await send({"type": (await receive())["type"] + ".complete"})
        return None
    body, more = b"", True
    while more:
        event = await receive()
        body, more = body + event.get("body", b""), event.get("more_body", False)
    return body


async def left(receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def say(send, status, values, headers=()) -> None:
    body = values if isinstance(values, bytes) else json.dumps(values).encode()
    pairs = {b"content-type": b"application/json", b"content-length": str(len(body)).encode(), **dict(headers)}
    await send({"type": "http.response.start", "status": status, "headers": list(pairs.items())})
    await send({"type": "http.response.body", "body": body})


def illegal(route, values) -> str:
    """Return what no provider would take."""
    messages = values.get("messages", values.get("input"))
    if isinstance(messages, str):
        return ""
    return refusal(messages, FORMATS[route]) if messages else "there are no messages"


def completion(route, values, size, text="Well done.") -> dict[str, Any]:
    model = values.get("model", "")
    if route == "chat":
        usage = None if size is None else {"prompt_tokens": size, "completion_tokens": 3, "total_tokens": size + 3}
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": model,
            "choices": [choice],
            "usage": usage,
        }
    usage = {"input_tokens": size or 0, "output_tokens": 3}
    if route == "messages":
        block = {"type": "text", "text": text}
        told = {"id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": [block]}
        return {**told, "stop_reason": "end_turn", "stop_sequence": None, "usage": usage}
    part = {"type": "output_text", "text": text, "annotations": []}
    item = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
    told = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": model,
        "output": [item],
        "status": "completed",
    }
    return {
        **told,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {**usage, "total_tokens": (size or 0) + 3},
    }


def sse(values, name="") -> bytes:
    return (f"event: {name}\n" if name else "").encode() + b"data: " + json.dumps(values).encode() + b"\n\n"


def events(route, values, size, pieces) -> Iterator[Any]:
    model = values.get("model", "")
    words = [f"word{i} " for i in range(pieces)]
    if route == "chat":
        base = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": model}
        for word in words:
            if values.get("user") == "reset" and word == words[2]:
                yield "reset"
            yield sse({**base, "choices": [{"index": 0, "delta": {"content": word}, "finish_reason": None}]})
        yield sse({**base, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        if size is not None and (values.get("stream_options") or {}).get("include_usage"):
            yield sse(
                {
                    **base,
                    "choices": [],
                    "usage": {"prompt_tokens": size, "completion_tokens": 3, "total_tokens": size + 3},
                }
            )
        yield b"data: [DONE]\n\n"
        return
    whole = completion(route, values, size, "".join(words))
    if route == "messages":
        yield sse({"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}}, "message_start")
        yield sse(
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            "content_block_start",
        )
        for word in words:
            yield sse(
                {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": word}},
                "content_block_delta",
            )
        yield sse({"type": "content_block_stop", "index": 0}, "content_block_stop")
        yield sse(
            {
                "type": "message_delta",
                "delta": {"stop_reason": "end_turn", "stop_sequence": None},
                "usage": {"output_tokens": 3},
            },
            "message_delta",
        )
        yield sse({"type": "message_stop"}, "message_stop")
        return
    yield sse(
        {
            "type": "response.created",
            "sequence_number": 0,
            "response": {**whole, "output": [], "status": "in_progress", "usage": None},
        },
        "response.created",
    )
    for i, word in enumerate(words):
        delta = {"item_id": "msg_1", "output_index": 0, "content_index": 0, "delta": word, "logprobs": []}
        yield sse(
            {"type": "response.output_text.delta", "sequence_number": i + 1, **delta}, "response.output_text.delta"
        )
    yield sse({"type": "response.completed", "sequence_number": 99, "response": whole}, "response.completed")


class Quick(uvicorn.Server):
    """A server that ends as soon as it is told to."""

    async def main_loop(self) -> None:
        while not self.should_exit:
            await asyncio.sleep(0.005)

    async def shutdown(self, sockets=None) -> None:
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        until = time.monotonic() + 2
        while (self.server_state.connections or self.server_state.tasks) and time.monotonic() < until:
            await asyncio.sleep(0.002)
        await self.lifespan.shutdown()


def answering(answer):
    """Return a server that reads each request to its end and lets `answer(scope, send)` speak."""

    async def served(scope, receive, send) -> None:
        if await read(scope, receive, send) is not None:
            await answer(scope, send)

    return served


@contextmanager
def running(app: Any, config: uvicorn.Config | None = None, port: int = 0) -> Iterator[str]:
    """Run an ASGI application on a port of this machine, a free one if none is named, and yield where it is."""
    listener = socket.socket(proto=socket.IPPROTO_TCP)  # Known as TCP, so that nothing waits to be sent together.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    port = listener.getsockname()[1]
    made = config or uvicorn.Config(
        app, log_level="critical", access_log=False, lifespan="on", ws="none", timeout_graceful_shutdown=2
    )
    server = Quick(made)
    server.install_signal_handlers = lambda: None  # type: ignore[method-assign]
    loop = asyncio.new_event_loop()

    def serve() -> None:
        asyncio.set_event_loop(loop)
        with contextlib.suppress(asyncio.CancelledError):
            loop.run_until_complete(server.serve(sockets=[listener]))
        loop.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    until = time.monotonic() + 15
    while not server.started and thread.is_alive() and time.monotonic() < until:
        time.sleep(0.005)
    if not server.started:
        raise RuntimeError("the server did not start")
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(10)
        listener.close()


def main() -> None:
    """Serve as a process of its own, until standard input ends: the window, the pause and the pieces of streams."""
    import sys

    server = ModelServer(int(sys.argv[1]))
    server.pause, server.pieces = float(sys.argv[2]), int(sys.argv[3])
    with running(server) as url:
        print(url, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
