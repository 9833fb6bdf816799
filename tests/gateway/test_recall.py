"""What left the prompt is brought back on the way, and the client knows nothing of it."""

import json

import pytest

import brim
from brim.gateway import exchange
from brim.gateway.http.connection import KEEPALIVE
from brim.sessions.log.overview import overview
from gateway.conftest import asked, conversation, post
from gateway.test_relay import opened, settled

FORMATS = ("chat", "messages", "responses")
PATHS = {"chat": "/v1/chat/completions", "messages": "/v1/messages", "responses": "/v1/responses"}


def long(route):
    said = conversation(120)
    said[11] = {
        "role": "assistant",
        "content": "Well. " + "There was nothing to see. " * 30 + "The password of the gate is heliotrope.",
    }
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
    assert app.state.metrics.total("brim_recalls_total") == 1


@pytest.mark.parametrize("route", FORMATS)
def test_a_recall_is_charged_to_the_cut(gateway, upstream, tmp_path, route):
    store = f"sqlite:///{tmp_path}/brim.db"
    url, app = gateway(recall=True, store=store)
    upstream.script = [(200, calling(route)), (200, calling(route))]
    body = long(route)
    post(url, json.dumps(body).encode(), PATHS[route])
    total = app.state.metrics.total
    assert total("brim_regrets_total") == 2
    said = body.get("messages", body.get("input"))
    said += [{"role": "assistant", "content": "It is open."}, {"role": "user", "content": "Go on."}]
    post(url, json.dumps(body).encode(), PATHS[route])
    assert total("brim_regrets_total") == 2, "each is charged once"
    with brim.open_store(store) as opened:
        regret = overview(opened).gateway[0].regret
    assert regret["cuts"] == {"1": {"calls": 2, "tokens": total("brim_regret_tokens_total")}}
    assert regret["tokens"] > 20


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


def beside(route):
    """An answer that also calls a tool of the client."""
    told = calling(route)
    if route == "chat":
        own = {"id": "o1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        told["choices"][0]["message"]["tool_calls"].append(own)
    elif route == "messages":
        told["content"].append({"type": "tool_use", "id": "o1", "name": "look", "input": {}})
    else:
        shell = {"type": "local_shell_call", "id": "s", "call_id": "s1", "action": {}, "status": "completed"}
        told["output"] += [{"type": "function_call", "call_id": "o1", "name": "look", "arguments": "{}"}, shell]
    return told


@pytest.mark.parametrize("route", FORMATS)
def test_a_tool_of_the_client_that_is_called_beside_is_not_run_and_the_model_reads_so(gateway, upstream, route):
    url, _ = gateway(recall=True)
    upstream.script = [(200, beside(route))]
    status, _, answer = post(url, json.dumps(long(route)).encode(), PATHS[route])
    assert (status, b"Well done." in answer, b"look" in answer) == (200, True, False)
    second = json.loads(upstream.bodies[1])
    tail = json.dumps(second.get("messages", second.get("input"))[-5:])
    assert "heliotrope" in tail
    assert "Not run, because brim_recall was called in the same answer." in tail
    assert "local_shell_call" not in tail  # Its result would be no text.
    assert not upstream.illegal


@pytest.mark.parametrize("route", FORMATS)
def test_a_model_that_does_nothing_but_recall_is_asked_once_more_without_the_tool(gateway, upstream, route):
    url, _ = gateway(recall=True)
    upstream.script = [(200, calling(route))] * 5
    status, _, answer = post(url, json.dumps(long(route)).encode(), PATHS[route])
    assert (status, b"Well done." in answer, b"brim_recall" in answer) == (200, True, False)
    assert len(upstream.bodies) == 6
    assert "This was the last recall." not in upstream.bodies[3].decode()
    assert "This was the last recall." in upstream.bodies[4].decode()
    assert "brim_recall" not in upstream.bodies[5].decode()
    assert not upstream.illegal


def test_an_answer_that_is_too_long_to_be_kept_back_is_refused(gateway, upstream, monkeypatch):
    monkeypatch.setattr(exchange, "_MOST_BUFFERED", 10)
    url, _ = gateway(recall=True)
    upstream.pause, upstream.pieces = 0.05, 20
    _, _, answer = post(url, json.dumps({**long("chat"), "stream": True}).encode())
    assert b"larger than 10 bytes" in answer


def test_a_request_for_several_answers_is_offered_nothing(gateway, upstream):
    url, _ = gateway(recall=True)
    assert post(url, json.dumps({**long("chat"), "n": 2}).encode())[0] == 200
    assert b"brim_recall" not in upstream.bodies[0]


def test_a_request_that_fits_is_offered_nothing(gateway, upstream):
    url, _ = gateway(recall=True)
    body = asked(conversation(1))
    post(url, body)
    assert upstream.bodies == [body]


@pytest.mark.slow
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
    assert settled(lambda: app.state.metrics.total("brim_requests_total") == 1)


def test_what_goes_wrong_while_a_stream_is_held_is_told_as_an_event(gateway, upstream):
    url, _ = gateway(recall=True, keepalive=0.05)
    upstream.pause, upstream.pieces = 0.06, 3
    body = json.dumps({**long("chat"), "stream": True, "user": "reset"}).encode()
    _, _, answer = post(url, body)
    assert answer.startswith(KEEPALIVE)
    last = answer.rstrip().split(b"\n\n")[-1]
    assert "upstream broke off" in json.loads(last.removeprefix(b"data: "))["error"]["message"]
    events = (200, chunks("chat"), [(b"content-type", b"text/event-stream")])
    upstream.script, upstream.pause = [events, (403, {"error": {"message": "no"}})], 0
    status, _, answer = post(url, json.dumps({**long("chat"), "stream": True}).encode())
    assert status == 200
    assert answer.endswith(b'{"error": {"message": "no", "type": "permission_error", "param": null, "code": null}}\n\n')


def test_a_client_that_leaves_a_stream_that_is_held_ends_it(gateway, upstream):
    url, _ = gateway(recall=True, keepalive=0.05)
    upstream.pause, upstream.pieces = 0.5, 50
    link = opened(url, json.dumps({**long("chat"), "stream": True}).encode())
    assert b"keepalive" in link.recv(4_000) + link.recv(4_000)
    link.close()
    assert settled(lambda: upstream.open == 0)
