"""The client never sees `brim_recall`, whatever else the model calls, and each answer that it gets is a legal one."""

import json
import threading

import pytest

from brim.gateway import exchange
from brim.gateway.problem import CHAT, MESSAGES, RESPONSES
from brim.gateway.recall_answer import EMPTY, dropped_items, stripped
from brim.gateway.recall_stream import RecallStream
from brim.gateway.relay import KEEPALIVE
from gateway.conftest import post
from gateway.scripted import EVENTS, JSON, opened, played, split
from gateway.test_recall import long
from model_server import sse

PATHS = {CHAT: "/v1/chat/completions", MESSAGES: "/v1/messages", RESPONSES: "/v1/responses"}
RECALL, LOOK, TEXT, THOUGHT = "brim_recall", "look", "text", "thought"
SHAPES = {
    "recall, look": [RECALL, LOOK],
    "look, recall": [LOOK, RECALL],
    "text, recall, look, recall, look": [TEXT, RECALL, LOOK, RECALL, LOOK],
    "thought, recall, look": [THOUGHT, RECALL, LOOK],
    "thought, look, thought, recall": [THOUGHT, LOOK, THOUGHT, RECALL],
}
"""Answers that call the tool together with tools of the client."""
LAST = {"recall": [RECALL], "two recalls": [RECALL, RECALL], "text, recall": [TEXT, RECALL], "thought, recall": [THOUGHT, RECALL]}  # fmt: skip
"""Answers that call nothing else."""


def said(route, parts):
    """Return an answer of some parts, as the model gives it."""
    arguments = json.dumps({"query": "heliotrope"})
    if route == CHAT:
        calls = [
            {"id": f"c{i}", "type": "function", "function": {"name": part, "arguments": arguments}}
            for i, part in enumerate(parts)
            if part in (RECALL, LOOK)
        ]
        message = {"role": "assistant", "content": "Words." if TEXT in parts else None, "tool_calls": calls}
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
        return {"id": "x", "object": "chat.completion", "created": 1, "model": "gpt-4o", "choices": [choice]}
    if route == MESSAGES:
        made = {
            TEXT: lambda _: {"type": "text", "text": "Words."},
            THOUGHT: lambda i: {"type": "thinking", "thinking": f"Hm {i}.", "signature": f"s{i}"},
        }
        blocks = [
            made[part](i) if part in made else {"type": "tool_use", "id": f"t{i}", "name": part, "input": json.loads(arguments)}
            for i, part in enumerate(parts)
        ]  # fmt: skip
        usage = {"input_tokens": 9, "output_tokens": 3}
        told = {"id": "m", "type": "message", "role": "assistant", "model": "gpt-4o", "content": blocks}
        return {**told, "stop_reason": "tool_use", "stop_sequence": None, "usage": usage}
    words = {"type": "output_text", "text": "Words.", "annotations": []}
    message = {"type": "message", "role": "assistant", "status": "completed", "content": [words]}
    call = {"type": "function_call", "arguments": arguments, "status": "completed"}
    made = {TEXT: message, THOUGHT: {"type": "reasoning", "summary": [], "encrypted_content": "e"}}
    items = [
        {"id": f"i{i}", **made.get(part, {**call, "name": part, "call_id": f"c{i}"})} for i, part in enumerate(parts)
    ]
    tools = [{"type": "function", "name": name, "parameters": {}, "strict": False} for name in (RECALL, LOOK)]
    told = {"id": "r", "object": "response", "created_at": 1, "model": "gpt-4o", "status": "completed", "output": items}
    return {**told, "tools": tools, "tool_choice": "auto", "parallel_tool_calls": True, "error": None}


def streamed(route, answer):
    """Return the stream of an answer, as its provider sends it."""
    if route == CHAT:
        base = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "gpt-4o"}
        message = answer["choices"][0]["message"]
        deltas = [{"role": "assistant", "content": None}]
        deltas += (
            [{"content": message["content"][:3]}, {"content": message["content"][3:]}] if message["content"] else []
        )
        for i, call in enumerate(message["tool_calls"]):
            head = {**call, "function": {**call["function"], "arguments": ""}}
            deltas += [{"tool_calls": [{"index": i, **head}]}]
            deltas += [{"tool_calls": [{"index": i, "function": {"arguments": call["function"]["arguments"]}}]}]
        made = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
        made += [{"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}]
        made += [{"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12}}]
        return b"".join(sse(base | each) for each in made) + b"data: [DONE]\n\n"
    events = []
    if route == MESSAGES:
        start = {**answer, "content": [], "stop_reason": None}
        events.append({"type": "message_start", "message": start})
        for i, block in enumerate(answer["content"]):
            key, kind = {"text": ("text", "text_delta"), "thinking": ("thinking", "thinking_delta")}.get(
                block["type"], ("partial_json", "input_json_delta")
            )
            text = block.get(key) or json.dumps(block.get("input"))
            empty = {**block, **({"input": {}} if key == "partial_json" else {key: ""})}
            events.append({"type": "content_block_start", "index": i, "content_block": empty})
            for part in (text[:4], text[4:]):
                events.append({"type": "content_block_delta", "index": i, "delta": {"type": kind, key: part}})
            events.append({"type": "content_block_stop", "index": i})
        delta = {"stop_reason": answer["stop_reason"], "stop_sequence": None}
        events += [{"type": "message_delta", "delta": delta, "usage": {"output_tokens": 3}}, {"type": "message_stop"}]
        return b"".join(sse(event, event["type"]) for event in events)
    begun = {**answer, "output": [], "status": "in_progress"}
    events += [{"type": kind, "response": begun} for kind in ("response.created", "response.in_progress")]
    for i, item in enumerate(answer["output"]):
        place = {"item_id": item["id"], "output_index": i}
        events.append(
            {"type": "response.output_item.added", "output_index": i, "item": {**item, "status": "in_progress"}}
        )
        if item["type"] == "function_call":
            events.append({"type": "response.function_call_arguments.delta", **place, "delta": item["arguments"]})
            events.append({"type": "response.function_call_arguments.done", **place, "arguments": item["arguments"]})
        elif item["type"] == "message":
            part = {"type": "output_text", "text": "", "annotations": []}
            spot = {**place, "content_index": 0}
            events.append({"type": "response.content_part.added", **spot, "part": part})
            events.append({"type": "response.output_text.delta", **spot, "delta": "Words.", "logprobs": []})
            events.append({"type": "response.output_text.done", **spot, "text": "Words.", "logprobs": []})
        events.append({"type": "response.output_item.done", "output_index": i, "item": item})
    events.append({"type": "response.completed", "response": answer})
    return b"".join(sse({**event, "sequence_number": i}, event["type"]) for i, event in enumerate(events))


def left(parts):
    """Return what is left of an answer, by a rule of its own: thoughts that led to a recall alone have no end."""
    kept = [part for part in parts if part != RECALL]
    while THOUGHT in kept and kept[-1] == THOUGHT:
        kept.pop()
    return kept


def judge(route, values, parts):
    """Pass if an answer is legal, and holds what is left of some parts."""
    due = [part for part in left(parts) if part != THOUGHT]
    calls = [part for part in due if part == LOOK]
    if route == CHAT:
        (choice,) = values["choices"]
        names = [call["function"]["name"] for call in choice["message"].get("tool_calls") or ()]
        assert names == calls
        assert choice["finish_reason"] == ("tool_calls" if calls else "stop")
        assert calls or choice["message"]["content"] == ("Words." if TEXT in parts else EMPTY)
        return
    key = "content" if route == MESSAGES else "output"
    kinds = [item.get("name") or item["type"] for item in values[key] if item["type"] not in ("thinking", "reasoning")]
    text = "text" if route == MESSAGES else "message"
    assert kinds == ([text if part == TEXT else part for part in due] or [text])
    if not due:
        assert EMPTY in json.dumps(values[key])
    if route == MESSAGES:
        assert values["stop_reason"] == ("tool_use" if calls else "end_turn")
    else:
        assert values["output"][-1]["type"] != "reasoning"
        assert [tool["name"] for tool in values["tools"]] == [LOOK]


def body(route, **more):
    return json.dumps({**long(route), **more}).encode()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("route", PATHS)
def test_parallel_calls_leave_the_calls_of_the_client(gateway, upstream, route, shape):
    answer = said(route, SHAPES[shape])
    with played(gateway, (200, JSON, [json.dumps(answer).encode()]), recall=True) as (url, model, _):
        status, _, raw = post(url, body(route), PATHS[route])
    assert (status, len(model.bodies)) == (200, 1)
    assert RECALL.encode() in model.bodies[0]
    assert RECALL.encode() not in raw
    judge(route, json.loads(raw), SHAPES[shape])


def indexes(route, raw):
    """Return the indexes of the calls, the blocks or the items of a stream, as they first come."""
    found = []
    for line in raw.split(b"\n"):
        event = json.loads(line[6:]) if line.startswith(b"data: {") else {}
        if route == CHAT:
            deltas = [choice["delta"] for choice in event.get("choices", ())]
            found += [part["index"] for delta in deltas for part in delta.get("tool_calls", ())]
        else:
            found += [event[key] for key in ("index", "output_index") if key in event]
    return list(dict.fromkeys(found))


@pytest.fixture
def clients(chat, claude):
    return chat, claude


def final(route, url, clients):
    """Return what a real client makes of a stream."""
    (chat, claude), asked = clients, {**long(route), "stream": True}
    if route == MESSAGES:
        with claude(url).messages.stream(**{key: each for key, each in asked.items() if key != "stream"}) as stream:
            return json.loads(stream.get_final_message().to_json())
    asked.pop("stream")
    if route == RESPONSES:
        asked.pop("max_tokens")
        with chat(url).responses.stream(**asked) as stream:
            numbers = [(event.sequence_number, getattr(event, "output_index", None)) for event in stream]
            made = json.loads(stream.get_final_response().to_json())
        assert [number for number, _ in numbers] == list(range(len(numbers)))
        places = [at for _, at in numbers if at is not None]
        assert sorted(set(places)) == list(range(len(made["output"])))
        return made
    with chat(url).chat.completions.stream(**asked) as stream:
        return json.loads(stream.get_final_completion().to_json())


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("route", PATHS)
def test_parallel_calls_in_a_stream_leave_the_calls_of_the_client(gateway, upstream, clients, route, shape):
    script = (200, EVENTS, split(streamed(route, said(route, SHAPES[shape])), 400))
    with played(gateway, script, script, recall=True) as (url, model, _):
        _, _, raw = post(url, body(route, stream=True), PATHS[route])
        assert RECALL.encode() not in raw
        places = indexes(route, raw)
        assert places == list(range(len(places)))
        judge(route, final(route, url, clients), SHAPES[shape])
    assert len(model.bodies) == 2


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("shape", LAST)
@pytest.mark.parametrize("route", PATHS)
def test_a_model_that_only_recalls_ends_with_a_legal_answer(gateway, clients, route, shape, stream):
    answer = said(route, LAST[shape])
    script = (200, EVENTS, [streamed(route, answer)]) if stream else (200, JSON, [json.dumps(answer).encode()])
    with played(gateway, *[script] * 10, recall=True) as (url, model, app):
        _, _, raw = post(url, body(route, **({"stream": True} if stream else {})), PATHS[route])
        assert RECALL.encode() not in raw
        judge(route, final(route, url, clients) if stream else json.loads(raw), LAST[shape])
    assert len(model.bodies) == (10 if stream else 5)
    assert app.state.metrics.recalls.value() >= 4
    assert "This was the last recall." in model.bodies[4].decode()
    assert "This was the last recall." not in model.bodies[3].decode()


@pytest.mark.parametrize("route", PATHS)
def test_a_stream_longer_than_what_is_buffered_shows_no_recall_either(gateway, upstream, clients, route, monkeypatch):
    monkeypatch.setattr(exchange, "_MOST_BUFFERED", 700)
    parts = [TEXT, LOOK, RECALL, LOOK]
    script = (200, EVENTS, split(streamed(route, said(route, parts)), 90))
    with played(gateway, script, script, recall=True) as (url, _, _):
        assert RECALL.encode() not in post(url, body(route, stream=True), PATHS[route])[2]
        judge(route, final(route, url, clients), parts)


@pytest.mark.parametrize("route", PATHS)
def test_a_stream_that_breaks_in_the_middle_of_a_recall_is_an_error(gateway, upstream, route):
    heard, broken = threading.Event(), type("Reset", (), {"wait": lambda self, _: False})()
    answer = streamed(route, said(route, [TEXT, RECALL, LOOK]))
    begun = answer[: answer.index(RECALL.encode()) + 40]
    scripts = (200, EVENTS, [begun, broken]), (200, EVENTS, [begun, heard, broken])
    with played(gateway, *scripts, recall=True) as (url, _, _):
        status, _, raw = post(url, body(route, stream=True), PATHS[route])
        assert (status, RECALL.encode() in raw) == (502, False)
        with opened(url, PATHS[route], {**long(route), "stream": True}) as found:
            heard.set()
            raw = found.read()
    assert (found.status, raw.startswith(KEEPALIVE), RECALL.encode() in raw) == (200, True, False)
    assert b"upstream broke off" in raw


@pytest.mark.parametrize("route", PATHS)
def test_an_answer_without_recalls_keeps_its_bytes(gateway, upstream, route):
    answer = said(route, [TEXT, LOOK])
    if route == RESPONSES:
        answer["tools"] = answer["tools"][1:]
    whole, stream = json.dumps(answer, indent=3).encode(), b": hi\n\n" + streamed(route, answer)
    with played(gateway, (200, JSON, [whole]), (200, EVENTS, split(stream, 300)), recall=True) as (url, _, _):
        assert post(url, body(route), PATHS[route])[2] == whole
        assert post(url, body(route, stream=True), PATHS[route])[2].replace(KEEPALIVE, b"") == stream


def test_several_choices_are_not_continued_and_show_no_recall(gateway, upstream):
    answer = said(CHAT, [RECALL])
    answer["choices"].append({**said(CHAT, [TEXT, RECALL, LOOK])["choices"][0], "index": 1})
    with played(gateway, (200, JSON, [json.dumps(answer).encode()]), recall=True) as (url, model, _):
        _, _, raw = post(url, body(CHAT, n=2))
    first, second = json.loads(raw)["choices"]
    assert (first["message"]["content"], first["finish_reason"]) == (EMPTY, "stop")
    assert [call["function"]["name"] for call in second["message"]["tool_calls"]] == [LOOK]
    assert (second["finish_reason"], len(model.bodies)) == ("tool_calls", 1)


@pytest.mark.parametrize(
    ("route", "other"),
    [
        (RESPONSES, {"type": "custom_tool_call", "id": "i", "call_id": "p", "name": "apply_patch", "input": "x"}),
        (RESPONSES, {"type": "local_shell_call", "id": "i", "call_id": "p", "action": {}, "status": "completed"}),
        (CHAT, {"id": "p", "type": "custom", "custom": {"name": "apply_patch", "input": "x"}}),
    ],
)
def test_calls_of_every_kind_are_for_the_client(gateway, upstream, route, other):
    answer = said(route, [RECALL])
    (answer["output"] if route == RESPONSES else answer["choices"][0]["message"]["tool_calls"]).append(other)
    with played(gateway, (200, JSON, [json.dumps(answer).encode()]), recall=True) as (url, model, _):
        _, _, raw = post(url, body(route), PATHS[route])
    found = json.loads(raw)
    kept = found["output"] if route == RESPONSES else found["choices"][0]["message"]["tool_calls"]
    assert (kept, len(model.bodies)) == ([other], 1)


def test_calls_that_share_an_index_are_told_apart():
    parts = [{"index": 0, "id": name, "function": {"name": name, "arguments": "{}"}} for name in (RECALL, LOOK)]
    chunks = [{"choices": [{"index": 0, "delta": {"tool_calls": [part]}, "finish_reason": None}]} for part in parts]
    strip = RecallStream(CHAT)
    assert strip.passed(sse(chunks[0]) + sse(chunks[1])) == sse(chunks[1])


def test_a_chat_without_a_reason_to_stop_gets_one():
    strip = RecallStream(CHAT)
    call = {"index": 0, "id": "r", "function": {"name": RECALL, "arguments": "{}"}}
    raw = sse({"id": "x", "choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}) + b"data: [DONE]\n\n"
    made = strip.passed(raw) + strip.passed(b"", last=True)
    choice = {"index": 0, "delta": {"content": EMPTY}, "finish_reason": "stop"}
    assert made == sse({"id": "x", "choices": [choice]}) + b"data: [DONE]\n\n"


@pytest.mark.parametrize(
    ("kinds", "dropped"),
    [("rcl", {1}), ("rlrc", {2, 3}), ("rrc", {0, 1, 2}), ("rcrl", {0, 1}), ("rccl", {1, 2}), ("rr", set()), ("lcrm", {1})],
)  # fmt: skip
def test_reasoning_leaves_only_with_the_recall_that_it_led_to(kinds, dropped):
    named = {"r": {"type": "reasoning"}, "c": {"name": RECALL}, "l": {"name": LOOK}, "m": {"type": "message"}}
    assert dropped_items([named[kind] for kind in kinds]) == dropped


def test_what_is_no_answer_keeps_its_bytes():
    for raw in (
        b"brim_recall",
        b'["brim_recall"]',
        b'{"choices": "brim_recall"}',
        b'{"output": null, "x": "brim_recall"}',
    ):
        for route in PATHS:
            assert stripped(route, raw) is raw
