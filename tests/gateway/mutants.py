"""Bodies and streams that were hit by random bytes, from a seed, and what reads them."""

import json
import random

from brim.errors import InvalidValue
from brim.gateway.http.problem import CHAT, GEMINI, MESSAGES, RESPONSES, HttpProblem
from brim.gateway.recall import calls as recall
from brim.gateway.upstream.answered import EventStream
from brim.gateway.upstream.server_event import StreamStart
from brim.sessions.conversations import Conversations
from brim.sessions.learning.usage import usage_in
from brim.wire.overflow import is_overflow
from gateway.conftest import parsed
from model_server import completion, events, sse

ROUTES = (CHAT, MESSAGES, RESPONSES, GEMINI)
_SAID = [
    {"role": "system", "content": "Be short."},
    {"role": "user", "content": [{"type": "text", "text": "Why?"}, {"type": "image_url", "image_url": {"url": "data:,x"}}]},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "a", "content": "[1, 2.50, null]"},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "é\ud83d"}]}]},
    {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "a", "output": "x"},
]  # fmt: skip
_CONTENTS = [
    {"role": "user", "parts": [{"text": "Why?"}, {"inlineData": {"mimeType": "image/png", "data": "eA=="}}]},
    {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "s"}]},
    {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"output": "x"}}}]},
]
_TOOL = {
    "type": "function",
    "name": "f",
    "function": {"name": "f", "parameters": {"type": "object"}},
    "input_schema": {},
}
_WORDS = (b"null", b"true", b"-1", b"1e999", b'""', b"[]", b"{}", b"[[", b'"type"', b'"\\ud800"', b"\xff", b"\x00", b"data:", b"\n\n",
          b"\r\n", b": ", b'"usage"', b'"error"', b"9" * 30, b'"index"', b"event:")  # fmt: skip


def seeds():
    """Return bodies as they are, and streams as they are, by route."""
    bodies, streams = {}, {}
    for route in ROUTES:
        key = {RESPONSES: "input", GEMINI: "contents"}.get(route, "messages")
        values = {
            "model": "gpt-4o",
            key: _CONTENTS if route == GEMINI else _SAID,
            "tools": [_TOOL],
            "system": "x",
            "max_tokens": 9,
            "metadata": {"user_id": "u"},
        }
        bodies[route] = json.dumps(values).encode()
        call = {"index": 0, "id": "r", "function": {"name": "brim_recall", "arguments": '{"query": "x"}'}}
        block = {"type": "tool_use", "id": "r", "name": "brim_recall", "input": {}}
        delta = {"type": "input_json_delta", "partial_json": '{"query":"x"}', "text": "t", "stop_reason": "end_turn"}
        made = b"".join(events(route, {"model": "m", "stream_options": {"include_usage": True}}, 7, 2))
        made += sse({"choices": [{"index": 0, "delta": {"content": "w", "tool_calls": [call]}}], "usage": None})
        parts = [{"functionCall": {"name": "look", "args": {}}, "thoughtSignature": "s"}, {"text": "w"}]
        made += sse({"candidates": [{"index": 0, "content": {"parts": parts}, "finishReason": "STOP"}]})
        made += sse({"type": "content_block_start", "index": 1, "content_block": block})
        made += sse({"type": "content_block_delta", "index": 1, "delta": delta, "usage": {"output_tokens": 1}})
        made += sse({"type": "response.completed", "response": completion(route, {}, 7)})
        streams[route] = made + sse({"type": "error", "error": {"message": "prompt is too long", "code": None}})
    return bodies, streams


def hit(chooser, said):
    """Return bytes with some of them changed, taken out, doubled, or put in."""
    made = bytearray(said)
    for _ in range(chooser.choice((1, 1, 2, 3, 8, 30))):
        at = chooser.randrange(len(made) + 1)
        kind = chooser.randrange(6)
        if kind == 0 and at < len(made):
            made[at] = chooser.randrange(256)
        elif kind == 1:
            del made[at : at + chooser.choice((1, 2, 9, 60))]
        elif kind == 2:
            made[at:at] = made[at : at + chooser.choice((1, 5, 80))]
        elif kind == 3:
            made[at:at] = chooser.choice(_WORDS)
        else:  # A whole value becomes another one, so that the rest can still be read.
            ends = [end for sign in (b",", b"}", b"]") if (end := made.find(sign, at)) >= 0]
            start = made.rfind(b":", 0, at) + 1
            if ends and start:
                made[start : min(ends)] = chooser.choice(_WORDS)
    return bytes(made)


def fuzzed(count, seed=23):
    """Read bodies and streams that were hit; return how many could be read, and what went wrong with the others."""
    chooser, engine = random.Random(seed), Conversations()
    bodies, streams = seeds()
    read, wrong = 0, []
    for number in range(count):
        route = ROUTES[number // 2 % 4]
        said = hit(chooser, (bodies if number % 2 else streams)[route])
        try:
            read += _body(route, said, engine) if number % 2 else _stream(chooser, route, said)
        except Exception as error:  # Whatever it is, it is what is looked for.
            wrong.append((type(error).__name__, str(error)[:100], route, said))
    return read, wrong


def _body(route, said, engine):
    try:
        found = parsed(route, said, 10_000)
        if found.request is None:
            return False
        given = found.input()
        engine.count(given, engine.plan(given))
        found.model, found.answer, found.partial  # noqa: B018 - each of them reads
    except (HttpProblem, InvalidValue):
        return False
    return True


def _stream(chooser, route, said):
    stream, at = EventStream(), 0
    while at < len(said):
        size = chooser.choice((1, 7, 60, 1_000))
        stream.feed(said[at : at + size])
        at += size
    whole = EventStream()
    whole.feed(said)
    assert stream.usage == whole.usage
    assert stream.between == whole.between
    start, at, size = StreamStart(), 0, chooser.choice((1, 7, 60))
    while at < len(said) and not start.decided:
        start.feed(said[at : at + size])
        at += size
    begun = StreamStart()
    begun.feed(said)
    assert (start.decided, start.refusal) == (begun.decided, begun.refusal)
    answer = recall.assembled(route, said)
    found = recall.calls(route, answer)
    if found:
        recall.continued(route, seeds()[0][route], answer, [(call, "x") for call in found])
    body = said.partition(b"data: ")[2].partition(b"\n\n")[0]
    is_overflow(body)
    try:
        values = json.loads(body)
    except (ValueError, RecursionError):
        return False
    usage_in(values)
    recall.calls(route, values)
    return True
