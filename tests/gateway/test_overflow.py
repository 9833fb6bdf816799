"""A provider that says that a prompt was too long is believed: once more, smaller, and from then on at once."""

import json
import re
import time

import pytest

from brim.sessions.conversations.request import FittedRequest
from brim.wire.overflow import is_overflow
from gateway.conftest import asked, conversation, learned_window, metric, post
from model_server import sse

OPENAI = (
    "This model's maximum context length is {window} tokens. However, you requested {total} tokens ({sent} in the messages,"
    " {answer} in the completion). Please reduce the length of the messages or completion."
)
VLLM = (
    "'max_tokens' or 'max_completion_tokens' is too large: {answer}. This model's maximum context length is {window} tokens"
    " and your request has {sent} input tokens ({answer} > {window} - {sent}). (parameter=max_tokens, value={answer})"
)


def test_the_window_of_an_unknown_model_is_learned_from_its_refusal(gateway, upstream):
    url, app = gateway(window=None)
    body = asked(conversation(60)).replace(b"gpt-4o", b"mystery-1")
    status, headers, _ = post(url, body)
    assert status == 200
    assert headers["x-brim-retried"] == "1"
    assert upstream.refused == 1
    assert learned_window(app, "mystery-1").size == upstream.window
    status, headers, _ = post(url, body)
    assert (status, upstream.refused) == (200, 1)
    assert "x-brim-retried" not in headers


def test_a_fault_of_a_server_is_retried_and_its_numbers_are_not_believed(gateway, upstream):
    told = {
        "error": {"message": "maximum context length is 300 tokens. However, your messages resulted in 1100 tokens"}
    }
    for status, expected in ((400, 300), (500, None)):
        url, app = gateway(window=None)
        upstream.script = [(status, told)]
        body = asked(conversation(24)).replace(b"gpt-4o", b"mystery-1")
        assert post(url, body)[1]["x-brim-retried"] == "1"
        assert learned_window(app, "mystery-1").size == expected


def test_a_refusal_without_numbers_is_retried_with_three_quarters(gateway, upstream):
    url, _ = gateway(window=1_200, stable=False)
    upstream.tells_numbers = False
    status, headers, _ = post(url, asked(conversation(60), max_tokens=1))
    assert (status, headers.get("x-brim-retried")) == (200, "1")
    status, headers, _ = post(url, asked(conversation(62), max_tokens=1))
    assert (status, headers.get("x-brim-retried")) == (200, None)


@pytest.mark.parametrize("asked_for", [131_072, 900, 400])
@pytest.mark.parametrize("words", [OPENAI, VLLM], ids=["openai", "vllm"])
def test_an_answer_that_the_window_is_small_beside_is_lowered_by_itself(gateway, upstream, words, asked_for):
    """kimi-code asks for 131,072 tokens of a server with 40,000, and Claude Code for 32,000: refused for ever."""
    url, _ = gateway(window=None)
    upstream.words = words
    body = asked([{"role": "user", "content": "hello " * 600}], max_tokens=asked_for).replace(b"gpt-4o", b"mystery-3")
    for retried in ("1", None):
        status, headers, _ = post(url, body)
        assert (status, headers.get("x-brim-retried"), headers["x-brim-edits"]) == (200, retried, "0")
        assert 250 < int(headers["x-brim-answer-tokens"]) < 400
    other = asked([{"role": "user", "content": "hello " * 300}], max_tokens=50).replace(b"gpt-4o", b"mystery-3")
    assert post(url, other)[0] == 200


@pytest.mark.parametrize(("rules", "first"), [(160, 200), (260, 400)])
def test_what_only_the_bound_of_an_unknown_vocabulary_forbids_is_sent_so_that_it_is_counted(
    gateway, upstream, rules, first
):
    """ "An unknown vocabulary (`qwen3-coder`, 25,014 tokens counted as 41,518 of 40,000) refuses everything"."""
    url, _ = gateway(window=1_000)
    said = [{"role": "system", "content": "rules of the house. " * rules}, {"role": "user", "content": "hello"}]
    body = asked(said, max_tokens=10).replace(b"gpt-4o", b"qwen3-coder")
    status, headers, answer = post(url, body)
    assert status == first
    if first == 200:
        assert 700 < json.loads(answer)["usage"]["prompt_tokens"] < 1_000
        assert 700 < int(headers["x-brim-tokens-before"]) <= 1_000  # By the estimate.
        assert int(post(url, body)[1]["x-brim-tokens-before"]) < 1_000
    else:
        assert upstream.size("chat", json.loads(body)) > 1_000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "beta", "cut"),
    [
        ("claude-sonnet-4-5-20250929", "", True),
        ("claude-sonnet-4-5-20250929", "prompt-caching-2024-07-31,context-1m-2025-08-07", False),
        ("claude-sonnet-4-5-20250929[1m]", "", False),
        ("claude-opus-4-5", "context-1m-2025-08-07", True),
    ],
)
def test_a_window_of_a_million_tokens_is_used_if_it_is_asked_for(gateway, upstream, model, beta, cut):
    """ "`context-1m-2025-08-07` and `[1m]` are forwarded and still cut at 200,000"."""
    url, _ = gateway(window=None)
    upstream.window = 1_000_000
    said = conversation(20, words=14_000)
    body = json.dumps({"model": model, "max_tokens": 1_000, "messages": said}).encode()
    status, headers, _ = post(url, body, "/v1/messages", anthropic_beta=beta)
    assert status == 200
    assert int(headers["x-brim-tokens-before"]) > 200_000
    assert (int(headers["x-brim-edits"]) > 0) is cut


def test_a_second_refusal_reaches_the_client_as_it_was_and_is_learned(gateway, upstream):
    """It was neither counted nor printed, and the same two requests followed."""
    url, app = gateway(window=2_000)
    told = {"error": {"message": "prompt is too long", "type": "invalid_request_error"}}
    upstream.script = [(400, told), (400, told)]
    status, headers, answer = post(url, asked(conversation(60)))
    assert (status, json.loads(answer), headers["x-brim-retried"]) == (400, told, "1")
    assert len(upstream.bodies) == 2
    retried = {each: metric(app, "brim_overflows_total", model="gpt-4o", retried=each) for each in ("true", "false")}
    assert retried == {"true": 1, "false": 1}
    sent = upstream.size("chat", json.loads(upstream.bodies[-1]))
    assert learned_window(app, "gpt-4o").ceiling < sent


def test_another_refusal_is_not_retried(gateway, upstream):
    url, _ = gateway()
    told = {"error": {"message": "Rate limit reached: tokens per min (TPM): Limit 1000", "code": "rate_limit_exceeded"}}
    upstream.script = [(429, told)]
    assert post(url, asked(conversation(60)))[0] == 429
    upstream.script = [(400, {"error": {"message": "temperature must be at most 2"}})]
    assert post(url, asked(conversation(60)))[0] == 400
    assert len(upstream.bodies) == 2


def test_usage_corrects_the_count_of_a_model_that_nobody_knows(gateway, upstream, monkeypatch):
    url, _ = gateway()
    body, learn = asked(conversation(8)).replace(b"gpt-4o", b"mystery-2"), FittedRequest.answered
    # The client is faster with its next request.
    monkeypatch.setattr(FittedRequest, "answered", lambda *told: (time.sleep(0.2), learn(*told)))
    before = int(post(url, body)[1]["x-brim-tokens-before"])
    methods = [(headers := post(url, body)[1])["x-brim-count-method"] for _ in range(4)]
    true = upstream.size("chat", json.loads(body))
    assert methods == ["estimate", "estimate", "estimate", "calibrated"]  # Four reports that agree.
    assert true <= int(headers["x-brim-tokens-before"]) < before


RULE = "A rule that has to stay. "
TOOL = {"name": "look", "description": "Look at the harbour. " * 400, "input_schema": {"type": "object"}}
SHORT = [{"role": "user", "content": "Look at the harbour."}]
CALLS = [{"type": "function_call", "call_id": f"c{i}", "name": "look", "arguments": "{}"} for i in range(99)]
CALLS += [{"type": "function_call_output", "call_id": f"c{i}", "output": "Silt."} for i in range(99)]
TOO_LONG = {
    "system prompt": (
        "/v1/chat/completions",
        {"messages": [{"role": "system", "content": RULE * 200}, *conversation(3)]},
        "Shorten the system prompt, or use a model with a larger window.",
    ),
    "tools": (
        "/v1/messages",
        {"system": RULE, "tools": [TOOL], "messages": conversation(3)[1:]},
        "Offer fewer or smaller tools, or use a model with a larger window.",
    ),
    "newest messages": (
        "/v1/responses",
        {"input": [{"role": "user", "content": "Look."}, *CALLS]},
        "Shorten the newest message, or use a model with a larger window.",
    ),
}


@pytest.mark.parametrize("part", TOO_LONG)
def test_a_refusal_says_that_brim_refuses_and_which_part_is_too_long(gateway, upstream, part):
    """ "The 400 does not say that brim refuses it, which part is too big, or what to do"."""
    url, _ = gateway(window=500)
    path, fields, advice = TOO_LONG[part]
    status, headers, answer = post(url, json.dumps({"model": "gpt-4o", "max_tokens": 1, **fields}).encode(), path)
    told = json.loads(answer)["error"]["message"]
    sized = re.search(rf"brim refused this request and did not send it: .*\b{part} ([\d,]+)", told)
    assert (status, headers["x-should-retry"]) == (400, "false")
    assert sized is not None
    assert is_overflow(answer) is not None
    assert told.endswith(advice)
    assert not upstream.bodies


def test_a_refusal_because_of_the_answer_says_so(gateway, upstream):
    url, _ = gateway(policy="fit")
    body = {"model": "claude-3-5-sonnet", "max_tokens": 240, "system": RULE * 115, "messages": SHORT}
    _, _, answer = post(url, json.dumps(body).encode(), "/v1/messages")
    told = json.loads(answer)["error"]["message"]
    assert told.startswith("input length and `max_tokens` exceed context limit: ")
    assert ", and 760 fit besides the answer of 240. Shorten the system prompt, request a shorter answer, or" in told


@pytest.mark.parametrize(
    "told",
    [
        {"error": {"message": "This model's maximum context length is 700 tokens", "code": "context_length_exceeded"}},
        {"error": "the request exceeds the available context size, try increasing it"},
        {
            "type": "message",
            "content": [{"type": "text", "text": "The answer is cut"}],
            "stop_reason": "model_context_window_exceeded",
            "usage": {"input_tokens": 690, "output_tokens": 10},
        },
        {"choices": [{"message": {"content": "x"}, "finish_reason": "model_context_window_exceeded"}]},
    ],
    ids=["an error with numbers", "an error", "a reason to stop with usage", "a reason to stop"],
)
def test_an_overflow_inside_an_answer_that_says_200_is_learned_and_retried(gateway, upstream, told):
    url, app = gateway()
    upstream.script = [(200, told)]
    status, headers, answer = post(url, asked(conversation(60)))
    assert (status, headers["x-brim-retried"]) == (200, "1")
    assert b"Well done." in answer
    assert len(upstream.bodies) == 2
    first, second = (upstream.size("chat", json.loads(body)) for body in upstream.bodies)
    assert second < first
    learned = learned_window(app, "gpt-4o")
    if "690" in str(told):  # An eighth of the window is left for the answer, and a new cut leaves a fifth of the rest.
        assert (learned.size, 0.7 * 612 < second <= 612) == (700, True)
    else:
        assert (learned.size, learned.ceiling < first) == (None, True)


def test_an_overflow_inside_a_200_that_nothing_helps_reaches_the_client(gateway, upstream):
    url, _ = gateway()
    told = {"error": {"message": "prompt is too long", "code": "context_length_exceeded"}}
    upstream.script = [(200, told), (200, told)]
    status, headers, answer = post(url, asked(conversation(60)))
    assert (status, headers["x-brim-retried"], json.loads(answer)) == (200, "1", told)
    warned, _ = gateway(policy="warn")
    upstream.script = [(200, told)]
    assert json.loads(post(warned, asked(conversation(2)))[2]) == told


@pytest.mark.parametrize(
    "told",
    [
        {"error": {"message": "temperature must be at most 2"}, "choices": []},
        {"error": None, "choices": [{"message": {"content": "context_length_exceeded: prompt is too long"}}]},
        {"choices": [{"message": {"content": "the context_window is exceeded"}, "finish_reason": "stop"}]},
    ],
)
def test_an_answer_that_speaks_of_something_else_is_passed_back(gateway, upstream, told):
    url, _ = gateway()
    upstream.script = [(200, told)]
    _, headers, answer = post(url, asked(conversation(60)))
    assert json.loads(answer) == told
    assert "x-brim-retried" not in headers
    assert len(upstream.bodies) == 1


def test_a_stream_that_ran_out_of_room_teaches_the_window(gateway, upstream):
    url, app = gateway(window=None, meter="gpt-5")
    events = [
        {"type": "message_start", "message": {"usage": {"input_tokens": 640, "output_tokens": 1}}},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "model_context_window_exceeded"},
            "usage": {"output_tokens": 60},
        },
    ]
    said = b"".join(sse(event) for event in events)
    upstream.script = [(200, said, [(b"content-type", b"text/event-stream")])]
    body = asked(conversation(20), stream=True, max_tokens=100).replace(b"gpt-4o", b"mystery-9")
    assert post(url, body, "/v1/messages")[2] == said
    until = time.monotonic() + 3
    while learned_window(app, "mystery-9", "messages") is None and time.monotonic() < until:
        time.sleep(0.01)
    assert learned_window(app, "mystery-9", "messages").size == 700
