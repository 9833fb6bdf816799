"""What left the prompt is brought back on the way, and the client knows nothing of it."""

import json
import time

import pytest

from brim.gateway.relay import KEEPALIVE
from gateway.conftest import asked, conversation, post
from gateway.test_relay import opened, settled

FORMATS = ("chat", "messages", "responses")
PATHS = {"chat": "/v1/chat/completions", "messages": "/v1/messages", "responses": "/v1/responses"}


def long(route):
    said = conversation(120)
    said[11] = {"role": "assistant", "content": "Well.\nThe password of the gate is heliotrope, remember it well."}
    key = "input" if route == "responses" else "messages"
    return {"model": "gpt-4o", "max_tokens": 40, key: said}


def calling(route):
    """An answer in which the model asks for what it has forgotten."""
    query = {"query": "password heliotrope gate"}
    if route == "chat":
        call = {"id": "r1", "type": "function", "function": {"name": "brim_recall", "arguments": json.dumps(query)}}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
        return {"id": "x", "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}
    if route == "messages":
        block = {"type": "tool_use", "id": "r1", "name": "brim_recall", "input": query}
        return {"id": "m", "type": "message", "role": "assistant", "content": [block], "stop_reason": "tool_use"}
    item = {"type": "function_call", "id": "f", "call_id": "r1", "name": "brim_recall", "arguments": json.dumps(query)}
    return {"id": "r", "object": "response", "output": [item], "status": "completed"}


@pytest.mark.parametrize("store", [False, True], ids=["in memory", "in a store"])
@pytest.mark.parametrize("route", FORMATS)
def test_a_recall_is_answered_by_the_gateway(gateway, upstream, tmp_path, route, store):
    url, app = gateway(recall=True, **({"store": f"sqlite:///{tmp_path}/brim.db"} if store else {}))
    upstream.script = [(200, calling(route))]
    status, _, answer = post(url, json.dumps(long(route)).encode(), PATHS[route])
    assert status == 200
    assert b"brim_recall" not in answer
    assert b"Well done." in answer
    first, second = (json.loads(body) for body in upstream.bodies)
    assert "brim_recall" in json.dumps(first["tools"])
    assert "heliotrope" not in json.dumps(first.get("messages", first.get("input")))
    assert "heliotrope" in json.dumps(second.get("messages", second.get("input"))[-1])
    assert upstream.window * 0.4 < upstream.size(route, second) + 20 <= upstream.window
    assert not upstream.illegal
    assert app.state.metrics.recalls.value() == 1


def chunks(route):
    from model_server import sse

    if route == "chat":
        deltas = [
            {
                "tool_calls": [
                    {"index": 0, "id": "r1", "type": "function", "function": {"name": "brim_recall", "arguments": ""}}
                ]
            },
            {"tool_calls": [{"index": 0, "function": {"arguments": '{"query": "heliotrope'}}]},
            {"tool_calls": [{"index": 0, "function": {"arguments": ' gate"}'}}]},
        ]
        return b"".join(sse({"choices": [{"index": 0, "delta": delta}]}) for delta in deltas) + b"data: [DONE]\n\n"
    if route == "messages":
        block = {"type": "tool_use", "id": "r1", "name": "brim_recall", "input": {}}
        return (
            sse({"type": "content_block_start", "index": 0, "content_block": block})
            + sse(
                {
                    "type": "content_block_delta",
                    "index": 0,
                    "delta": {"type": "input_json_delta", "partial_json": '{"query":'},
                }
            )
            + sse(
                {
                    "type": "content_block_delta",
                    "index": 0,
                    "delta": {"type": "input_json_delta", "partial_json": '"heliotrope"}'},
                }
            )
            + sse({"type": "message_stop"})
        )
    return sse({"type": "response.completed", "response": calling(route)})


@pytest.mark.parametrize("route", FORMATS)
def test_a_recall_in_a_stream_is_answered_too(gateway, upstream, route):
    url, _ = gateway(recall=True)
    upstream.script = [lambda _: (200, chunks(route), [(b"content-type", b"text/event-stream")])]
    body = json.dumps({**long(route), "stream": True}).encode()
    status, headers, answer = post(url, body, PATHS[route])
    assert (status, headers["content-type"]) == (200, "text/event-stream")
    assert b"brim_recall" not in answer
    assert b"word4" in answer
    assert "heliotrope" in upstream.bodies[-1].decode()


def test_calls_of_the_clients_own_tools_stay_and_ours_goes(gateway, upstream):
    url, _ = gateway(recall=True)
    told = calling("chat")
    own = {"id": "o1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    told["choices"][0]["message"]["tool_calls"].append(own)
    upstream.script = [(200, told)]
    _, _, answer = post(url, json.dumps(long("chat")).encode())
    assert json.loads(answer)["choices"][0]["message"]["tool_calls"] == [own]


def test_a_request_that_fits_is_offered_nothing(gateway, upstream):
    url, _ = gateway(recall=True)
    body = asked(conversation(1))
    post(url, body)
    assert upstream.bodies == [body]


@pytest.mark.parametrize("route", FORMATS)
def test_a_stream_that_is_held_back_shows_signs_of_life(gateway, upstream, route):
    url, app = gateway(recall=True, keepalive=0.05)
    upstream.pause, upstream.pieces = 0.06, 2
    upstream.script = [lambda _: (200, chunks(route), [(b"content-type", b"text/event-stream")])]
    status, headers, answer = post(url, json.dumps({**long(route), "stream": True}).encode(), PATHS[route])
    assert (status, headers["content-type"]) == (200, "text/event-stream")
    assert int(headers["x-brim-edits"]) > 0
    assert answer.startswith(KEEPALIVE)
    told = answer.replace(KEEPALIVE, b"")
    assert b"word1" in told
    assert b"brim_recall" not in told
    assert settled(lambda: app.state.metrics.requests.value(route=route, model="gpt-4o", outcome="ok") == 1)


def test_what_goes_wrong_while_a_stream_is_held_is_told_as_an_event(gateway, upstream):
    url, _ = gateway(recall=True, keepalive=0.05)
    upstream.pause, upstream.pieces = 0.06, 3
    body = json.dumps({**long("chat"), "stream": True, "user": "reset"}).encode()
    _, _, answer = post(url, body)
    assert answer.startswith(KEEPALIVE)
    last = answer.rstrip().split(b"\n\n")[-1]
    assert "upstream broke off" in json.loads(last.removeprefix(b"data: "))["error"]["message"]
    slow = [(200, chunks("chat"), [(b"content-type", b"text/event-stream")]), (403, {"error": {"message": "no"}})]
    upstream.script = [lambda _: slow[0], lambda _: time.sleep(0.2) or slow[1]]
    status, _, answer = post(url, json.dumps({**long("chat"), "stream": True}).encode())
    assert status == 200
    assert answer.endswith(b'{"error": {"message": "no", "type": "permission_error", "param": null, "code": null}}\n\n')
    upstream.script, upstream.pause = [slow[0], slow[1]], 0
    assert post(url, json.dumps({**long("chat"), "stream": True}).encode())[0] == 403


def test_a_client_that_leaves_a_stream_that_is_held_ends_it(gateway, upstream):
    url, _ = gateway(recall=True, keepalive=0.05)
    upstream.pause, upstream.pieces = 0.5, 50
    link = opened(url, json.dumps({**long("chat"), "stream": True}).encode())
    assert b"keepalive" in link.recv(4_000) + link.recv(4_000)
    link.close()
    assert settled(lambda: upstream.open == 0)
