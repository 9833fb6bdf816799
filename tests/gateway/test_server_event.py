"""The start of a stream: a rejection in it is retried however it is split, and an error after that keeps its status."""

import json
import threading

import pytest

from brim.gateway.http.problem import CHAT, MESSAGES, RESPONSES
from brim.gateway.upstream.server_event import EventStream
from gateway.conftest import conversation, learned_window, metric
from gateway.scripted import EVENTS, JSON, opened, played, split
from gateway.test_relay import settled
from model_server import events, sse

PATHS = {CHAT: "/v1/chat/completions", MESSAGES: "/v1/messages", RESPONSES: "/v1/responses"}
WORDS = "Your input exceeds the context window of this model. Please adjust your input and try again."


def asked(route, turns=60):
    key = "input" if route == RESPONSES else "messages"
    return {"model": "gpt-4o", "max_tokens": 20, "stream": True, key: conversation(turns)}


def answer(route):
    return b"".join(events(route, {"model": "gpt-4o"}, 500, 3))


def prelude(route):
    """The events with which a stream begins before anything is known."""
    if route == CHAT:
        delta = {"role": "assistant", "content": "", "refusal": None}
        return [
            sse({"id": "c", "choices": [], "prompt_filter_results": [{"prompt_index": 0}]}),
            sse({"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": None}], "usage": None}),
        ]
    if route == MESSAGES:
        message = {"id": "m", "type": "message", "role": "assistant", "content": [], "usage": {"input_tokens": 9}}
        return [sse({"type": "message_start", "message": message}, "message_start"), sse({"type": "ping"}, "ping")]
    made = {"id": "r", "object": "response", "status": "in_progress", "error": None, "output": []}
    kinds = ("response.created", "response.in_progress")
    return [sse({"type": kind, "sequence_number": i, "response": made}, kind) for i, kind in enumerate(kinds)]


def refusal(route):
    error = {"type": "invalid_request_error", "code": "context_length_exceeded", "message": WORDS}
    if route == CHAT:
        return sse({"error": error})
    if route == MESSAGES:
        return sse({"type": "error", "error": error}, "error")
    failed = {"id": "r", "object": "response", "status": "failed", "error": error, "output": []}
    return sse({"type": "response.failed", "sequence_number": 2, "response": failed}, "response.failed")


@pytest.mark.slow
@pytest.mark.parametrize("route", PATHS)
@pytest.mark.parametrize("size", [7, 64, 10_000])
def test_a_refusal_that_is_split_over_segments_is_retried_like_a_whole_one(gateway, upstream, route, size):
    first = b": connected\n\n" + b"".join(prelude(route)) + refusal(route)
    scripts = (200, EVENTS, split(first, size)), (200, EVENTS, [answer(route)])
    with played(gateway, *scripts) as (url, model, _), opened(url, PATHS[route], asked(route)) as found:
        assert found.read() == answer(route)
    first, second = (len(json.loads(body).get("input") or json.loads(body)["messages"]) for body in model.bodies)
    assert second < first


@pytest.mark.parametrize("route", PATHS)
def test_the_head_waits_for_the_first_content_only_under_fit(gateway, upstream, route):
    heard = threading.Event()
    with (
        played(gateway, (200, EVENTS, [*prelude(route), heard, answer(route)]), policy="warn") as (url, _, _),
        opened(url, PATHS[route], asked(route)) as found,
    ):
        assert found.status == 200
        heard.set()
        assert found.read() == b"".join(prelude(route)) + answer(route)


@pytest.mark.parametrize("route", PATHS)
def test_a_stream_that_is_not_refused_keeps_its_bytes_and_their_order(gateway, upstream, route):
    said = b": hello\n\n" + b"".join(prelude(route)) + answer(route)
    steps = [*split(said[:200], 9), *split(said[200:], 31)]
    with played(gateway, (200, EVENTS, steps)) as (url, _, _), opened(url, PATHS[route], asked(route)) as found:
        assert found.read() == said


@pytest.mark.parametrize("status", [400, 429])
@pytest.mark.parametrize("route", PATHS)
def test_an_error_after_a_refusal_in_a_stream_keeps_its_status_and_its_body(gateway, upstream, route, status):
    """A client whose stream had begun got the rate limit of the second request as an event, and did not try again."""
    error = {"type": "invalid_request_error", "code": "context_length_exceeded", "message": "Still too long."}
    again = (status, JSON, [json.dumps({"type": "error", "error": error}).encode()])
    with (
        played(gateway, (200, EVENTS, [refusal(route)]), again) as (url, model, app),
        opened(url, PATHS[route], asked(route)) as found,
    ):
        assert (found.status, found.headers["x-brim-retried"]) == (status, "1")
        assert json.loads(found.read())["error"] == error
    assert len(model.bodies) == 2
    assert metric(app, "brim_overflows_total", model="gpt-4o", retried="true") == 1
    assert metric(app, "brim_requests_total", route=route, model="gpt-4o", outcome="upstream_4xx") == 1


def test_a_second_refusal_inside_a_stream_reaches_the_client_as_it_is(gateway, upstream):
    scripts = [(200, EVENTS, [refusal(RESPONSES)]), (200, EVENTS, [*prelude(RESPONSES), refusal(RESPONSES)])]
    with played(gateway, *scripts) as (url, model, _), opened(url, PATHS[RESPONSES], asked(RESPONSES)) as found:
        assert found.read() == b"".join(prelude(RESPONSES)) + refusal(RESPONSES)
    assert len(model.bodies) == 2


def test_a_refusal_after_content_reaches_the_client_and_is_learned(gateway, upstream):
    said = answer(RESPONSES)[:600] + refusal(RESPONSES)
    with played(gateway, (200, EVENTS, [said])) as (url, model, app):
        with opened(url, PATHS[RESPONSES], asked(RESPONSES)) as found:
            assert found.read() == said
        assert settled(lambda: learned_window(app, "gpt-4o", "responses"))
        assert learned_window(app, "gpt-4o", "responses").ceiling > 0
    assert len(model.bodies) == 1


def test_an_upstream_that_breaks_off_before_its_first_event_is_an_error(gateway, upstream):
    reset = type("Reset", (), {"wait": lambda self, _: False})()
    with played(gateway, (200, EVENTS, [reset])) as (url, _, _), opened(url, PATHS[CHAT], asked(CHAT)) as found:
        assert found.status == 502
        assert "upstream broke off" in json.loads(found.read())["error"]["message"]


@pytest.mark.parametrize(
    ("said", "decided"),
    [
        (b"", False),
        (b": comment\r\n\r\n", False),
        (b'data: {"type": "ping"}\n\n', False),
        (b'data: {"type": "response.created"}\r\n\r\ndata: {"type": "response.queued"}\r\n\r\n', False),
        (b'data: {"choices": [{"delta": {"role": "assistant", "content": null}}]}\n\n', False),
        (b'data: {"choices": [{"delta": {"content": "a"}}]}', False),
        (b'data: {"choices": [{"delta": {"content": "a"}}]}\n\n', True),
        (b'data: {"choices": [{"delta": {"role": "assistant", "reasoning_content": "a"}}]}\n\n', True),
        (b'data: {"choices": [{"delta": {"tool_calls": [{"index": 0}]}}]}\n\n', True),
        (b'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\n', True),
        (b'data: {"choices": [], "error": {"message": "no"}}\n\n', True),
        (b'data: {"type": "content_block_start", "index": 0}\n\n', True),
        (b'data: {"type": "response.output_item.added"}\n\n', True),
        (b"data: [DONE]\n\n", True),
        (b"data: words\n\n", True),
        (b"data: words\r\n\r\n", True),
    ],
)
def test_only_content_or_an_error_decides(said, decided):
    stream = EventStream()
    stream.feed(said)
    assert stream.decided == decided
